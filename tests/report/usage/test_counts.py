"""What fires and wins, against every Spec of small searches tried one by one."""

from __future__ import annotations

from collections import Counter
from math import inf
from pathlib import Path

import pytest

import morello
from morello.definitions import Definitions
from morello.ir.layout import panel
from morello.memo.memo import Memo
from morello.memo.recall import Recalled
from morello.report.alternatives import Why
from morello.report.usage.closest import closest
from morello.report.usage.counts import Key, Use, key_of, use_of
from morello.search.solving.one_spec import applications
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.solved import cells, nodes, one_tree, plan_of, solved

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(2, 1, 2)),
    ("tiny.buffered", elementwise("add", 4, 3, Z=(1, 0))),
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]

SPEC = """
target x86.scalar
spec product() { input a: f32[3, 5] input b: f32[5, 4] output c: f32[3, 4] c = matmul(a, b) }
"""


def _use(name: str, wanted: Wanted) -> Use:
    return use_of(one_tree(plan_of(name, wanted), solved(name, wanted)), lambda _: None)


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_what_fires_applies_to_some_spec(name: str, wanted: Wanted) -> None:
    """In exactly those families in which it applies to a Spec that was solved."""
    solution = solved(name, wanted)
    expected = {
        (key_of(found.option.alternative), spec.family)
        for spec in cells(solution)
        for found in applications(
            solution.context, solution.canonical(spec), solution.alternatives_of(spec.family)
        )
    }
    use = _use(name, wanted)
    assert expected == {(key, family) for key, some in use.fired.items() for family in some}
    assert (use.families, use.specs) == (solution.families, solution.cells)


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_what_wins_is_in_the_program(name: str, wanted: Wanted) -> None:
    """Once for every Spec of it, and it fires there; panels of the program are offered."""
    use = _use(name, wanted)
    plan = list(nodes(plan_of(name, wanted)))
    expected = Counter(key_of(node.option.alternative) for node in plan)
    assert expected == {key: len(specs) for key, specs in use.won.items()}
    searched = solved(name, wanted).context.searched
    for key, specs in use.won.items():
        assert {searched(spec.family) for spec in specs} <= use.fired[key]
    in_panels = {w for n in plan if n.step is None for p in n.spec.packing if (w := panel(p))}
    assert in_panels == {found.panel for found in use.taken}
    assert use.taken <= use.offered


@pytest.mark.parametrize("wanted", [matmul(2, 1, 2), elementwise("add", 5, 3)], ids=str)
def test_the_closest_are_those_that_explanations_show(wanted: Wanted) -> None:
    """The least ratio, over all Specs of the program, of what begins with a rule or kernel."""
    solution, plan = solved("tiny.cached", wanted), plan_of("tiny.cached", wanted)
    use = _use("tiny.cached", wanted)
    lost = set(use.fired) - set(use.won)
    expected: dict[Key, float] = {}
    for node in nodes(plan):
        chosen, *others = Why(solution, node.spec).beginnings
        for other in others:
            key = key_of(other.option.alternative)
            if key in lost:
                expected[key] = min(other.cycles / chosen.cycles, expected.get(key, inf))
    found = closest(one_tree(plan, solution), lost)
    assert found
    assert {key: one.ratio for key, one in found.items()} == pytest.approx(expected)


@pytest.mark.slow
def test_a_memo_changes_no_number(definitions: Definitions, tmp_path: Path) -> None:
    """What was recalled is planned again; a goal below a larger one is counted for itself."""
    with Memo.open(tmp_path / "memo.sqlite") as memo:
        first = morello.compile(SPEC, definitions=definitions, memo=memo)
        below = morello.compile(SPEC.replace("5", "2"), definitions=definitions, memo=memo)
    with Memo.open(tmp_path / "memo.sqlite") as memo:
        again = morello.compile(SPEC, definitions=definitions, memo=memo)
        assert isinstance(again.plan.trees[0].solved, Recalled)
        uses = [use_of(kernel.plan, lambda _: None) for kernel in (first, again)]
    assert uses[0].fired == uses[1].fired
    assert {key: len(some) for key, some in uses[0].won.items()} == {
        key: len(some) for key, some in uses[1].won.items()
    }
    assert uses[0].specs == uses[1].specs
    fresh = morello.compile(SPEC.replace("5", "2"), definitions=definitions, memo=Memo())
    small = [use_of(kernel.plan, lambda _: None) for kernel in (below, fresh)]
    assert small[0].fired == small[1].fired
    assert small[0].specs == small[1].specs < uses[0].specs
