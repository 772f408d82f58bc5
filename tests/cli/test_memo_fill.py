"""``morello memo fill``: what was filled answers goals that no compile had."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

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
    first, second = filled.stdout.splitlines()
    assert first.startswith("filled: rows for x86.scalar, ")
    assert second.startswith("filled: sums for x86.scalar, ")
    small = ("compile", spec, "--spec", "rows", "-D", "M=1", "--memo", memo, "-o", tmp_path)
    assert "recalled from the memo" in run(*small).stdout


def test_filling_says_what_it_did(run: Run, tmp_path: Path) -> None:
    """For tools: more Specs than the goal needs."""
    spec, memo = tmp_path / "two.mspec", tmp_path / "memo.sqlite"
    spec.write_text(TEXT)
    shown = run("memo", "fill", spec, "--memo", memo, "--json")
    document = json.loads(shown.stdout)
    assert ["rows", "sums"] == [one["spec"] for one in document["filled"]]
    alone = run("explain", spec, "--spec", "rows", "--no-memo", "--json")
    assert document["filled"][0]["cells"] > json.loads(alone.stdout)["cells"]


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
