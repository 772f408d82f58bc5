"""Families with the same fingerprint have the same tables: what keeps it is in none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np
import pytest

from morello.ir.target import Coefficient, Level, Target
from morello.memo.fingerprint import Fingerprints
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.results.solution import Solution
from morello.search.search import search
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import one_tree, plan_of, solved

PRODUCT = matmul(3, 4, 2)
SHIPPED = "x86.avx512"
CASES = [
    pytest.param(name, goal, id=f"{name} {goal}", marks=marks)
    for name, marks in (("tiny.cached", ()), ("tiny.flat", ()), (SHIPPED, pytest.mark.slow))
    for goal in (PRODUCT, copy(5, 3, X=(1, 0)), elementwise("relu", 9))
]


def fingerprint(used: Context, wanted: Wanted = PRODUCT) -> bytes:
    """Of a goal's family."""
    return Fingerprints(used).of(wanted.spec(used.target).family)


def _changed(
    coefficients: Mapping[str, Coefficient], names: Iterable[str]
) -> dict[str, Coefficient]:
    chosen = set(names)
    return {
        n: replace(c, value=7 * c.value + 1) if n in chosen else c for n, c in coefficients.items()
    }


def _coefficients(target: Target, names: Iterable[str]) -> Target:
    """The target with other values of coefficients; one of a level is called ``level.name``."""
    chosen = set(names)

    def level(known: Level) -> Level:
        own = {n for n in known.coefficients if f"{known.name}.{n}" in chosen}
        return replace(known, coefficients=_changed(known.coefficients, own))

    levels = tuple(map(level, target.levels))
    return replace(target, levels=levels, coefficients=_changed(target.coefficients, chosen))


def _coefficient_names(target: Target) -> list[str]:
    return [*target.coefficients, *(f"{v.name}.{n}" for v in target.levels for n in v.coefficients)]


def _without(known: Context, names: Iterable[str]) -> Context:
    """Without the kernels and rules of these names."""
    gone = set(names)
    kernels = tuple(k for k in known.target.kernels if k.name not in gone)
    rules = tuple(r for r in known.rules if r.name not in gone)
    return Context(replace(known.target, kernels=kernels), known.operators, rules)


def _same_tables(known: Solution, found: Solution) -> None:
    assert known.tables.keys() == found.tables.keys()
    for family, table in known.tables.items():
        np.testing.assert_array_equal(table, found.tables[family])


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "goal"), CASES)
def test_coefficients_that_keep_it_are_in_no_table(name: str, goal: Wanted) -> None:
    """Every coefficient by itself changes it, or all others together change no cost at all."""
    known = context(name)
    own = fingerprint(known, goal)
    copy_on_first_use = [
        coefficient
        for coefficient in _coefficient_names(known.target)
        if own
        == fingerprint(replace(known, target=_coefficients(known.target, [coefficient])), goal)
    ]
    other = replace(known, target=_coefficients(known.target, copy_on_first_use))
    assert own == fingerprint(other, goal)
    _same_tables(solved(name, goal), search(other, goal.spec(other.target)))


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "goal"), CASES)
def test_kernels_and_rules_that_keep_it_are_in_no_table(name: str, goal: Wanted) -> None:
    known = context(name)
    own = fingerprint(known, goal)
    gone: list[str] = []
    for one in [*(k.name for k in known.target.kernels), *(r.name for r in known.rules)]:
        # One after the other: of two that ask for the same, the second one alone is needed.
        if own == fingerprint(_without(known, [*gone, one]), goal):
            gone.append(one)
    other = _without(known, gone)
    _same_tables(solved(name, goal), search(other, goal.spec(other.target)))


@pytest.mark.sample(1)
@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx2", SHIPPED])
def test_every_coefficient_that_a_plan_pays_for_changes_it(target: str) -> None:
    """A fall of what the best program pays would make it cheaper."""
    known = context(target)
    paid = _paid(target)
    assert paid
    for name in paid:
        other = replace(known, target=_coefficients(known.target, [name]))
        assert fingerprint(known) != fingerprint(other), name


@cache
def _paid(target: str) -> frozenset[str]:
    shares = one_tree(plan_of(target, PRODUCT), solved(target, PRODUCT)).costs()
    return frozenset(share.coefficient for share in shares)
