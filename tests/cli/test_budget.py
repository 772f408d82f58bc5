"""``--budget``: what it allows, what is said about it, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import morello
from morello.memo.memo import Memo
from tests.cli.conftest import QUICK, Run

pytestmark = pytest.mark.usefixtures("kept_to_the_letter")

FEW = "500 specs"
"""Less than the search has."""


def test_a_search_that_is_coarser_warns_and_is_right(run: Run, quick_spec: Path) -> None:
    result = run("compile", quick_spec, "--budget", FEW, "--verify")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith(
        "warning: the search was coarsened to stay within the budget of 500 Specs: l1 in "
    )
    assert "verified: equal to the reference" in result.stdout


@pytest.mark.parametrize("command", ["compile", "explain"])
def test_tools_are_told_what_is_coarser(command: str, run: Run, quick_spec: Path) -> None:
    full = json.loads(run(command, quick_spec, "--json").stdout)
    assert full["coarsened"] is None
    result = run(command, quick_spec, "--json", "--budget", FEW)
    coarse = json.loads(result.stdout)
    assert coarse["coarsened"]["limit"] == "the budget of 500 Specs"
    assert "l1 in 4 units" in coarse["coarsened"]["changes"]
    assert coarse["cells"] <= 500 < full["cells"]
    assert coarse["cycles"] >= full["cycles"]


def test_explain_says_what_is_coarser(run: Run, quick_spec: Path) -> None:
    result = run("explain", quick_spec, "--budget", FEW)
    assert result.stdout.splitlines()[-1].startswith("coarsened to stay within the budget of 500")


def test_a_budget_that_is_large_enough_changes_nothing(run: Run, quick_spec: Path) -> None:
    run("compile", quick_spec, "-o", "full.c")
    result = run("compile", quick_spec, "--budget", "1e9 specs", "-o", "rich.c")
    assert (result.exit_code, result.stderr) == (0, "")
    full, rich = (Path(name).read_text() for name in ("full.c", "rich.c"))
    assert full.replace("full.h", "rich.h") == rich


def test_a_budget_that_is_too_small_is_an_error_with_advice(run: Run, quick_spec: Path) -> None:
    result = run("compile", quick_spec, "--budget", "10 specs")
    assert result.exit_code == 1
    assert "error: the budget of 10 Specs allows 10 Specs in" in result.stderr
    assert " = help: allow " in result.stderr


def test_another_form_is_a_usage_error(run: Run, quick_spec: Path) -> None:
    result = run("compile", quick_spec, "--budget", "4 bananas")
    assert result.exit_code == 2
    assert "Invalid value for '--budget': '4 bananas' is no budget" in result.stderr
    assert "'500 MiB'" in result.stderr


def test_what_a_memo_knows_does_not_change_a_budget_s_program(target: str) -> None:
    """Nor does a coarse search answer for a full one."""
    text, memo = QUICK.format(target=target), Memo()
    alone = morello.compile(text, memo=Memo(), budget=FEW)
    full = morello.compile(text, memo=memo)
    after = morello.compile(text, memo=memo, budget=FEW)
    assert alone.source == after.source
    assert after.statistics.coarsening is not None
    assert full.source == morello.compile(text, memo=memo).source


def test_equal_parts_are_one_search(run: Run) -> None:
    """A budget is not divided among them: two outputs of one kind have as many Specs as one."""
    one = "input x: f32[8]  output y: f32[8]"
    Path("one.mspec").write_text(f"spec one() {{ {one}  y = relu(x) }}")
    Path("two.mspec").write_text(
        f"spec two() {{ {one}  output z: f32[8]  y = relu(x)  z = relu(y) }}"
    )
    options = ("-t", "x86.scalar", "--no-memo", "--json", "--budget", "100 specs")
    found = [
        json.loads(run("compile", name, *options).stdout) for name in ("one.mspec", "two.mspec")
    ]
    assert found[0]["cells"] == found[1]["cells"]
