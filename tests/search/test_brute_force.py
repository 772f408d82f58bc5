"""The tables hold the optimum: equal, cell by cell, to naive enumeration on tiny spaces."""

from __future__ import annotations

from functools import cache
from math import inf, isclose

import pytest

from tests.search.brute_force import BruteForce
from tests.search.goals import Wanted, batched, copy, elementwise, matmul
from tests.search.machines import TINY, context
from tests.search.solved import cells, solved, volume

EVERYWHERE = (
    elementwise("relu", 7),
    elementwise("add", 5, 3, Z=(1, 0)),
    elementwise("add", 4, 2, dtype="s32"),
    copy(3, 5, X=(1, 0)),
    copy(2, 3, 5, X=(2, 0, 1)),
    copy(7, dtypes=("s32", "f32")),
)

GOALS: dict[str, tuple[Wanted, ...]] = {
    "tiny.cached": (
        *EVERYWHERE,
        matmul(3, 3, 2),
        matmul(5, 3, 7),
        matmul(2, 3, 3, B=(1, 0)),
        matmul(5, 2, 2, threads=2),
    ),
    "tiny.buffered": (*EVERYWHERE, matmul(5, 3, 7), matmul(3, 2, 4, "s32"), matmul(4, 4, 3)),
    "tiny.flat": (*EVERYWHERE, matmul(5, 3, 4), batched(2, 3, 1, 5), matmul(2, 3, 3, C=(1, 0))),
    "x86.scalar": (elementwise("relu", 5), elementwise("add", 3), copy(3, 2, X=(1, 0))),
}

CASES = [pytest.param(name, goal, id=f"{name} {goal}") for name in GOALS for goal in GOALS[name]]


@cache
def enumeration(name: str) -> BruteForce:
    """One for each target, so that goals share what they have in common."""
    return BruteForce(context(name))


@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_every_cell_is_the_optimum(name: str, wanted: Wanted) -> None:
    """Also where nothing implements a Spec, and whatever is in use of what does not matter."""
    solution = solved(name, wanted)
    for spec in cells(solution):
        expected = enumeration(name).cycles(spec) / volume(spec)
        actual = solution.intensity(spec)
        assert isclose(expected, actual, rel_tol=1e-5), f"{spec} used {spec.used}"


@pytest.mark.parametrize("name", TINY)
def test_the_tiny_spaces_are_not_trivial(name: str) -> None:
    """They have paged operands, tails, Specs that do not fit, and choices between vector widths."""
    solutions = [solved(name, goal) for goal in GOALS[name]]
    families = [family for solution in solutions for family in solution.tables]
    assert any(operand.paged for family in families for operand in family.operands)
    assert any(operand.vector == 8 for family in families for operand in family.operands)
    assert any(inf == table.max() for s in solutions for table in s.tables.values())
    sizes = {int(n) for s in solutions for box in s.boxes.values() for n in box.sizes[0]}
    assert sizes > set(context(name).target.sizes)


def test_enumeration_of_a_goal_by_hand() -> None:
    """Two elements: the enumeration itself is held against a sum that can be done on paper.

    On `tiny.flat`, relu of one element is best done in memory: one load, one maximum with a
    constant. Two elements are that twice in a loop of two steps, or a vector: load (a line of 3
    cycles and the load), one operation, and store (a line of 2 and the store).
    """
    enumerated = enumeration("tiny.flat")
    target = context("tiny.flat").target
    assert 0.5 + 0.75 == enumerated.cycles(elementwise("relu", 1).spec(target))
    loop = 2 * (1 + 0.5 + 0.75)
    vector = (3 + 1) + 0.5 + (2 + 1.25)
    assert min(loop, vector) == enumerated.cycles(elementwise("relu", 2).spec(target))
