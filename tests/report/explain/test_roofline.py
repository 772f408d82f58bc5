"""Limits of a target, against numbers that are worked out by hand from its declarations."""

from __future__ import annotations

from math import prod

import pytest

import morello
from morello.ir.target import Target
from morello.memo.memo import Memo
from morello.report.explain.parts import Roofline
from morello.report.explain.roofline import roofline
from morello.report.explain.traffic import operations_of
from morello.report.plan import Plan
from tests.search.goals import Wanted
from tests.search.machines import context
from tests.search.solved import one_tree, plan_of, solved

SCALAR = "x86.scalar"
PRODUCT = Wanted("matmul", (4, 5, 3))  # m, n, k
LONG_ROW = """spec long_row() {
  input  x: f32[1, 400000]
  output y: f32[1, 400000]
  y = softmax(x)
}"""
GOALS = (PRODUCT, Wanted("relu", (70,), 1), Wanted("copy", (6, 7), 2), Wanted("add", (9,), 1))


def _plan(wanted: Wanted) -> Plan:
    return one_tree(plan_of(SCALAR, wanted), solved(SCALAR, wanted))


@pytest.fixture(scope="module")
def target() -> Target:
    return context(SCALAR).target


def test_operations_are_those_of_the_meaning() -> None:
    """A multiplication and an addition for each iteration; where nothing is computed, none."""
    found = roofline(_plan(PRODUCT))
    assert 2 * prod(PRODUCT.sizes) == found["operations"]
    assert ["matmul (f32)"] == [row["computes"] for row in found["arithmetic"]["by"]]
    assert 70 == roofline(_plan(GOALS[1]))["operations"]
    copied = roofline(_plan(GOALS[2]))
    assert (0, None) == (copied["operations"], copied["arithmetic"]["roof"])
    assert [None] * len(copied["levels"]) == [row["intensity"] for row in copied["levels"]]


def test_conversions_are_no_operations(target: Target) -> None:
    spec = Wanted("matmul", (4, 5, 3), dtypes=("bf16", "bf16", "f32")).spec(target)
    assert 2 == operations_of(spec.family)


def test_the_roof_of_the_arithmetic_is_that_of_the_best_kernel(target: Target) -> None:
    """In portable C a long row of sums is quickest, which loads less than it computes."""
    arithmetic = roofline(_plan(PRODUCT))["arithmetic"]
    assert arithmetic["roof"] is not None
    costs = target.coefficients
    each = 2 * costs["scalar_op"].value
    assert 2 / each == pytest.approx(arithmetic["roof"], rel=1e-2)
    assert "reduce_element" == arithmetic["by"][0]["kernel"]
    assert 2 * prod(PRODUCT.sizes) / arithmetic["roof"] == pytest.approx(arithmetic["cycles"])


def test_roofs_of_levels_are_their_lines(target: Target) -> None:
    """Of the nearest, from which nothing is fetched, what a copy to registers takes."""
    nearest, *others = roofline(_plan(PRODUCT))["levels"]
    assert 4 / target.coefficients["scalar_load"].value == nearest["bytes_per_cycle"]
    for row in others:
        level = target.level_by_name[row["level"]]
        assert level.line / level.coefficients["fetch"].value == row["bytes_per_cycle"]


def test_every_argument_moves_once() -> None:
    """They are small: of A and B one line each comes from L2, of C two go back to it."""
    levels = {row["level"]: row for row in roofline(_plan(PRODUCT))["levels"]}
    assert 4 * 64 == levels["in_l2"]["bytes"]
    assert 0 == levels["l3"]["bytes"] == levels["mem"]["bytes"]
    assert 2 * prod(PRODUCT.sizes) / 256 == levels["in_l2"]["intensity"]
    assert pytest.approx(256 / 64 * 0.1) == levels["in_l2"]["cycles"]


@pytest.mark.parametrize("wanted", GOALS, ids=[w.operator for w in GOALS])
def test_no_program_is_beyond_its_limits(wanted: Wanted) -> None:
    """Each limit is at most what is predicted; what does arithmetic is below every roof."""
    _check_limits(roofline(_plan(wanted)))


def test_what_a_cache_holds_block_by_block_comes_there_once() -> None:
    """The row is read twice; the result is written, and by blocks once added up, once scaled."""
    kernel = morello.compile(LONG_ROW, target="x86.avx512", memo=Memo())
    assert ": softmax_kept(" in kernel.plan.render()
    found = roofline(kernel.plan)
    _check_limits(found)
    levels = {row["level"]: row for row in found["levels"]}
    assert 5 * 4 * 400000 == levels["l3"]["bytes"]


def _check_limits(found: Roofline) -> None:
    for cycles in (found["arithmetic"]["cycles"], *(row["cycles"] for row in found["levels"])):
        assert cycles is None or cycles <= found["cycles"] * (1 + 1e-9)
    for row in found["levels"]:
        assert row["roof"] is None or found["operations_per_cycle"] <= row["roof"] * (1 + 1e-9)
    assert found["bound"] is not None
    assert found["bound"]["cycles"] == max(
        found["arithmetic"]["cycles"] or 0, *(row["cycles"] or 0 for row in found["levels"])
    )
