"""Capacities: more memory never costs more, and nothing depends on memory that is not used."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.target import Target
from morello.language.evaluate import evaluate
from morello.records import replace
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.context import Context
from morello.rewriting.functions import Scope
from morello.rewriting.references import point
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.results.reconstruct import PlanNode, leaves, reconstruct
from morello.search.search import search
from tests.search.budget import examples
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import TINY, context, with_capacities
from tests.search.solved import cost, nodes, one_tree, plan_of, solved

GOALS = (
    matmul(4, 2, 3),
    elementwise("add", 3, 4),
    copy(4, 3, X=(1, 0)),
)
CASES = [pytest.param(name, goal, id=f"{name} {goal}") for name in TINY for goal in GOALS]


def _limited(name: str, capacities: dict[str, int]) -> Context:
    known = context(name)
    return replace(known, target=with_capacities(known.target, capacities))


@examples(8)
@given(name=st.sampled_from(TINY), goal=st.sampled_from(GOALS), data=st.data())
def test_more_memory_never_costs_more(name: str, goal: Wanted, data: st.DataObject) -> None:
    """Exactly: the candidates for more memory are those for less, and others."""
    levels = [level.name for level in context(name).target.bounded]
    pairs = {
        n: sorted(data.draw(st.tuples(st.integers(1, 7), st.integers(1, 7)), n)) for n in levels
    }
    less = cost(_limited(name, {n: small for n, (small, _) in pairs.items()}), goal)
    more = cost(_limited(name, {n: large for n, (_, large) in pairs.items()}), goal)
    assert more <= less


@pytest.mark.parametrize(("name", "goal"), CASES)
def test_more_in_use_never_costs_less(name: str, goal: Wanted) -> None:
    """Within the tables: along the axis of every level."""
    solution = solved(name, goal)
    for family, box in solution.boxes.items():
        for axis in range(box.dimensions, len(box.axes)):
            table = np.moveaxis(solution.tables[family], axis, 0)
            for less, more in pairwise(table):
                assert (less <= more).all(), family


@pytest.mark.parametrize(("name", "goal"), CASES)
def test_the_same_plan_within_its_own_peak(name: str, goal: Wanted) -> None:
    """With no more memory than the winner needs it is found again, at the same cost."""
    plan = plan_of(name, goal)
    target = context(name).target
    limited = _limited(name, _peak(target, plan))
    found = search(limited, goal.spec(limited.target))
    again = reconstruct(found, goal.spec(limited.target))
    assert plan.cycles == again.cycles
    assert one_tree(plan, solved(name, goal)).to_json() == one_tree(again, found).to_json()


@pytest.mark.parametrize(("name", "goal"), CASES)
def test_another_plan_below_the_peak(name: str, goal: Wanted) -> None:
    """The peak is what the winner needs: with one unit less it is out of reach."""
    plan = plan_of(name, goal)
    target = context(name).target
    peak = _peak(target, plan)
    for level in (n for n, capacity_units in peak.items() if capacity_units > 0):
        limited = _limited(name, {**peak, level: peak[level] - 1})
        spec = goal.spec(limited.target)
        try:
            found = search(limited, spec)
        except NoImplementationError:
            continue
        other = reconstruct(found, spec)
        assert other.cycles >= plan.cycles * (1 - 1e-6)
        assert one_tree(other, found).to_json() != one_tree(plan, solved(name, goal)).to_json()


def _peak(target: Target, plan: PlanNode) -> dict[str, int]:
    """The most of every level that a plan has in use, with what its kernels ask to be free."""
    names = [level.name for level in target.bounded]
    peak = dict.fromkeys(names, 0)
    for node in nodes(plan):
        uses = [leaf.used for leaf, _ in leaves(node.step)] if node.step else []
        uses.append(node.spec.used)
        asked = _asked(target, node)
        for used, (position, name) in product(uses, enumerate(names)):
            assert used is not None
            peak[name] = max(peak[name], int(used[position]))
        for position, name in enumerate(names):
            peak[name] = max(peak[name], int(node.spec.used[position]) + asked[name])
    return peak


def _asked(target: Target, node: PlanNode) -> dict[str, int]:
    """Capacity units that must be free for a node's kernel, by level."""
    alternative = node.option.alternative
    asked = {level.name: 0 for level in target.bounded}
    if not isinstance(alternative, KernelAlternative):
        return asked
    match = alternative.match
    at = point(target, node.spec.variant, node.spec.coordinates)
    for level in target.bounded:
        assert level.capacity is not None
        for free in range(level.capacity + 1):
            used = {other.name: 0 for other in target.bounded} | {level.name: level.capacity - free}
            scope = Scope(target, match.scope_variables(at), at.sizes, used)
            if all(evaluate(guard, scope) for guard in match.kernel.guards):
                asked[level.name] = free
                break
    return asked
