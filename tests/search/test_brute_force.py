"""The tables hold the optimum: equal, cell by cell, to naive enumeration on tiny spaces."""

from __future__ import annotations

from functools import cache
from math import inf, isclose

import pytest

from morello.ir.layout import Layout, paged, panel
from tests.search.brute_force import BruteForce
from tests.search.goals import Wanted, batched, copy, elementwise, matmul, weighing
from tests.search.machines import TINY, context
from tests.search.solved import cells, solved, volume

EVERYWHERE = (
    elementwise("relu", 7),
    elementwise("add", 3, 2, Z=(1, 0)),
    elementwise("add", 5, dtype="s32"),
    copy(3, 5, X=(1, 0)),
    copy(2, 3, 5, X=(2, 0, 1)),
    copy(7, dtypes=("s32", "f32")),
)

GOALS: dict[str, tuple[Wanted, ...]] = {
    "tiny.cached": (
        *EVERYWHERE,
        matmul(5, 2, 2),
        matmul(1, 3, 2, B=(1, 0)),
        matmul(3, 2, 2, threads=2),
        matmul(1, 2, 5, threads=2),
        matmul(1, 1, 5, threads=3),
        matmul(3, 3, 2, threads=4),
        weighing(matmul(2, 5, 2), "B"),
        weighing(matmul(2, 2, 2, threads=2, A=(1, 0), B=Layout((0, 1), 2)), "A", "B"),
        weighing(elementwise("add", 3, 2, Z=(1, 0)), "X", "Z"),
        copy(2, 5, X=Layout((0, 1), 2), Y=Layout((1, 0), 3)),
        matmul(2, 5, 3, B=Layout((0, 1), 2)),
    ),
    "tiny.buffered": (
        *EVERYWHERE,
        matmul(4, 2, 2),
        matmul(2, 4, 2),
        matmul(2, 1, 4, "s32"),
        matmul(1, 2, 3, "s32", threads=2),
        matmul(4, 3, 1, threads=6),
        copy(2, 7, X=Layout((0, 1), 3)),
    ),
    "tiny.flat": (
        *EVERYWHERE,
        weighing(matmul(3, 3, 3, B=(1, 0)), "B"),
        matmul(5, 3, 4),
        batched(2, 1, 3, 2, C=(0, 2, 1)),
        weighing(Wanted("matmul_nt", (3, 2, 5)), "B"),
    ),
    "x86.scalar": (elementwise("relu", 5), elementwise("add", 3), copy(3, 2, X=(1, 0))),
}

SLOW = (matmul(3, 3, 2, threads=4), matmul(2, 4, 2), matmul(4, 2, 2), GOALS["tiny.flat"][-4])

CASES = [
    pytest.param(n, g, id=f"{n} {g}", marks=pytest.mark.slow if g in SLOW else ())
    for n in GOALS
    for g in GOALS[n]
]


@cache
def enumeration(name: str) -> BruteForce:
    """One for each target, so that goals share what they have in common."""
    return BruteForce(context(name))


def _assert_optimal(name: str, wanted: Wanted, *, full: bool = False) -> None:
    solution = solved(name, wanted)
    for spec in cells(solution, full=full):
        expected = enumeration(name).cycles(spec) / volume(spec)
        actual = solution.intensity(spec)
        assert isclose(expected, actual, rel_tol=1e-5), f"{spec} used {spec.used}"


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_every_cell_is_the_optimum(name: str, wanted: Wanted) -> None:
    """Also where nothing implements a Spec."""
    _assert_optimal(name, wanted)


@pytest.mark.sample(4)
@pytest.mark.parametrize("goal", [matmul(2, 1, 2), *EVERYWHERE[:4]], ids=str)
@pytest.mark.parametrize("name", TINY)
def test_levels_that_are_no_coordinates_do_not_matter(name: str, goal: Wanted) -> None:
    """All of such a level may be in use, and the optimum is the same."""
    _assert_optimal(name, goal, full=True)


@pytest.mark.slow
def test_the_tiny_spaces_are_not_trivial() -> None:
    """They have paged operands, panels, tails, Specs that do not fit, a choice of vector widths."""
    solutions = [solved(name, goal) for name in TINY for goal in GOALS[name]]
    variants = {variant for s in solutions for variant in s.tables}
    operands = {operand for variant in variants for operand in variant.family.operands}
    boxes = [box for s in solutions for box in s.boxes.values()]
    assert {0, 1} == {paged(packing) for variant in variants for packing in variant.packing}
    assert {0, 2, 3} == {panel(packing) for variant in variants for packing in variant.packing}
    buffered = {v for g in GOALS["tiny.buffered"] for v in solved("tiny.buffered", g).tables}
    chosen = {v for v in buffered if v.family.operation.operator.name == "matmul"}
    assert {3} == {panel(p) for v in chosen for p in v.packing} - {0}  # made by a rule
    assert {0, 4, 8} == {operand.vector for operand in operands}
    assert any(inf == table.max() for s in solutions for table in s.tables.values())
    sizes = {int(n) for box in boxes for n in box.sizes[0]}
    assert sizes > {size for name in TINY for size in context(name).target.sizes}


def test_enumeration_of_a_goal_by_hand() -> None:
    """Two elements: the enumeration itself is held against sums that can be done on paper.

    On `tiny.flat`, relu of one element is a load and a maximum. Two elements are that twice in a
    loop; or the loop is unrolled, because results wait in two registers, to be stored one by one;
    or one vector is loaded (with a line), worked on, and stored (with a line).
    """
    enumerated = enumeration("tiny.flat")
    target = context("tiny.flat").target
    load, maximum, step = 0.5, 0.75, 1
    assert load + maximum == enumerated.cycles(elementwise("relu", 1).spec(target))
    loop = 2 * (step + load + maximum)
    unrolled = 2 * (load + maximum) + 2 * load
    vector = (3 + 1) + 0.5 + (2 + 1.25)
    assert min(loop, unrolled, vector) == enumerated.cycles(elementwise("relu", 2).spec(target))
