"""Compares results with the reference, within a stated bound.

Integers must be equal, and so must what is only moved or converted: a conversion has one right
result. For a floating type with spacing ``eps`` at 1, any other result may be off by

    (L + c) * (eps * M + s)

where L is the number of terms that are summed; c the number of arithmetic operations in the
meaning, and a few for conversions; M the magnitude: the operation executed on absolute values, with
every difference made a sum; and s the smallest positive number (for underflow). Any order of
summation and any use of fused multiply-add stays inside, since each operation in the output's type
rounds off at most eps / 2 of a value that M bounds. What computes in a wider type and rounds at the
end is nearer still. (bf16 has the exponents of f32; its eps is 2^-7, its s is 2^-133.) Where the
meaning has operations that magnitudes do not pass through (quotients, exponentials, conditions), M
is max(|expected|, 1) and c is eight times as large.

Where a kernel says that it flushes subnormal numbers, any operand and any result on the way that
is below n, the smallest normal number, may have counted as 0. The bound is then

    (L + c) * (eps * M + n) + F

where F is what goes with the operands: the operation on absolute values, with a sum in place of
every ``max``, less the same on those that are not below n. A step whose result is flushed is off by
less than n, and rounds nothing. An infinity times an operand that is flushed is NaN.

Infinities and NaN must be in the same places, with two exceptions. Where M is beyond the range of
the type, some orders of summation overflow and others do not: either is accepted. And a ``max`` or
``min`` reduction over a NaN may give anything, since that depends on the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.reference.expressions import operations
from morello.reference.meaning import Meaning
from morello.spec.conversion import Array, convert
from morello.spec.dtypes import FLOATING_KINDS, DType, floating_limits
from morello.spec.magnitudes import bounded_by_magnitudes, magnitude, majorant
from morello.spec.operators import Operation

CONVERSIONS = 4
"""Roundings of operands, scalars, constants and the result."""

OPAQUE_FACTOR = 8
"""How much larger c is where magnitudes are not known."""


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """What a result should be, and how far off it may be.

    All arrays have the output's shape. ``values`` is in the output's dtype; ``exact`` the same
    before rounding, in float64 for floating types; ``tolerance`` a float64 array, 0 for integers.
    ``may_overflow`` marks where infinities and NaN may arise on the way; ``undefined`` where
    anything is right.
    """

    values: Array
    exact: Array
    tolerance: Array
    may_overflow: Array
    undefined: Array


class MismatchError(MorelloError):
    """A result is not what the reference says.

    Attributes:
        index: Where the worst element is.
        actual: Its value.
        expected: What it should be.
        bound: How far off it may be; 0 for integers.
    """

    def __init__(
        self,
        name: str,
        index: tuple[int, ...],
        values: tuple[float, float],
        bound: float,
        count: str,
    ) -> None:
        self.index, (self.actual, self.expected), self.bound = index, values, bound
        super().__init__(
            f"{name}{list(index)} is {self.actual!r}; expected {self.expected!r}, "
            f"off by at most {bound:.3g} ({count})"
        )


def reference(
    operation: Operation,
    sizes: Sequence[int],
    inputs: Sequence[Array],
    dtype: DType,
    old_output: Array | None = None,
    *,
    flushes: bool = False,
) -> Reference:
    """The result of an operation with its bound; arguments as in `meaning.execute`.

    ``flushes``: subnormal numbers may have been taken for 0. The meaning must be one that
    `bounded_by_magnitudes` accepts.
    """
    meaning = Meaning(operation, dtype)
    exact = meaning.compute(sizes, inputs, old_output)
    values = convert(exact, dtype)
    nowhere = np.zeros(values.shape, np.bool_)
    if not dtype.floating:
        return Reference(values, exact, np.zeros(values.shape), nowhere, nowhere)
    limits = floating_limits(dtype)
    size = _magnitude(meaning, sizes, inputs, old_output, exact)
    underflow = limits.smallest_normal if flushes else limits.smallest_subnormal
    tolerance = _rounding_steps(operation, sizes) * (limits.eps * size + underflow)
    may_overflow = size + tolerance > limits.max
    if flushes:
        lost = _flushed(meaning, sizes, inputs, old_output)
        tolerance += np.where(np.isfinite(lost), lost, 0.0)
        may_overflow |= np.isinf(lost)
    reduction = operation.operator.reduction
    undefined = nowhere if reduction in (None, "+") else np.isnan(values)
    return Reference(values, exact, tolerance, may_overflow, undefined)


def check_close(actual: Array, expected: Reference, *, name: str = "output") -> None:
    """Demand that an array is a result within its bound.

    Raises:
        MismatchError: It is not; the worst element is named.
        MorelloError: Its shape or dtype is wrong.
    """
    values = expected.values
    if actual.shape != values.shape or actual.dtype != values.dtype:
        raise MorelloError(
            f"{name} is {actual.dtype} of shape {actual.shape}; "
            f"expected {values.dtype} of shape {values.shape}"
        )
    excess = _excess(actual, expected)
    wrong = int(np.count_nonzero(excess))
    if not wrong:
        return
    index = tuple(int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
    pair = _number(actual[index]), _number(values[index])
    count = f"{wrong} of {actual.size} elements are wrong"
    raise MismatchError(name, index, pair, float(expected.tolerance[index]), count)


def _number(element: Any) -> int | float:
    return float(element) if element.dtype.kind in FLOATING_KINDS else int(element)


def _excess(actual: Array, expected: Reference) -> Array:
    """How far off an element is, in multiples of its bound; 0 where it is right."""
    with np.errstate(all="ignore"):
        off = np.abs(actual.astype(np.float64) - expected.exact.astype(np.float64))
        ratio = off / np.maximum(expected.tolerance, np.finfo(np.float64).tiny)
    if actual.dtype.kind not in FLOATING_KINDS:
        return np.asarray(np.where(actual != expected.values, ratio, 0.0))
    same = (actual == expected.values) | (np.isnan(actual) & np.isnan(expected.values))
    finite = np.isfinite(actual)
    right = expected.undefined | same | (finite & (ratio <= 1)) | (~finite & expected.may_overflow)
    return np.asarray(np.where(right, 0.0, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf)))


def _rounding_steps(operation: Operation, sizes: Sequence[int]) -> int:
    """L + c of the module's text; 0 where elements are only moved or converted."""
    operator = operation.operator
    if operator.reduction is None and not operations(operator.statement.value):
        return 0
    summed = operation.reduced_dims if operator.reduction == "+" else ()
    size = dict(zip(operation.dims, sizes, strict=True))
    terms = prod(size[d] for d in summed) if summed else 0
    steps = operations(operator.statement.value) + CONVERSIONS
    known = bounded_by_magnitudes(operator.statement.value)
    return terms + steps * (1 if known else OPAQUE_FACTOR)


def _magnitude(
    meaning: Meaning,
    sizes: Sequence[int],
    inputs: Sequence[Array],
    old_output: Array | None,
    exact: Array,
) -> Array:
    """M of the module's text, for every element of the output."""
    if not bounded_by_magnitudes(meaning.operation.operator.statement.value):
        return np.maximum(_finite(exact), 1)
    old = None if old_output is None else _finite(old_output)
    absolute = Meaning(_on_magnitudes(meaning.operation), meaning.dtype)
    return absolute.compute(sizes, [_finite(a) for a in inputs], old)


def _flushed(
    meaning: Meaning, sizes: Sequence[int], inputs: Sequence[Array], old_output: Array | None
) -> Array:
    """F of the module's text; infinite where an infinity may become NaN, NaN where one is there."""
    least = floating_limits(meaning.dtype).smallest_normal
    absolute = Meaning(_on_magnitudes(meaning.operation, sums=True), meaning.dtype)

    def result(least: float) -> Array:
        old = None if old_output is None else _absolute(old_output, least)
        return absolute.compute(sizes, [_absolute(a, least) for a in inputs], old)

    full, normal = result(0.0), result(least)
    with np.errstate(invalid="ignore"):
        lost = full - normal
    return np.asarray(np.where(np.isnan(normal) & ~np.isnan(full), np.inf, lost))


def _absolute(values: Array, least: float) -> Array:
    """Absolute values in float64, with 0 for what is less than ``least``."""
    wide = np.abs(values.astype(np.float64))
    return np.asarray(np.where(wide < least, 0.0, wide))


def _finite(values: Array) -> Array:
    """Absolute values in float64, with 0 for what is not finite."""
    wide = np.abs(values.astype(np.float64))
    return np.asarray(np.where(np.isfinite(wide), wide, 0.0))


def _on_magnitudes(operation: Operation, *, sums: bool = False) -> Operation:
    """The operation whose result on absolute values bounds this one's.

    ``sums``: and whose changes bound this one's, with a sum in place of every ``max``.
    """
    statement = operation.operator.statement
    largest, bound = ("+=", majorant) if sums else ("max=", magnitude)
    update = largest if statement.update in ("max=", "min=") else statement.update
    absolute = replace(statement, value=bound(statement.value), update=update)
    scalars = tuple((n, abs(v) if isfinite(v) else 0.0) for n, v in operation.scalars)
    return replace(
        operation, operator=replace(operation.operator, statement=absolute), scalars=scalars
    )
