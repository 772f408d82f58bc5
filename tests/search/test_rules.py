"""Rules and kernels are alternatives: one more never makes anything dearer."""

from __future__ import annotations

import pytest

from morello.ir.rule import Rule
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.search import search
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import TINY, context, installed
from tests.search.solved import cells, solved

GOALS = (matmul(2, 3, 1, threads=2), elementwise("add", 3, 2), copy(3, 4, X=(1, 0)))


def _never_dearer(without_it: Context, name: str, goal: Wanted) -> None:
    """No Spec that both searches solve costs more with the larger choice."""
    spec = goal.spec(without_it.target)
    solution = solved(name, goal)
    try:
        less = search(without_it, spec)
    except NoImplementationError:
        return
    assert solution.intensity(spec) <= less.intensity(spec)
    for cell in cells(less):
        if solution.covers(cell):
            assert solution.intensity(cell) <= less.intensity(cell), cell


def _goals(rule: Rule) -> list[Wanted]:
    """Those whose search meets an operator that the rule may match; for a rule of others, one."""
    found = []
    for goal in GOALS:
        families = solved("tiny.cached", goal).alternatives
        if any(rule.may_match(family.operation.operator) for family in families):
            found.append(goal)
    return found or [GOALS[1]]


@pytest.mark.sample(5)
@pytest.mark.parametrize("rule", installed().rules, ids=lambda rule: rule.name)
def test_a_rule_never_raises_the_optimum(rule: Rule) -> None:
    known = context("tiny.cached")
    others = tuple(r for r in known.rules if r.name != rule.name)
    for goal in _goals(rule):
        _never_dearer(replace(known, rules=others), "tiny.cached", goal)


@pytest.mark.parametrize("name", TINY)
def test_a_kernel_never_raises_the_optimum(name: str) -> None:
    known = context(name)
    for kernel in known.target.kernels:
        others = tuple(k for k in known.target.kernels if k != kernel)
        less = replace(known, target=replace(known.target, kernels=others))
        _never_dearer(less, name, elementwise("add", 3, 2))


def test_without_the_rule_that_a_goal_needs_there_is_nothing() -> None:
    """The comparison above is not empty: some rules cannot be done without."""
    known = context("tiny.cached")
    others = tuple(r for r in known.rules if r.name != "accumulate")
    with pytest.raises(NoImplementationError):
        search(replace(known, rules=others), matmul(3, 4, 2).spec(known.target))
