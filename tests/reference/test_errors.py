"""Running error analysis: whatever a program may round to lies inside, and not much else."""

from __future__ import annotations

import math
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morello.ir.conversion import convert
from morello.ir.dtypes import BF16, DTYPES, F32, S8, S32, U8, DType
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.language import ast
from morello.language.evaluate import OPERATIONS
from morello.reference import inputs as test_inputs
from morello.reference.bounded import NAN, NEGATIVE, NONE, POSITIVE, Bounded, bounded
from morello.reference.compare import MismatchError, check_close, reference
from morello.reference.errors import ULPS, Errors
from morello.reference.meaning import execute
from morello.reference.views import extents
from tests.reference.declare import ADD, COPY, SPAN, X, Z, binary, call, element, number
from tests.reference.declare import operation as at_rank
from tests.reference.declare import operator as declare
from tests.reference.simulate import Hardware, random_expression, uncertain

SIZE = 100
SEEDS = st.integers(0, 1 << 32)
EVERY_FLOAT = tuple(test_inputs.KINDS)

A, B, C, V = element("A[m, k]"), element("B[k, n]"), element("C[m, k]"), element("V[m]")
OFF = binary("-", A, V)
REDUCTIONS = {
    "product": declare("p", ("A[m, k]", "B[k, n]"), "Y[m, n]", binary("*", A, B), "+="),
    "product of three": declare(
        "p3",
        ("A[m, k]", "B[k, n]", "C[m, k]"),
        "Y[m, n]",
        binary("*", binary("*", A, B), C),
        "+=",
    ),
    "multiple": declare(
        "pc",
        ("A[m, k]", "B[k, n]"),
        "Y[m, n]",
        binary("*", binary("*", A, number(0.3)), B),
        "+=",
    ),
    "multiples": declare("pv", ("V[m]", "A[m, k]"), "Y[m]", binary("*", V, A), "+="),
    "sum": declare("s", ("A[m, k]",), "Y[m]", A, "+="),
    "exponentials": declare("e", ("A[m, k]", "V[m]"), "Y[m]", call("exp", OFF), "+="),
    "squares": declare("q", ("A[m, k]", "V[m]"), "Y[m]", binary("*", OFF, OFF), "+="),
    "largest": declare("l", ("A[m, k]",), "Y[m]", A, "max="),
    "largest difference": declare("d", ("A[m, k]", "C[m, k]"), "Y[m]", binary("-", A, C), "max="),
    "least": declare("m", ("A[m, k]",), "Y[m]", A, "min="),
}


def elementwise(value: object, *inputs: str) -> Operation:
    return at_rank(declare("f", inputs or ("X[i...]",), "Y[i...]", value), 1)  # type: ignore[arg-type]


def test_every_operation_has_a_rule() -> None:
    assert OPERATIONS.keys() == Errors(F32).operations.keys()


def test_a_function_that_falls_has_errors_of_both_sides() -> None:
    """What erfc gives of an operand that is off by 0.25 covers both ends."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, SIZE).astype(np.float32)
    found = Errors(F32).operations["erfc"](Bounded(x, np.full(SIZE, 0.25), NONE, F32))
    for end in (x - 0.25, x + 0.25):
        exact = np.array([math.erfc(float(value)) for value in end])
        assert (np.abs(exact - found.values) <= found.error).all()


@settings(deadline=None, max_examples=200)
@given(seed=SEEDS, fused=st.booleans(), flushes=st.booleans(), off=st.booleans())
def test_no_program_is_refused(seed: int, fused: bool, flushes: bool, off: bool) -> None:
    """Any expression, of operands that are exact or off already, on any inputs."""
    rng = np.random.default_rng(seed)
    value = random_expression(rng, int(rng.integers(1, 5)))
    op = elementwise(value, "X[i...]", "Z[i...]", "W[i...]")
    arrays = [test_inputs.make(str(rng.choice(EVERY_FLOAT)), (SIZE,), F32, rng) for _ in range(3)]
    known = [uncertain(rng, a, F32) if off and rng.random() < 0.7 else a for a in arrays]
    expected = reference(op, (SIZE,), known, F32, flushes=flushes)
    for subnormals in {False, flushes}:
        program = Hardware(rng, fused=fused, flushes=subnormals)
        check_close(program.run(op, (SIZE,), arrays), expected)


@settings(deadline=None, max_examples=150)
@given(
    seed=SEEDS,
    name=st.sampled_from(sorted(REDUCTIONS)),
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    fused=st.booleans(),
    flushes=st.booleans(),
    accumulating=st.booleans(),
    off=st.booleans(),
)
def test_no_reduction_is_refused(
    seed: int,
    name: str,
    sizes: tuple[int, int, int],
    fused: bool,
    flushes: bool,
    accumulating: bool,
    off: bool,
) -> None:
    """In any order, of terms that are exact or off already."""
    rng = np.random.default_rng(seed)
    op = at_rank(REDUCTIONS[name], accumulating=accumulating)
    own = sizes[: len(op.dims)]
    shapes = [extents(op, own, p) for p in range(len(op.names))]
    arrays = [test_inputs.make(str(rng.choice(EVERY_FLOAT)), s, F32, rng) for s in shapes]
    known = [uncertain(rng, a, F32) if off and rng.random() < 0.7 else a for a in arrays]
    *inputs, old = known
    expected = reference(op, own, inputs, F32, old if accumulating else None, flushes=flushes)
    for subnormals in {False, flushes}:
        program = Hardware(rng, fused=fused, flushes=subnormals)
        actual = program.run(op, own, arrays[:-1], arrays[-1] if accumulating else None)
        check_close(actual, expected)


@settings(deadline=None, max_examples=150)
@given(seed=SEEDS, output=st.sampled_from([S32, S8, U8, F32, BF16]))
def test_no_conversion_and_no_integer_is_refused(seed: int, output: DType) -> None:
    """Operands of all types that are off: what is converted, cut off and wrapped around of them."""
    rng = np.random.default_rng(seed)
    value = random_expression(rng, int(rng.integers(0, 4)), floating=False)
    op = elementwise(value, "X[i...]", "Z[i...]", "W[i...]")
    dtypes = [DTYPES[str(rng.choice(sorted(DTYPES)))] for _ in range(3)]
    arrays = [test_inputs.make(str(rng.choice(EVERY_FLOAT)), (SIZE,), d, rng) for d in dtypes]
    arrays = [
        convert(rng.uniform(-300, 300, SIZE), d) if d.floating and rng.random() < 0.3 else a
        for a, d in zip(arrays, dtypes, strict=True)
    ]
    known = [uncertain(rng, a, d) for a, d in zip(arrays, dtypes, strict=True)]
    with np.errstate(all="ignore"):
        actual = execute(op, (SIZE,), arrays, output)
        check_close(actual, reference(op, (SIZE,), known, output))


# --------------------------------------------------------------------------- and not much else


def neighbours(values: Array, steps: int = 1) -> list[Array]:
    """The numbers so many steps above and below."""
    found = [values, values]
    for _ in range(steps):
        found = [np.nextafter(found[0], np.float32(np.inf)), np.nextafter(found[1], -np.inf)]
    return [f.astype(np.float32) for f in found]


def accepted(actual: Array, expected: Bounded) -> list[bool]:
    """Whether each element is, alone."""
    found = []
    for i in np.ndindex(actual.shape):
        mixed = expected.rounded().copy()
        mixed[i] = actual[i]
        try:
            check_close(mixed, expected)
        except MismatchError:
            found.append(False)
        else:
            found.append(True)
    return found


def refused(wrong: Array, expected: Bounded) -> bool:
    """Whether every single element is."""
    return not any(accepted(wrong, expected))


@pytest.mark.parametrize("name", ["+", "-", "*", "/"])
def test_arithmetic_on_exact_operands_has_one_result(name: str) -> None:
    """Those next to it are refused, unless the exact one lies half way."""
    op = elementwise(binary(name, X, Z), "X[i...]", "Z[i...]")
    x, z = test_inputs.make_all("random", [((SIZE,), F32)] * 2)
    expected = reference(op, (SIZE,), [x, z], F32)
    right = OPERATIONS[name](x, z)
    check_close(right, expected)
    for wrong in neighbours(right):
        tie = np.abs(wrong - expected.values) == np.abs(right - expected.values)
        assert tie.tolist() == accepted(wrong, expected)


@pytest.mark.parametrize("name", sorted(ULPS))
def test_functions_are_held_to_their_units_in_the_last_place(name: str) -> None:
    op = elementwise(call(name, X))
    x = np.random.default_rng(0).uniform(0.1, 1.9, SIZE).astype(np.float32)
    expected = reference(op, (SIZE,), [x], F32)
    check_close(OPERATIONS[name](x.astype(np.float64)).astype(np.float32), expected)
    beyond = 2 * int(ULPS[name]) + 2  # units may double within what the relative bound allows
    assert all(refused(wrong, expected) for wrong in neighbours(expected.rounded(), beyond))


def test_an_exponential_that_is_off_by_a_hundred_thousandth_is_refused() -> None:
    op = elementwise(call("exp", X))
    x = np.linspace(-80, 80, SIZE).astype(np.float32)
    wrong = (np.exp(x.astype(np.float64)) * (1 + 1e-5)).astype(np.float32)
    assert refused(wrong, reference(op, (SIZE,), [x], F32))


@pytest.mark.parametrize("kind", ["random", "negative", "small"])
def test_a_sum_without_its_last_term_is_refused(kind: str) -> None:
    """Of a thousand, where that term is not much smaller than the others."""
    x = test_inputs.make(kind, (5, 1000), F32, np.random.default_rng(1))
    x[:, -1] = 0.5
    expected = reference(at_rank(REDUCTIONS["sum"]), (5, 1000), [x], F32)
    check_close(x.sum(axis=1, dtype=np.float32), expected)
    assert refused(x[:, :-1].sum(axis=1, dtype=np.float32), expected)


def test_errors_of_operands_are_carried_on() -> None:
    """A difference of close values is off by all of their errors, and so is what is made of it."""
    x = Bounded(np.array([1.0]), np.array([1e-3]), NONE, F32)
    expected = reference(
        elementwise(call("exp", binary("-", X, Z)), "X[i...]", "Z[i...]"),
        (1,),
        [x, np.ones(1, np.float32)],
        F32,
    )
    for off in (-0.99e-3, 0.99e-3):
        check_close(np.exp(np.array([off])).astype(np.float32), expected)
    for off in (-1.01e-3, 1.01e-3):
        assert refused(np.exp(np.array([off])).astype(np.float32), expected)


def test_an_uncertain_comparison_may_choose_either_and_nothing_else() -> None:
    choice = ast.Conditional(number(10), binary("<", X, number(1)), number(20), span=SPAN)
    x = Bounded(np.array([1.0, 0.9, 1.1]), np.array([0.05] * 3), NONE, F32)
    expected = reference(elementwise(choice), (3,), [x], F32)
    for first in (10, 20):
        check_close(np.array([first, 10, 20], np.float32), expected)
    for wrong in ([10, 20, 20], [20, 10, 10], [31, 10, 20]):
        with pytest.raises(MismatchError):
            check_close(np.array(wrong, np.float32), expected)


@pytest.mark.parametrize(
    ("name", "argument", "allowed"),
    [("round", 2.51, (2, 3)), ("round", 2.4, (2,)), ("floor", 2.99, (2, 3)), ("floor", 2.5, (2,))],
)
def test_an_uncertain_rounding_may_go_either_way(
    name: str, argument: float, allowed: tuple[int, ...]
) -> None:
    """As far as the one is from the other, a bound to both sides lets it go; but no farther."""
    x = Bounded(np.full(1, argument), np.full(1, 0.02), NONE, F32)
    expected = reference(elementwise(call(name, X)), (1,), [x], F32)
    center, reach = int(expected.values[0]), len(allowed) - 1
    assert center in allowed
    for value in range(6):
        actual = np.array([value], np.float32)
        assert accepted(actual, expected) == [abs(value - center) <= reach]
    assert {center - reach, center, center + reach} >= set(allowed)


def test_an_uncertain_conversion_to_integers_may_go_either_way() -> None:
    x = Bounded(np.array([3.02, 2.5, 200.0]), np.array([0.05, 0.05, 90.0]), NONE, F32)
    expected = reference(at_rank(COPY, 1), (3,), [x], S8)
    for right in ([2, 2, 127], [3, 2, 110]):
        check_close(np.array(right, np.int8), expected)
    for wrong in ([5, 2, 127], [2, 3, 127], [2, 2, 109]):
        with pytest.raises(MismatchError):
            check_close(np.array(wrong, np.int8), expected)


def test_integers_are_off_modulo_their_range() -> None:
    x = Bounded(np.array([127, 5], np.int8), np.array([1.0, 0.0]), NONE, S8)
    expected = reference(at_rank(ADD, 1), (2,), [x, np.zeros(2, np.int8)], S8)
    for right in (126, 127, -128):
        check_close(np.array([right, 5], np.int8), expected)
    for wrong in ([125, 5], [-127, 5], [127, 4]):
        with pytest.raises(MismatchError):
            check_close(np.array(wrong, np.int8), expected)


# --------------------------------------------------------------------------- infinities, NaN


def test_only_the_infinity_that_may_arise_is_accepted() -> None:
    expected = reference(elementwise(call("exp", X)), (1,), [np.array([100], np.float32)], F32)
    check_close(np.array([np.inf], np.float32), expected)
    for wrong in (-np.inf, np.nan, 3e38):
        assert refused(np.array([wrong], np.float32), expected)


def test_what_overflows_on_the_way_may_be_a_number_again() -> None:
    """1 / (1 + exp(-x)) of large negative numbers is 0, or nearly, but never NaN."""
    exponential = call("exp", ast.Unary("-", X, span=SPAN))
    sigmoid = binary("/", number(1), binary("+", number(1), exponential))
    x = np.array([-200, -89, -1e38, 3], np.float32)
    expected = reference(elementwise(sigmoid), (4,), [x], F32)
    right = np.array([0, 0, 0, 1 / (1 + np.exp(-3))], np.float32)
    check_close(right, expected)
    for place in range(4):
        wrong = right.copy()
        wrong[place] = np.nan
        with pytest.raises(MismatchError):
            check_close(wrong, expected)
    assert refused(np.array([1e-30, 1e-30, 1e-30, 0.9], np.float32), expected)


def test_a_quotient_by_what_may_be_zero_may_be_anything() -> None:
    z = Bounded(np.array([1e-8, 1.0]), np.array([2e-8, 2e-8]), NONE, F32)
    op = elementwise(binary("/", X, Z), "X[i...]", "Z[i...]")
    expected = reference(op, (2,), [np.ones(2, np.float32), z], F32)
    for right in (1e30, -1e30, np.inf, -np.inf):
        check_close(np.array([right, 1], np.float32), expected)
    for wrong in (np.nan, 1.1, np.inf):
        assert refused(np.array([1, wrong], np.float32)[1:], _part(expected, 1))


def _part(whole: Bounded, start: int) -> Bounded:
    return whole.map(lambda values: values[start:])


def test_nan_that_is_certain_stays_certain() -> None:
    """Beside a number that may be infinite, too."""
    x = Bounded(np.array([np.nan, 1.0]), np.zeros(2), np.array([NONE, POSITIVE], np.uint8), F32)
    z = Bounded(np.array([1.0, np.nan]), np.zeros(2), np.array([NEGATIVE, NONE], np.uint8), F32)
    for name in "+-*/":
        op = elementwise(binary(name, X, Z), "X[i...]", "Z[i...]")
        expected = reference(op, (2,), [x, z], F32)
        check_close(np.full(2, np.nan, np.float32), expected)
        assert refused(np.array([1, np.inf], np.float32), expected)


def test_infinities_of_both_signs_make_a_sum_nan() -> None:
    specials = np.array([[POSITIVE, NONE], [POSITIVE, NEGATIVE]], np.uint8)
    x = Bounded(np.ones((2, 2)), np.zeros((2, 2)), specials, F32)
    total = reference(at_rank(REDUCTIONS["sum"]), (2, 2), [x], F32)
    assert [POSITIVE, POSITIVE | NEGATIVE | NAN] == total.specials.tolist()


def test_infinite_multiples_of_both_signs_make_a_sum_nan() -> None:
    """Though an infinity times the sum of what it is multiplied by would be none."""
    v = np.array([np.inf, -np.inf, np.inf, np.inf, 2, np.inf, np.nan], np.float32)
    a = [[-4, 3], [4, 3], [-4, -3], [0, 3], [3, -np.inf], [3, -np.inf], [1, 2]]
    multiples = at_rank(REDUCTIONS["multiples"])
    expected = reference(multiples, (7, 2), [v, np.array(a, np.float32)], F32)
    right = [np.nan, -np.inf, -np.inf, np.nan, -np.inf, np.nan, np.nan]
    np.testing.assert_array_equal(expected.rounded(), right)


def test_what_is_written_once_is_exact_still() -> None:
    """A copy, and the larger of two inputs, know that of themselves, and the signs of zeros."""
    x = test_inputs.make("zeros", (SIZE,), F32, np.random.default_rng(0))
    for value in (X, call("max", X, number(0)), ast.Unary("-", X, span=SPAN)):
        assert reference(elementwise(value), (SIZE,), [x], F32).exact


def test_bounds_are_of_the_output_or_broadcast_to_it() -> None:
    x = bounded(np.ones((3, 4), np.float32), F32)
    for value in (X, binary("/", X, number(3)), number(2)):
        op = at_rank(declare("f", ("X[i...]",), "Y[i...]", value), 2)
        found = reference(op, (3, 4), [x], F32)
        assert (3, 4) == found.shape
        assert (3, 4) == np.broadcast_shapes(found.error.shape, (3, 4))
        assert prod(found.shape) == found.size
