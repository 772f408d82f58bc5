"""Operators' meanings against formulas written directly in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.errors import MorelloError
from morello.ir.conversion import convert, convert_number
from morello.ir.dtypes import F32, S32, DType
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.language import ast
from morello.reference import inputs as test_inputs
from morello.reference import meaning
from morello.reference.meaning import execute
from tests.reference.declare import (
    ADD,
    CONV,
    COPY,
    MATMUL,
    RELU,
    ROWMAX,
    ROWMIN,
    SPAN,
    B,
    X,
    Z,
    binary,
    call,
    element,
    fill,
    name,
    number,
    operation,
    operator,
)


def arrays(kind: str, op: Operation, sizes: tuple[int, ...], dtype: DType = F32) -> list[Array]:
    return test_inputs.for_operation(kind, op, sizes, [dtype] * len(op.operands))


def naive(op: Operation, sizes: tuple[int, ...], inputs: list[Array]) -> Array:
    """Convolution of `CONV`, one output element at a time."""
    x, w = (a.astype(np.float64) for a in inputs)
    co, h, width, ci, r, s = sizes
    result = np.zeros((co, h, width))
    for o, i, j in np.ndindex(result.shape):
        for c, u, v in np.ndindex(ci, r, s):
            result[o, i, j] += x[c, i + u, 2 * j + v] * w[o, c, u, v]
    return result


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 5, 3), (1, 13, 1), (37, 53, 71), (64, 64, 64)])
def test_matmul_is_the_product(sizes: tuple[int, int, int]) -> None:
    op = operation(MATMUL)
    a, b = arrays("random", op, sizes)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    actual = execute(op, sizes, [a, b], F32)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-7)


def test_batched_matmul_accumulates_into_the_old_output() -> None:
    op = operation(MATMUL, 2, accumulating=True)
    sizes = (2, 3, 5, 7, 11)
    a, b, c = arrays("random", op, sizes)
    expected = c + a.astype(np.float64) @ b.astype(np.float64)
    actual = execute(op, sizes, [a, b], F32, c)
    assert actual.shape == (2, 3, 5, 7)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-7)


def test_the_old_output_is_left_alone() -> None:
    op = operation(MATMUL, accumulating=True)
    a, b, c = arrays("random", op, (2, 3, 4))
    before = c.copy()
    execute(op, (2, 3, 4), [a, b], F32, c)
    assert np.array_equal(before, c)


@pytest.mark.parametrize("sizes", [(7, 5, 3), (64, 32, 48)])
@pytest.mark.parametrize("kind", ["random", "huge", "negative"])
def test_integers_wrap_modulo_two_to_the_32(kind: str, sizes: tuple[int, int, int]) -> None:
    op = operation(MATMUL)
    a, b = arrays(kind, op, sizes, S32)
    exact = a.astype(object) @ b.astype(object)
    expected = (exact % 2**32).astype(np.uint32).view(np.int32)
    assert np.array_equal(expected, execute(op, sizes, [a, b], S32))


def test_elementwise_integers_wrap_at_every_operation() -> None:
    doubled = operator("f", ("X[i...]",), "Y[i...]", call("max", binary("+", X, X), number(0)))
    x = np.array([2**30, -(2**30), 5], np.int32)
    actual = execute(operation(doubled, 1), (3,), [x], S32)
    assert actual.tolist() == [0, 0, 10]


@pytest.mark.parametrize("order", ["column", "strided", "reversed"])
def test_strides_do_not_matter(order: str) -> None:
    op = operation(MATMUL)
    a, b = arrays("random", op, (6, 5, 4))
    expected = execute(op, (6, 5, 4), [a, b], F32)
    other = {
        "column": np.asfortranarray(a),
        "strided": np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
        "reversed": a[::-1, ::-1].copy()[::-1, ::-1],
    }[order]
    assert np.array_equal(expected, execute(op, (6, 5, 4), [other, b], F32))


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_elementwise_operators_work_at_any_rank(rank: int) -> None:
    sizes = (2, 3, 5)[:rank]
    op = operation(RELU, rank)
    (x,) = arrays("random", op, sizes)
    assert np.array_equal(np.maximum(x, 0), execute(op, sizes, [x], F32))
    both = operation(ADD, rank)
    x, z = arrays("random", both, sizes)
    assert np.array_equal(x + z, execute(both, sizes, [x, z], F32))


def test_max_takes_its_second_operand_where_one_is_nan() -> None:
    x = np.array([np.nan, -np.inf, np.inf], np.float32)
    assert [0.0, 0.0, np.inf] == execute(operation(RELU, 1), (3,), [x], F32).tolist()


@pytest.mark.parametrize(("value", "expected"), [(3.5, 3), (-np.inf, -(2**31)), (np.nan, 0)])
def test_fill_converts_its_scalar(value: float, expected: int) -> None:
    actual = execute(fill(value, 2), (2, 3), [], S32)
    assert np.array_equal(np.full((2, 3), expected), actual)
    as_float = execute(fill(value, 2), (2, 3), [], F32)
    assert np.array_equal(np.full((2, 3), value, np.float32), as_float, equal_nan=True)


def test_copy_to_integers_saturates_and_truncates() -> None:
    x = np.array([1e10, -1e10, np.nan, np.inf, -np.inf, 2.9, -2.9, 2147483520.0], np.float32)
    actual = execute(operation(COPY, 1), (8,), [x], S32)
    expected = [2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 2, -2, 2147483520]
    assert expected == actual.tolist()


def test_copy_to_floats_rounds_to_nearest() -> None:
    x = np.array([2**24 + 1, 2**31 - 1, -7], np.int32)
    actual = execute(operation(COPY, 1), (3,), [x], F32)
    assert actual.tolist() == [2.0**24, 2.0**31, -7.0]


@pytest.mark.parametrize("dtype", [F32, S32])
def test_max_and_min_reductions(dtype: DType) -> None:
    (x,) = arrays("negative", operation(ROWMAX), (5, 7), dtype)
    assert np.array_equal(x.max(axis=1), execute(operation(ROWMAX), (5, 7), [x], dtype))
    assert np.array_equal(x.min(axis=1), execute(operation(ROWMIN), (5, 7), [x], dtype))


def test_an_accumulating_max_starts_from_the_old_output() -> None:
    op = operation(ROWMAX, accumulating=True)
    x = np.array([[1, 2], [3, 4]], np.float32)
    actual = execute(op, (2, 2), [x], F32, np.array([9, 0], np.float32))
    assert actual.tolist() == [9.0, 4.0]


def test_windows_and_strides_in_indices() -> None:
    op, sizes = operation(CONV), (3, 4, 5, 2, 3, 2)
    inputs = arrays("random", op, sizes)
    assert [a.shape for a in inputs] == [(2, 6, 10), (3, 2, 3, 2)]
    expected = naive(op, sizes, inputs)
    np.testing.assert_allclose(execute(op, sizes, inputs, F32), expected, rtol=1e-5, atol=1e-6)


def test_a_repeated_dimension_is_a_diagonal() -> None:
    trace = operator("trace", ("X[i, i]",), "Y[]", element("X[i, i]"), "+=")
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.trace(x) == execute(operation(trace), (4,), [x], F32)[()]


def test_factors_that_are_constants_and_scalars() -> None:
    product = binary("*", binary("*", number(3), name("s")), binary("*", element("A[i]"), X_I))
    dot = operator("dot", ("A[i]", "X[i]"), "Y[]", product, "+=", scalars=("s",))
    op = Operation(dot, 0, False, (("s", 0.5),))
    a = np.arange(5, dtype=np.float32)
    assert 1.5 * (a @ a) == execute(op, (5,), [a, a], F32)[()]
    integers = a.astype(np.int32)
    assert execute(op, (5,), [integers, integers], S32)[()] == 0  # 0.5 is 0 in s32


X_I = element("X[i]")


def test_conditions_choose_element_by_element() -> None:
    condition = binary(">", X, Z)
    chosen = ast.Conditional(binary("-", X, Z), condition, call("abs", Z), span=SPAN)
    op = operation(operator("choose", ("X[i...]", "Z[i...]"), "Y[i...]", chosen), 1)
    x, z = arrays("random", op, (100,))
    assert np.array_equal(np.where(x > z, x - z, np.abs(z)), execute(op, (100,), [x, z], F32))


def _of_x(value: ast.Expr, x: Array, dtype: DType) -> Array:
    """An elementwise operator of one operand, executed."""
    op = operation(operator("own", ("X[i...]",), "Y[i...]", value), 1)
    return execute(op, (len(x),), [x], dtype)


def test_what_is_chosen_has_the_type_of_the_meaning() -> None:
    """A choice between constants wraps around like an element: 3 * 2^30 is negative in s32."""
    chosen = ast.Conditional(number(3), binary(">", X, number(0)), None, span=SPAN)
    large = binary("*", chosen, X)
    value = ast.Conditional(number(1), binary("<", large, number(0)), number(2), span=SPAN)
    x = np.array([1 << 30, -5, 7], np.int32)
    assert [1, 2, 2] == _of_x(value, x, S32).tolist()


def test_constants_divide_like_elements() -> None:
    """1 / 0 is infinite."""
    value = binary("*", X, binary("/", number(1), number(0)))
    x = np.array([2, -3, 0], np.float32)
    np.testing.assert_array_equal(
        _of_x(value, x, F32), np.array([np.inf, -np.inf, np.nan], np.float32)
    )


def test_rounding_keeps_integers() -> None:
    """They wrap around afterwards, as without it."""
    value = binary("+", call("round", X), call("floor", X))
    x = np.array([2**31 - 1, -7], np.int32)
    assert [-2, -14] == _of_x(value, x, S32).tolist()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("round", [0, 2, -2, 1]),
        ("floor", [0, 1, -3, 0]),
        ("tanh", [0.46211717, 0.90514827, -0.9866143, 0.60436779]),
        ("erf", [0.52049988, 0.96610515, -0.99959305, 0.67780119]),
    ],
)
def test_functions(function: str, expected: list[float]) -> None:
    """Ties go to the even number; the others by tables."""
    x = np.array([0.5, 1.5, -2.5, 0.7], np.float32)
    np.testing.assert_allclose(_of_x(call(function, X), x, F32), expected, rtol=1e-6)


@pytest.mark.parametrize("sizes", [(2, 3, 4), (40, 30, 20), (1, 50, 3), (30, 1, 70)])
def test_blocks_and_contraction_agree(
    sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The general way, in many small blocks, gives what the contraction gives."""
    monkeypatch.setattr(meaning, "BLOCK_CELLS", 16)
    negated = ast.Unary("-", binary("*", element("A[b..., m, k]"), B), span=SPAN)
    inputs = ("A[b..., m, k]", "B[b..., k, n]")
    general = operation(operator("negated", inputs, "C[b..., m, n]", negated, "+="))
    operands = arrays("small", general, sizes)
    expected = -execute(operation(MATMUL), sizes, operands, F32)
    assert np.array_equal(expected, execute(general, sizes, operands, F32))


def test_small_blocks_reduce_like_one(monkeypatch: pytest.MonkeyPatch) -> None:
    (x,) = arrays("random", operation(ROWMAX), (9, 17))
    monkeypatch.setattr(meaning, "BLOCK_CELLS", 5)
    assert np.array_equal(x.max(axis=1), execute(operation(ROWMAX), (9, 17), [x], F32))


@pytest.mark.parametrize("dtype", [F32, S32], ids=str)
def test_sums_of_products_are_contracted(dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their iteration spaces are too large to be evaluated: 134 million cells here."""
    monkeypatch.delattr(meaning.Meaning, "_evaluate_in_blocks")
    op, sizes = operation(MATMUL), (512, 512, 512)
    a, b = arrays("small", op, sizes, dtype)
    exact = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(exact, execute(op, sizes, [a, b], dtype))
    windows = (4, 6, 7, 3, 3, 3)
    inputs = arrays("small", operation(CONV), windows, dtype)
    assert np.array_equal(naive(CONV_OP, windows, inputs), execute(CONV_OP, windows, inputs, dtype))


CONV_OP = operation(CONV)


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    batch=st.lists(st.integers(1, 3), max_size=2),
    kind=st.sampled_from(["random", "small", "huge", "zeros", "tiny", "negative"]),
    accumulating=st.booleans(),
)
def test_any_integer_matmul_is_exact(
    sizes: tuple[int, int, int], batch: list[int], kind: str, accumulating: bool
) -> None:
    op = operation(MATMUL, len(batch), accumulating=accumulating)
    full = (*batch, *sizes)
    a, b, *c = arrays(kind, op, full, S32)
    exact = a.astype(object) @ b.astype(object) + (c[0].astype(object) if c else 0)
    expected = (exact % 2**32).astype(np.uint32).view(np.int32)
    assert np.array_equal(expected, execute(op, full, [a, b], S32, *c))


@given(value=st.integers(-(2**70), 2**70))
def test_integer_constants_wrap(value: int) -> None:
    assert (value - convert_number(value, S32)) % 2**32 == 0
    assert -(2**31) <= convert_number(value, S32) < 2**31


@given(value=st.floats(width=64))
def test_conversion_of_numbers_and_arrays_agree(value: float) -> None:
    for dtype in (F32, S32):
        expected = convert(np.array(value), dtype)[()]
        actual = np.array(convert_number(value, dtype), dtype.numpy)[()]
        assert np.array_equal(expected, actual, equal_nan=dtype.floating)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": (2, 3)}, "expected a positive one for each of m, n, k"),
        ({"sizes": (2, 3, 0)}, "has sizes (2, 3, 0)"),
        ({"inputs": 1}, "was given 1 inputs; expected 2"),
        ({"sizes": (2, 3, 5)}, "operand 'A' of 'accumulating matmul' has shape (2, 4)"),
        ({"old": False}, "needs the old output 'C'"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    op = operation(MATMUL, accumulating=True)
    a, b, c = arrays("random", op, (2, 3, 4))
    operands = [a, b][: change.get("inputs", 2)]
    old = c if change.get("old", True) else None
    with pytest.raises(MorelloError) as error:
        execute(op, change.get("sizes", (2, 3, 4)), operands, F32, old)
    assert message in str(error.value)


def test_indices_that_leave_the_array_are_refused() -> None:
    op = operation(operator("f", ("X[i]",), "Y[i]", element("X[2*i]")))
    with pytest.raises(MorelloError, match=r"index '2 \* i' runs from 0 to 6, outside of axis 0"):
        execute(op, (4,), [np.ones(4, np.float32)], F32)


def test_a_scattering_output_is_refused() -> None:
    op = operation(operator("f", ("X[i, j]",), "Y[i + j]", element("X[i, j]"), "+="))
    with pytest.raises(MorelloError, match="output is not indexed by plain dimensions"):
        execute(op, (2, 2), [np.ones((2, 2), np.float32)], F32)


def test_assignment_may_not_reduce() -> None:
    op = operation(operator("f", ("X[i, j]",), "Y[i]", element("X[i, j]")))
    with pytest.raises(MorelloError, match="several values over j"):
        execute(op, (2, 2), [np.ones((2, 2), np.float32)], F32)


def test_a_factor_of_all_terms_is_one_of_each() -> None:
    """A sum times infinity is not the sum of the terms times infinity."""
    value = binary("*", element("X[i, j]"), element("Z[i]"))
    scaled = operation(operator("scaled", ("X[i, j]", "Z[i]"), "Y[i]", value, "+="))
    x = np.full((2, 17), -np.inf, np.float32)
    x[0, -1] = 0.5
    result = execute(scaled, (2, 17), [x, np.array([np.inf, 1], np.float32)], F32)
    np.testing.assert_array_equal([np.nan, -np.inf], result)
