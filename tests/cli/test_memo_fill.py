"""``morello memo fill``: what was filled answers goals that no compile had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("kept_to_the_letter")

TEXT = """target x86.scalar
spec rows(M = 6, N = 5) {
  input x: f32[M, N]
  output y: f32[M, N]
  y = relu(x)
}
spec sums(N = 5) {
  input x: f32[N]
  output y: f32[N]
  y = add(x, x)
}
"""


def test_what_is_below_a_goal_is_recalled_after_it_was_filled(run: Run, tmp_path: Path) -> None:
    """Three rows are what loops over six leave; a compile of six alone does not solve them all."""
    spec, memo = tmp_path / "two.mspec", tmp_path / "memo.sqlite"
    spec.write_text(TEXT)
    filled = run("memo", "fill", spec, "-D", "M=6", "--memo", memo)
    assert (filled.exit_code, filled.stderr) == (0, "")
    first, second, last = sorted(filled.stdout.splitlines())
    assert first.startswith("2 goals filled by 1 worker in ")
    assert second.startswith("filled: rows M=6 for x86.scalar, ")
    assert last.startswith("filled: sums for x86.scalar, ")
    small = ("compile", spec, "--spec", "rows", "-D", "M=1", "--memo", memo, "-o", tmp_path)
    assert "recalled from the memo" in run(*small).stdout


def test_filling_says_what_it_did(run: Run, tmp_path: Path) -> None:
    """For tools: more Specs than the goal needs."""
    spec, memo = tmp_path / "two.mspec", tmp_path / "memo.sqlite"
    spec.write_text(TEXT)
    shown = run("memo", "fill", spec, "--memo", memo, "--json")
    document = json.loads(shown.stdout)
    assert document["answered"] == document["refused"] == []
    cells = {one["spec"]: one["cells"] for one in document["filled"]}
    assert cells.keys() == {"rows", "sums"}
    alone = run("explain", spec, "--spec", "rows", "--no-memo", "--json")
    assert cells["rows"] > json.loads(alone.stdout)["cells"]


def test_there_is_nothing_to_fill_where_the_memo_is_off(run: Run, tmp_path: Path) -> None:
    """Tests run with the user's memo switched off."""
    spec = tmp_path / "two.mspec"
    spec.write_text(TEXT)
    shown = run("memo", "fill", spec)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "there is no memo: MORELLO_MEMO switches it off" in shown.stderr


def test_a_parameter_that_no_spec_has_is_an_error(run: Run, tmp_path: Path) -> None:
    """Of several specs each takes those that it has."""
    spec, memo = tmp_path / "two.mspec", tmp_path / "memo.sqlite"
    spec.write_text(TEXT)
    shown = run("memo", "fill", spec, "-D", "K=6", "--memo", memo)
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "there is no parameter 'K'" in shown.stderr
    assert not memo.exists()


LIST = """
[[goal]]
file = "two.mspec"
sizes = { M = [3, 6], N = [4, 5] }
targets = ["x86.scalar"]
"""


def _listed(tmp_path: Path, text: str = LIST) -> Path:
    (tmp_path / "two.mspec").write_text(TEXT.partition("spec sums")[0])
    goals = tmp_path / "goals.toml"
    goals.write_text(text)
    return goals


def test_goals_of_a_list_that_a_larger_one_covers_are_not_solved(run: Run, tmp_path: Path) -> None:
    goals, memo = _listed(tmp_path), tmp_path / "memo.sqlite"
    shown = run("memo", "fill", goals, "--memo", memo, "--jobs", "1", "--json")
    document = json.loads(shown.stdout)
    assert [one["defines"] for one in document["filled"]] == [{"M": 6, "N": 5}]
    assert [one["defines"] for one in document["answered"]] == [
        {"M": 6, "N": 4},
        {"M": 3, "N": 5},
        {"M": 3, "N": 4},
    ]


def test_what_was_solved_is_solved_again_unless_it_is_to_go_on(run: Run, tmp_path: Path) -> None:
    goals, memo = _listed(tmp_path), tmp_path / "memo.sqlite"
    run("compile", tmp_path / "two.mspec", "--memo", memo, "-o", tmp_path)
    for options, filled in (((), 1), (("--resume",), 0)):
        shown = run("memo", "fill", goals, "--memo", memo, "--json", *options)
        assert len(json.loads(shown.stdout)["filled"]) == filled


def test_a_goal_that_is_refused_does_not_keep_others_from_being_filled(
    run: Run, tmp_path: Path
) -> None:
    goals, memo = _listed(tmp_path), tmp_path / "memo.sqlite"
    options = ("--memo", memo, "--jobs", "1", "--budget", "1 specs", "--json")
    shown = run("memo", "fill", goals, *options)
    assert shown.exit_code == 1
    document = json.loads(shown.stdout)
    assert (document["filled"], document["answered"], len(document["refused"])) == ([], [], 4)
    assert all(one["help"] for one in document["refused"])


def test_wrong_uses(run: Run, tmp_path: Path) -> None:
    goals, memo = _listed(tmp_path), tmp_path / "memo.sqlite"
    both = run("memo", "fill", goals, "--memo", memo, "--jobs", "2", "--dask", "tcp://x:1")
    assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    defined = run("memo", "fill", goals, "-D", "M=3", "--memo", memo)
    assert (defined.exit_code, "a list says what sizes it has" in defined.stderr) == (2, True)
    nowhere = run("memo", "fill", goals, "--memo", memo, "--dask", "x")
    assert (nowhere.exit_code, "is no address of a scheduler" in nowhere.stderr) == (2, True)
    other = run("memo", "fill", goals, "-t", "x86.avx2", "--memo", memo)
    assert (other.exit_code, "no goals for" in other.stderr) == (1, True)


def test_a_list_says_for_which_targets_its_goals_are(run: Run, tmp_path: Path) -> None:
    """Its own targets, else what the spec says."""
    memo = tmp_path / "memo.sqlite"
    own = _listed(tmp_path, LIST.replace('targets = ["x86.scalar"]', ""))
    (tmp_path / "two.mspec").write_text(TEXT.partition("spec sums")[0].replace("x86", "c"))
    for options, target in (((), "c.scalar"), (("-t", "x86.scalar"), "x86.scalar")):
        shown = run("memo", "fill", own, "--memo", memo, "--json", *options)
        assert {one["target"] for one in json.loads(shown.stdout)["filled"]} == {target}
