"""The bound where subnormal numbers may count as 0: what it adds, and how little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.ir.dtypes import BF16, F32
from morello.reference import inputs as test_inputs
from morello.reference.compare import MismatchError, check_close, reference
from tests.reference.declare import (
    ADD,
    COPY,
    MATMUL,
    RELU,
    ROWMAX,
    X,
    Z,
    binary,
    call,
    number,
    operation,
    operator,
)

Array = np.ndarray[Any, np.dtype[Any]]

NORMAL = 2.0**-126
SMALL, LARGE = np.float32(2.0**-127), np.float32(2.0**60)


def flushed(values: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    return np.where(np.abs(values) < NORMAL, np.copysign(np.float32(0), values), values)


def pairs(a: Array, b: Array, c: Array) -> Array:
    """C + A B as an instruction does it that takes two of k at a time.

    The odd one comes first; each is a fused multiply-add, its operands and its result flushed.
    """
    wide_a, wide_b = (flushed(x.astype(np.float32)).astype(np.float64) for x in (a, b))
    k = a.shape[1]
    for i in [i for pair in range(0, k, 2) for i in (pair + 1, pair) if i < k]:
        exact = wide_a[:, i : i + 1] * wide_b[i : i + 1] + flushed(c).astype(np.float64)
        c = flushed(exact.astype(np.float32))
    return c


@settings(deadline=None, max_examples=150)
@given(
    sizes=st.tuples(*[st.integers(1, 20)] * 3),
    kind=st.sampled_from(sorted(test_inputs.KINDS)),
    seed=st.integers(0, 1000),
    flushed_only=st.integers(0, 20),
)
def test_a_product_that_flushes_some_of_k_is_accepted(
    sizes: tuple[int, int, int], kind: str, seed: int, flushed_only: int
) -> None:
    """The rest by something that does not: a program may have both."""
    op = operation(MATMUL, accumulating=True)
    a, b, c = test_inputs.for_operation(kind, op, sizes, [BF16, BF16, F32], seed)
    with np.errstate(all="ignore"):
        total = pairs(a[:, :flushed_only], b[:flushed_only], c)
        for k in range(flushed_only, sizes[2]):
            total = total + a[:, k : k + 1].astype(np.float32) * b[k : k + 1].astype(np.float32)
    check_close(total, reference(op, sizes, [a, b], F32, c, flushes=True))


def test_a_lost_product_is_accepted_only_where_that_is_said() -> None:
    """2^-127 times 2^60 is no small number."""
    op, sizes = operation(MATMUL), (1, 1, 3)
    a, b = np.array([[SMALL, 0, 0]]), np.full((3, 1), LARGE)
    nothing = np.zeros((1, 1), np.float32)
    check_close(nothing, reference(op, sizes, [a, b], F32, flushes=True))
    with pytest.raises(MismatchError, match="off by at most"):
        check_close(nothing, reference(op, sizes, [a, b], F32))


def test_no_more_may_be_lost_than_subnormal_numbers_make() -> None:
    """Neither as much again, nor a product of the smallest normal number."""
    op, sizes = operation(MATMUL), (1, 1, 2)
    b = np.full((2, 1), LARGE)
    small = reference(op, sizes, [np.array([[SMALL, 0]]), b], F32, flushes=True)
    twice = np.array([[2.01 * float(SMALL * LARGE)]], np.float32)
    normal = reference(op, sizes, [np.array([[NORMAL, 0]], np.float32), b], F32, flushes=True)
    for wrong, expected in ((twice, small), (-twice, small), (np.zeros_like(twice), normal)):
        with pytest.raises(MismatchError):
            check_close(wrong, expected)


@pytest.mark.parametrize("place", [0, 1])
def test_an_infinity_times_what_is_flushed_may_be_nan(place: int) -> None:
    """Of either operand; an infinity that meets nothing small must stay."""
    op, sizes = operation(MATMUL), (1, 1, 2)
    small, infinite = np.array([SMALL, 1]), np.array([np.inf, 1], np.float32)
    a, b = ((small, infinite), (infinite, small))[place]
    operands = [a.reshape(1, 2), b.reshape(2, 1)]
    nan = np.full((1, 1), np.nan, np.float32)
    expected = reference(op, sizes, operands, F32, flushes=True)
    check_close(nan, expected)
    check_close(np.full((1, 1), np.inf, np.float32), expected)
    for wrong in (np.zeros_like(nan), np.ones_like(nan)):
        with pytest.raises(MismatchError):
            check_close(wrong, expected)
    with pytest.raises(MismatchError):
        check_close(nan, reference(op, sizes, operands, F32))


def test_an_infinity_that_meets_nothing_small_stays() -> None:
    op, sizes = operation(MATMUL), (1, 1, 2)
    a, b = np.array([[np.inf, 1]], np.float32), np.array([[1], [SMALL]], np.float32)
    expected = reference(op, sizes, [a, b], F32, flushes=True)
    check_close(np.full((1, 1), np.inf, np.float32), expected)
    with pytest.raises(MismatchError):
        check_close(np.full((1, 1), np.nan, np.float32), expected)


def test_what_is_added_to_may_be_flushed() -> None:
    """The old output, by less than the smallest normal number."""
    op, old = operation(MATMUL, accumulating=True), np.full((1, 1), SMALL)
    operands = [np.zeros((1, 1), np.float32), np.ones((1, 1), np.float32)]
    expected = reference(op, (1, 1, 1), operands, F32, old, flushes=True)
    check_close(np.zeros((1, 1), np.float32), expected)
    with pytest.raises(MismatchError):
        check_close(np.full((1, 1), 2.0**-120, np.float32), expected)


def test_a_copy_loses_what_is_subnormal_and_nothing_else() -> None:
    x = np.array([SMALL, NORMAL, 1], np.float32)
    expected = reference(operation(COPY, 1), (3,), [x], F32, flushes=True)
    check_close(np.array([0, NORMAL, 1], np.float32), expected)
    with pytest.raises(MismatchError, match=r"output\[1\]"):
        check_close(np.array([SMALL, 0, 1], np.float32), expected)


MEANINGS = {
    "sum": ADD,
    "maximum": operator("most", ("X[i...]", "Z[i...]"), "Y[i...]", call("max", X, Z)),
    "square": operator("square", ("X[i...]",), "Y[i...]", binary("*", X, X)),
    "hidden product": operator(
        "hidden", ("X[i...]", "Z[i...]"), "Y[i...]", call("max", binary("*", X, Z), number(-1e20))
    ),
    "distance": operator("far", ("X[i...]", "Z[i...]"), "Y[i...]", call("abs", binary("-", X, Z))),
    "positive part": RELU,
}


@pytest.mark.parametrize("meaning", MEANINGS)
@pytest.mark.parametrize("kind", ["tiny", "uneven"])
def test_other_meanings_may_lose_operands_too(meaning: str, kind: str) -> None:
    """Every combination of operands that are flushed and that are not."""
    declared = MEANINGS[meaning]
    op, sizes = operation(declared, 2), (20, 30)
    values = test_inputs.for_operation(kind, op, sizes, [F32] * 3, 3)
    expected = reference(op, sizes, values, F32, flushes=True)
    for mask in range(2 ** len(values)):
        given = [flushed(v) if mask >> i & 1 else v for i, v in enumerate(values)]
        check_close(flushed(reference(op, sizes, given, F32).rounded()), expected)


def test_a_maximum_of_rows_may_lose_them() -> None:
    x = np.array([[SMALL, -1], [2, SMALL]], np.float32)
    expected = reference(operation(ROWMAX), (2, 2), [x], F32, flushes=True)
    check_close(np.array([0, 2], np.float32), expected)
    with pytest.raises(MismatchError):
        check_close(np.array([0, 0], np.float32), expected)
