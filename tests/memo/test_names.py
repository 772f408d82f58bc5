"""Variants as text and back."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.dtypes import DTYPES
from morello.ir.layout import pack, packed, panel_of
from morello.ir.operators import Operation
from morello.ir.scalars import StandIn
from morello.ir.spec import Family, Operand, Variant
from morello.memo.names import variant_of, variant_text
from tests.search.goals import Wanted, copy, matmul
from tests.search.machines import context
from tests.search.solved import solved

KNOWN = context("tiny.cached")


@st.composite
def variants(draw: st.DrawFn) -> Variant:
    """Any operator at any rank, on operands of any kind, with any values of its scalars."""
    operator = draw(st.sampled_from(sorted(KNOWN.operators.values(), key=lambda o: o.name)))
    scalars = tuple(
        (name, float(draw(st.integers(operator.least[name], 9))))
        if name in operator.least
        else (name, draw(st.floats(allow_nan=False) | st.builds(StandIn, st.integers(1, 99))))
        for name in operator.scalars
    )
    rank = draw(st.integers(0, 3)) if operator.group else 0
    operation = Operation(operator, rank, draw(st.booleans()), scalars)
    operands = tuple(
        Operand(
            DTYPES[draw(st.sampled_from(sorted(DTYPES)))],
            draw(st.sampled_from(KNOWN.target.levels)),
            tuple(draw(st.permutations(range(len(indices))))),
            draw(st.sampled_from((0, 8, 64))),
        )
        for indices in operation.operands
    )
    packing = tuple(
        packed(len(o.order)) if o.vector else draw(_packings(len(o.order))) for o in operands
    )
    return Variant(Family(operation, operands, draw(st.sampled_from((1, 2, 64)))), packing)


def _packings(rank: int) -> st.SearchStrategy[int]:
    widths = st.sampled_from((0, 2, 16, 1024) if rank else (0,))
    inner = st.integers(0, packed(rank))
    heights = st.sampled_from((0, 2, 1024))
    return st.builds(
        lambda height, width, inner: int(pack(0, inner, panel_of((height, width)))),
        heights,
        widths,
        inner,
    )


@given(variants())
def test_a_variant_is_read_back_from_its_text(variant: Variant) -> None:
    assert variant == variant_of(variant_text(variant), KNOWN)


@given(variants(), variants())
def test_different_variants_have_different_texts(one: Variant, other: Variant) -> None:
    assert (one == other) == (variant_text(one) == variant_text(other))


@pytest.mark.parametrize("goal", [matmul(5, 4, 3, threads=3), copy(3, 5, X=(1, 0))])
def test_every_variant_that_a_search_solves_is_read_back(goal: Wanted) -> None:
    found = solved("tiny.cached", goal).solved
    assert len(found) > 10
    assert all(variant == variant_of(variant_text(variant), KNOWN) for variant in found)


TEXT = (
    "matmul(A: f32 mem [0, 1] packing 4, B: f32 mem [0, 1] packing 3, C: f32 reg [0, 1] vector 8)"
    " threads 2"
)


@pytest.mark.parametrize(
    "change",
    [
        ("matmul", "unheard_of"),
        ("mem", "moon"),
        ("f32", "f8"),
        ("A:", "Z:"),
        ("A: f32 mem [0, 1] packing 4, ", ""),
        ("threads 2", "threads 1"),
        ("A: f32 mem [0, 1]", "A: f32 mem [0, 1, 2]"),
        ("A: f32 mem [0, 1]", "A: f32 mem [0, 2]"),
        ("threads 2", "threads 2 x=y"),
        ("threads 2", "threads 2 x=1.0"),
        ("packing 4", "packing 5"),
        (" packing 4", ""),
        ("(", ""),
        (TEXT, ""),
    ],
)
def test_what_is_no_variants_text_is_no_variant(change: tuple[str, str]) -> None:
    """Or one of definitions that are not these."""
    assert variant_of(TEXT, KNOWN) is not None
    assert variant_of(TEXT.replace(*change), KNOWN) is None


@pytest.mark.parametrize(
    "text",
    [f"copy({'a' * 100_000})", f"copy({'X: f32 of ' * 10_000})", f"{'copy/1:f32(' * 9_000}(X)"],
    ids=["a word", "operands", "calls"],
)
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    """A memo that somebody else wrote may hold any; quadratic time would be a minute."""
    started = time.process_time()
    assert variant_of(text, KNOWN) is None
    assert time.process_time() - started < 5
