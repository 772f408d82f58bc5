"""``morello memo picture``: from a spec to a picture of what was chosen."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

GOAL = f"matmul({', '.join(f'{name}: f32 in_l2 [0, 1] packing 4' for name in 'ABC')})"


@pytest.mark.parametrize(("name", "start"), [("p.svg", b"<?xml"), ("p.png", b"\x89PNG")])
def test_the_goals_own_family(
    name: str, start: bytes, run: Run, small_spec: Path, solved_memo: Path
) -> None:
    result = run("memo", "picture", small_spec, "--memo", solved_memo, "-o", name, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert (document["file"], document["family"], document["axes"]) == (name, GOAL, ["m", "n"])
    assert document["at"]["k"] == "3"
    assert 0 < document["shown_cells"] < document["cells"]
    assert 0 < document["shown_boxes"] <= document["boxes"]
    assert Path(name).read_bytes().startswith(start)


def test_the_same_command_gives_the_same_file(
    run: Run, small_spec: Path, solved_memo: Path
) -> None:
    """Recalled or searched for."""
    assert run("memo", "picture", small_spec, "--memo", solved_memo, "-o", "a.svg").exit_code == 0
    assert run("memo", "picture", small_spec, "--no-memo", "-o", "b.svg").exit_code == 0
    assert Path("a.svg").read_text() == Path("b.svg").read_text()


def test_what_is_not_solved_is_searched(run: Run, small_spec: Path) -> None:
    """And kept in the memo that was named."""
    result = run("memo", "picture", small_spec, "--memo", "new.sqlite", "-o", "p.svg")
    assert result.exit_code == 0
    assert "recalled" in run("compile", small_spec, "--memo", "new.sqlite").stdout


def test_families_are_listed_and_chosen(run: Run, small_spec: Path, solved_memo: Path) -> None:
    """By number or by text; the goal's own is the first."""
    listed = run("memo", "picture", small_spec, "--memo", solved_memo, "--list", "--json")
    families = json.loads(listed.stdout)["families"]
    assert [row["number"] for row in families] == list(range(1, len(families) + 1))
    assert families[0]["family"] == GOAL
    stats = json.loads(run("memo", "stats", "--memo", solved_memo, "--json").stdout)
    assert stats["pages"] == len(families)
    assert stats["cells"] == sum(row["cells"] for row in families)
    row = max(families, key=lambda row: row["choices"])
    arguments = ("memo", "picture", small_spec, "--memo", solved_memo, "--json", "--force")
    by_number = run(*arguments, "--family", str(row["number"]), "-o", "p.svg")
    by_text = run(*arguments, "--family", row["family"], "-o", "p.svg")
    assert json.loads(by_number.stdout) == json.loads(by_text.stdout)
    assert json.loads(by_text.stdout)["family"] == row["family"]


def test_axes_and_values_are_chosen(run: Run, small_spec: Path, solved_memo: Path) -> None:
    arguments = ("memo", "picture", small_spec, "--memo", solved_memo, "-o", "p.svg", "--json")
    result = run(*arguments, "--axes", "k, m", "--at", "n=4")
    document = json.loads(result.stdout)
    assert document["axes"] == ["k", "m"]
    assert document["at"]["n"] == "4"
    texts = Path("p.svg").read_text()
    assert ">k<" in texts
    assert "n = 4" in texts


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "nothing says where to write"),
        (("-o", "p.pdf"), 2, "'p.pdf' is neither a .svg nor a .png file"),
        (("-o", "gone/p.svg"), 1, "there is no directory 'gone' to write to"),
        (("-o", "p.svg", "--axes", "m"), 2, "'m' does not name two axes"),
        (("-o", "p.svg", "--axes", "m,z"), 2, "there is no axis 'z'"),
        (("-o", "p.svg", "--at", "k"), 2, "'k' is not of the form NAME=VALUE"),
        (("-o", "p.svg", "--at", "k=1,k=3"), 2, "'k=1,k=3' fixes a coordinate twice"),
        (("-o", "p.svg", "--at", "k=99"), 2, "k = 99 is not in the page"),
        (("-o", "p.svg", "--family", "999"), 2, "there is no page of the family '999'"),
    ],
)
def test_what_makes_no_sense_is_an_error(
    arguments: tuple[str, ...],
    status: int,
    message: str,
    run: Run,
    small_spec: Path,
    solved_memo: Path,
) -> None:
    """With advice or what there is, and no picture."""
    result = run("memo", "picture", small_spec, "--memo", solved_memo, *arguments)
    assert result.exit_code == status
    assert f"error: {message}" in result.stderr
    assert not Path("p.svg").exists()


def test_a_picture_is_not_overwritten_unasked(
    run: Run, small_spec: Path, solved_memo: Path
) -> None:
    Path("p.svg").write_text("mine")
    arguments = ("memo", "picture", small_spec, "--memo", solved_memo, "-o", "p.svg")
    refused = run(*arguments)
    assert (refused.exit_code, "'p.svg' exists" in refused.stderr) == (1, True)
    assert Path("p.svg").read_text() == "mine"
    assert run(*arguments, "--force").exit_code == 0
    assert Path("p.svg").read_text() != "mine"


def test_without_matplotlib_it_says_how_to_get_it(
    run: Run, small_spec: Path, solved_memo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for module in ("morello.memo.drawing", "morello.report.pictures"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    arguments = ("memo", "picture", small_spec, "--memo", solved_memo)
    result = run(*arguments, "-o", "p.svg")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: pictures need matplotlib")
    assert "python -m pip install 'morello[pictures]'" in result.stderr
    assert run(*arguments, "--list").exit_code == 0


def test_a_goal_that_nothing_implements_has_no_picture(run: Run, small_spec: Path) -> None:
    result = run("memo", "picture", small_spec, "-D", "M=0", "-o", "p.svg")
    assert result.exit_code == 1
    assert not Path("p.svg").exists()
