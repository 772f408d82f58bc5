"""Plans that are worth measuring are plans of the tables, differ, and suit other coefficients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import isclose, prod

import pytest

from morello.ir.target import Coefficient, Target
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.results import pool as pools
from morello.search.results.distorted import distorted_plans, distorted_target
from morello.search.results.plan_class import plan_class
from morello.search.results.plan_length import written_kernels
from morello.search.results.pool import OF_A_CLASS, pool
from morello.search.results.reconstruct import PlanNode, candidates, own_cycles
from morello.search.search import search
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import plan_of, solved

PRODUCT = ("x86.avx512", matmul(17, 41, 40))

GOALS = (
    ("tiny.cached", matmul(3, 2, 3)),
    ("tiny.flat", elementwise("relu", 7)),
    PRODUCT,
)

DRAWN = 32

SEARCHED = 8
"""Distortions that are searched, too."""


@cache
def _pool(name: str, wanted: Wanted) -> list[PlanNode]:
    return pool(solved(name, wanted), wanted.spec(context(name).target), DRAWN)


def _nodes(plan: PlanNode) -> Iterator[PlanNode]:
    yield plan
    for child in plan.children:
        yield from _nodes(child)


def _of_place(target: Target, place: int) -> Target:
    """One of a target's distortions."""

    def taken(_: str, coefficient: Coefficient) -> Coefficient:
        values: list[float] = list(coefficient.value)  # type: ignore[call-overload]
        return replace(coefficient, value=values[place])

    return target.with_coefficients(taken)


def _cost(target: Target, plan: PlanNode) -> float:
    """Of a plan, where the coefficients are a target's."""
    parts = zip(plan.counts, plan.children, strict=True)
    below = sum(count * _cost(target, child) for count, child in parts)
    return own_cycles(target, plan.spec, plan.option) + below


@pytest.mark.parametrize(("name", "wanted"), GOALS, ids=str)
def test_the_choice_is_first_and_few_are_of_a_class(name: str, wanted: Wanted) -> None:
    """And no plan comes twice; what is drawn is always the same."""
    found = _pool(name, wanted)
    assert plan_of(name, wanted) == found[0]
    assert OF_A_CLASS >= max(Counter(map(plan_class, found)).values())
    assert len(found) == len({(plan_class(plan), plan.cycles) for plan in found})
    assert found == _pool.__wrapped__(name, wanted)


@pytest.mark.parametrize(("name", "wanted"), GOALS, ids=str)
def test_all_are_plans_of_the_tables(name: str, wanted: Wanted) -> None:
    """Every option applies to its Spec, and cycles are those of the true coefficients."""
    solution = solved(name, wanted)
    for plan in _pool(name, wanted):
        assert isclose(plan.cycles, _cost(context(name).target, plan), rel_tol=1e-9)
        assert plan.cycles >= plan_of(name, wanted).cycles * (1 - 1e-6)
        for node in _nodes(plan):
            known = {candidate.option for candidate in candidates(solution, node.spec)}
            assert node.option in known


def test_different_kinds_come_before_others_of_their_kind() -> None:
    """All classes once, the choice's first."""
    classes = [plan_class(plan) for plan in _pool(*PRODUCT)]
    different = len(set(classes))
    assert different > 2
    assert different == len(set(classes[:different]))


@pytest.mark.parametrize(("name", "wanted"), GOALS[:2], ids=str)
def test_they_are_nearly_what_a_search_finds_under_the_distortion(
    name: str, wanted: Wanted
) -> None:
    """Never better, for they exist; never worse than the choice; mostly as good."""
    known, spec = context(name), wanted.spec(context(name).target)
    target = distorted_target(known.target, SEARCHED, seed=1)
    exact = 0
    for place, plan in enumerate(distorted_plans(solved(name, wanted), spec, SEARCHED, seed=1)):
        other = _of_place(target, place)
        best = search(Context(other, known.operators, known.rules), spec).intensity(spec)
        optimum, cost = best * prod(spec.sizes), _cost(other, plan)
        assert optimum * (1 - 1e-5) <= cost <= _cost(other, plan_of(name, wanted)) * (1 + 1e-9)
        exact += isclose(optimum, cost, rel_tol=1e-5)
    assert exact > SEARCHED * 0.7


def test_too_long_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """But never the choice, and others may be twice as long."""
    lengths = {written_kernels(plan) for plan in _pool(*PRODUCT)}
    longest = 2 * written_kernels(plan_of(*PRODUCT))
    assert max(lengths) > longest
    monkeypatch.setattr(pools, "LONGEST", 1)
    found = _pool.__wrapped__(*PRODUCT)
    assert plan_of(*PRODUCT) == found[0]
    assert longest >= max(map(written_kernels, found))
