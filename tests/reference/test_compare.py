"""The bound: what must be accepted, and what must not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.errors import MorelloError, UsageError
from morello.ir.dtypes import BF16, F32, S32, DType
from morello.reference import inputs as test_inputs
from morello.reference.compare import MismatchError, check_close, reference
from tests.reference.declare import (
    ADD,
    COPY,
    MATMUL,
    RELU,
    ROWMAX,
    X,
    binary,
    call,
    fill,
    number,
    operation,
    operator,
)

FLOAT_KINDS = [
    "random",
    "small",
    "zeros",
    "negative",
    "huge",
    "tiny",
    "uneven",
    "nonfinite",
]


@settings(deadline=None, max_examples=150)
@given(
    sizes=st.tuples(*[st.integers(1, 20)] * 3),
    kind=st.sampled_from(FLOAT_KINDS),
    seed=st.integers(0, 1000),
    backwards=st.booleans(),
)
def test_every_order_of_summation_in_float32_is_accepted(
    sizes: tuple[int, int, int], kind: str, seed: int, backwards: bool
) -> None:
    op = operation(MATMUL)
    a, b = test_inputs.for_operation(kind, op, sizes, [F32] * 3, seed)
    order = np.random.default_rng(seed).permutation(sizes[2])
    total = np.zeros(sizes[:2], np.float32)
    with np.errstate(all="ignore"):
        for k in order[::-1] if backwards else order:
            total += a[:, k : k + 1] * b[k : k + 1]
    check_close(total, reference(op, sizes, [a, b], F32))


@pytest.mark.parametrize("kind", FLOAT_KINDS)
def test_elementwise_results_of_numpy_are_accepted(kind: str) -> None:
    op = operation(ADD, 1)
    x, z = test_inputs.for_operation(kind, op, (500,), [F32] * 3)
    with np.errstate(all="ignore"):
        total = x + z
    check_close(total, reference(op, (500,), [x, z], F32))


@pytest.mark.parametrize("kind", ["random", "negative", "huge", "small"])
def test_one_missing_term_is_caught(kind: str) -> None:
    """The slack of the bound is far below one term of a sum."""
    op, sizes = operation(MATMUL), (4, 5, 30)
    a, b = test_inputs.for_operation(kind, op, sizes, [F32] * 3)
    a = np.where(np.abs(a) > 1e18, 1e18, a).astype(np.float32)  # so that no sum overflows
    b = np.where(np.abs(b) > 1e18, 1e18, b).astype(np.float32)
    a[2, 29] = np.abs(a).max()
    b[29, 3] = np.abs(b).max()
    wrong = a @ b
    wrong[2, 3] = a[2, :29] @ b[:29, 3]
    with pytest.raises(MismatchError) as error:
        check_close(wrong, reference(op, sizes, [a, b], F32), name="c")
    assert error.value.index == (2, 3)
    assert "1 of 20 elements are wrong" in str(error.value)
    assert str(error.value).startswith("c[2, 3] is ")


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.0, 1e30])
def test_a_wrong_value_is_caught_among_special_ones(value: float) -> None:
    op = operation(ADD, 1)
    x = np.array([np.inf, -np.inf, np.nan, 1, 3e38], np.float32)
    z = np.array([1, 1, 1, 1, 3e38], np.float32)
    expected = reference(op, (5,), [x, z], F32)
    with np.errstate(all="ignore"):
        right = x + z
    check_close(right, expected)
    for place in range(4):  # the last one overflows: see the next test
        wrong = right.copy()
        wrong[place] = value
        if np.array_equal(wrong, right, equal_nan=True):
            continue
        with pytest.raises(MismatchError):
            check_close(wrong, expected)


def test_an_overflow_is_not_a_licence_for_anything() -> None:
    op = operation(ADD, 1)
    x = np.array([3e38], np.float32)
    expected = reference(op, (1,), [x, x], F32)
    check_close(np.array([np.inf], np.float32), expected)
    with pytest.raises(MismatchError):
        check_close(np.array([5.0], np.float32), expected)


def test_sums_that_may_overflow_on_the_way() -> None:
    """3e38 + 3e38 - 3e38 is 3e38, or infinity, but never 0, and nothing makes it NaN."""
    op = operation(MATMUL)
    a, b = np.array([[3e38, 3e38, -3e38]], np.float32), np.ones((3, 1), np.float32)
    expected = reference(op, (1, 1, 3), [a, b], F32)
    for right in (3e38, np.inf):
        check_close(np.array([[right]], np.float32), expected)
    for wrong in (0, -np.inf, np.nan):
        with pytest.raises(MismatchError):
            check_close(np.array([[wrong]], np.float32), expected)


def test_a_maximum_over_nan_may_be_anything_but_others_not() -> None:
    x = np.array([[1, np.nan], [3, 4]], np.float32)
    expected = reference(operation(ROWMAX), (2, 2), [x], F32)
    check_close(np.array([1, 4], np.float32), expected)
    check_close(np.array([np.nan, 4], np.float32), expected)
    with pytest.raises(MismatchError):
        check_close(np.array([1, 3], np.float32), expected)


def test_integers_must_be_equal() -> None:
    op = operation(MATMUL)
    a, b = test_inputs.for_operation("huge", op, (3, 4, 5), [S32] * 3)
    expected = reference(op, (3, 4, 5), [a, b], S32)
    actual = expected.rounded().copy()
    check_close(actual, expected)
    actual[1, 2] += 1
    with pytest.raises(MismatchError, match=r"output\[1, 2\] is .* exactly \("):
        check_close(actual, expected)


def test_meanings_without_magnitudes_have_a_bound() -> None:
    value = binary("/", call("exp", X), number(3))
    op = operation(operator("f", ("X[i...]",), "Y[i...]", value), 1)
    x = np.linspace(-5, 5, 100, dtype=np.float32)
    expected = reference(op, (100,), [x], F32)
    check_close(np.exp(x) / np.float32(3), expected)
    with pytest.raises(MismatchError):
        check_close(np.exp(x) / np.float32(3) * np.float32(1.001), expected)


def test_infinite_fills_are_compared_exactly() -> None:
    expected = reference(fill(-np.inf, 1), (2,), [], F32)
    check_close(np.full(2, -np.inf, np.float32), expected)
    for wrong in (np.nan, np.inf, 0):
        with pytest.raises(MismatchError):
            check_close(np.full(2, wrong, np.float32), expected)


def test_shape_and_dtype_must_agree() -> None:
    expected = reference(operation(RELU, 1), (3,), [np.ones(3, np.float32)], F32)
    with pytest.raises(MorelloError, match=r"c is float64 of shape \(3,\); expected float32"):
        check_close(np.ones(3), expected, name="c")
    with pytest.raises(MorelloError, match=r"of shape \(1, 3\)"):
        check_close(np.ones((1, 3), np.float32), expected)


@pytest.mark.parametrize("kind", sorted(test_inputs.KINDS))
@pytest.mark.parametrize("dtype", [F32, S32], ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (200, 3)])
def test_inputs_are_deterministic_and_typed(
    kind: str, dtype: DType, shape: tuple[int, ...]
) -> None:
    tensors = [(shape, dtype), (shape, dtype)]
    first, again = (test_inputs.make_all(kind, tensors, seed=5) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert one.dtype == dtype.numpy
        assert one.shape == shape
        assert one.flags.c_contiguous
        assert np.array_equal(one, other, equal_nan=dtype.floating)


def test_inputs_are_as_nasty_as_their_names() -> None:
    def floats(kind: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return test_inputs.make_all(kind, [((1000,), F32)])[0]

    assert (floats("negative") < 0).all()
    assert (floats("zeros") == 0).all()
    assert np.signbit(floats("zeros")).any()
    assert np.isfinite(floats("huge")).all()
    assert (np.abs(floats("huge")) > 1e37).any()
    smallest = np.finfo(np.float32).smallest_normal
    assert (np.abs(floats("tiny")) < smallest).any()
    assert np.isnan(floats("nonfinite")).any()
    assert np.isinf(floats("nonfinite")).any()
    integers = test_inputs.make_all("random", [((1000,), S32)])[0]
    assert integers.max() > 2**30
    assert integers.min() < -(2**30)


def test_leading_elements_along_a_reduction_are_masked() -> None:
    """Of one input; the rest are positive, so that no result is lost."""
    op, sizes = operation(MATMUL), (5, 3, 40)
    assert test_inputs.reduced_axes(op) == [(0, 1), (1, 0)]
    seen = set()
    for seed in range(40):
        found = test_inputs.for_operation(test_inputs.MASKED, op, sizes, [F32] * 3, seed)
        a, b = found[0], found[1].T
        masked, other = (a, b) if (a < 0).any() else (b, a)
        assert (other > 0).all()
        low = masked < -1e30
        assert (low | (masked > 0)).all()
        assert (low[:, :-1] >= low[:, 1:]).all()  # only leading ones
        seen |= {"left" if masked is a else "right", *(["infinite"] if np.isinf(a).any() else [])}
        seen |= {"all"} if low.all(1).any() else set()
        seen |= {"some"} if (low.any(1) & ~low.all(1)).any() else set()
        seen |= {"finite"} if np.isfinite(masked[low]).any() else set()
        assert not np.isnan(reference(op, sizes, found, F32).values).any()
    assert seen == {"left", "right", "infinite", "all", "some", "finite"}
    plain = test_inputs.for_operation(test_inputs.MASKED, operation(RELU, 1), (9,), [F32] * 2)
    assert (plain[0] > 0).all()  # it has nothing to reduce


def test_unknown_kinds_of_inputs_are_named() -> None:
    with pytest.raises(UsageError, match="there are no inputs called 'hug'") as error:
        test_inputs.make_all("hug", [((1,), F32)])
    assert error.value.help == "did you mean 'huge'?"


@pytest.mark.parametrize("dtype", [F32, BF16], ids=str)
def test_a_conversion_has_one_right_result(dtype: DType) -> None:
    """Its neighbours are wrong, which the bound of a sum would not see."""
    x = np.linspace(-3, 3, 50).astype(np.float32)
    expected = reference(operation(COPY, 1), (50,), [x], dtype)
    right = expected.rounded().copy()
    check_close(right, expected)
    unsigned = np.dtype(f"u{dtype.bytes}")
    wrong = (right.view(unsigned) + unsigned.type(1)).view(dtype.numpy)
    with pytest.raises(MismatchError, match="exactly"):
        check_close(wrong, expected)


def test_sums_in_bf16_stay_inside_their_bound() -> None:
    """Rounded after every step, in an order of their own; something else is outside."""
    op, sizes = operation(MATMUL), (3, 4, 30)
    a, b = test_inputs.for_operation("random", op, sizes, [BF16] * 3)
    expected = reference(op, sizes, [a, b], BF16)
    total = np.zeros((3, 4), BF16.numpy)
    for k in reversed(range(30)):
        total = total + a[:, k : k + 1] * b[k : k + 1, :]
    check_close(total, expected)
    beyond = np.float32(2 * 30 * 2.0**-7 * 30)
    with pytest.raises(MismatchError):
        check_close((total.astype(np.float32) + beyond).astype(BF16.numpy), expected)
