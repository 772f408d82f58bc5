"""Values with bounds: what a right program may hold where the exact value is known.

Not here: how the bounds come about (`morello.reference.errors`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from morello.ir.conversion import convert
from morello.ir.dtypes import DType, floating_limits
from morello.ir.numeric import Array

EXACT: Array = np.zeros(())
"""The error of inputs and constants: none. Told by identity from an error that came out as 0."""

POSITIVE, NEGATIVE, NAN = (np.uint8(1 << bit) for bit in range(3))
"""Of a set of special values, in the bits of an integer: infinities of both signs, and NaN."""

CERTAINLY, NOWHERE = np.ones((), np.bool_), np.zeros((), np.bool_)
"""Conditions."""

OUTWARD = 1 + 2.0**-50
"""More than the roundings of a difference in float64."""

ANY = np.uint8(7)

NONE: Array = np.zeros((), np.uint8)
"""The special values that an input may have that it has not. Told by identity as well."""


class Bounded(Struct, frozen=True, eq=False):
    """The values of a tensor, and how far from them a right program may be.

    Attributes:
        values: What the meaning gives without rounding: float64 for floating types, whose
            infinities and NaN are meant; integers in their own type.
        error: float64 array that broadcasts to the shape of ``values``. A finite element of a
            right program is off by at most this; an infinite error lets it be any number.
            Integers are off modulo 2^bits.
        specials: uint8 array that broadcasts to that shape: the special values that an element of
            a right program may be besides.
        dtype: The element type that a program stores the tensor in.
    """

    values: Array
    error: Array
    specials: Array
    dtype: DType

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        shape: tuple[int, ...] = self.values.shape
        return shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.values.size

    @property
    def exact(self) -> bool:
        """Whether this is known to be exact: inputs and constants are, and what only moves them."""
        return self.error is EXACT and self.specials is NONE

    def rounded(self) -> Array:
        """The values in their element type."""
        return convert(self.values, self.dtype)

    def map(self, function: Callable[[Array], Array]) -> Bounded:
        """Something that only moves elements, or takes some, done to values and errors alike."""
        error, specials = (
            p if p.ndim == 0 else function(np.broadcast_to(p, self.values.shape))
            for p in (self.error, self.specials)
        )
        return Bounded(function(self.values), error, specials, self.dtype)

    def magnitude(self) -> Array:
        """Absolute values, in float64."""
        return np.abs(self.values.astype(np.float64, copy=False))

    def interval(self) -> tuple[Array, Array]:
        """Least and largest finite values that an element may have, in float64.

        What is special for certain is its own interval.
        """
        wide = self.values.astype(np.float64, copy=False)
        if self.error is EXACT:
            return wide, wide
        low, high = wide - self.error, wide + self.error
        least, most, anything = -np.inf, np.inf, np.isinf(self.error)
        if self.values.dtype.kind in "iu":
            limits = np.iinfo(self.values.dtype)
            least, most = float(limits.min), float(limits.max)
            anything = (low < least) | (high > most)  # it may have wrapped around
        if not anything.any():
            return low, high
        return np.where(anything, least, low), np.where(anything, most, high)


def mapped(function: Callable[[Array], Array], tensor: Array | Bounded) -> Array | Bounded:
    """See `Bounded.map`; an array is exact."""
    return tensor.map(function) if isinstance(tensor, Bounded) else function(tensor)


def framed(
    tensor: Array | Bounded, margins: Sequence[tuple[int, int]], value: float
) -> Array | Bounded:
    """The tensor with so many more elements at both ends of its dimensions, of this value."""
    if not isinstance(tensor, Bounded):
        return np.pad(tensor, margins, constant_values=value)
    error, specials = (
        p if p.ndim == 0 else np.pad(np.broadcast_to(p, tensor.shape), margins)
        for p in (tensor.error, tensor.specials)
    )
    values = np.pad(tensor.values, margins, constant_values=value)
    return Bounded(values, error, specials, tensor.dtype)


def joined(shape: Sequence[int], parts: Sequence[tuple[tuple[Array, ...], Bounded]]) -> Bounded:
    """The tensor of this shape with these parts: where the elements of each are."""
    dtype = parts[0][1].dtype
    values = np.empty(shape, parts[0][1].values.dtype)
    error, specials = np.zeros(shape), np.zeros(shape, np.uint8)
    for place, part in parts:
        values[place], error[place], specials[place] = part.values, part.error, part.specials
    exact = all(part.exact for _, part in parts)
    return Bounded(values, EXACT if exact else error, NONE if exact else specials, dtype)


def bounded(values: Array, dtype: DType) -> Bounded:
    """Exact values: those of an array, as elements of ``dtype``."""
    wide = np.float64 if dtype.floating else dtype.numpy
    return Bounded(convert(values, dtype).astype(wide, copy=False), EXACT, NONE, dtype)


def converted(tensor: Array | Bounded, dtype: DType) -> Bounded:
    """The tensor as elements of another type. A conversion has one right result for each value.

    So the value is rounded, unlike one that is computed; to its own type, or to one that holds all
    of its values, nothing is done.
    """
    if not isinstance(tensor, Bounded):
        return bounded(tensor, dtype)
    if tensor.exact:
        return bounded(tensor.values, dtype)
    if _holds(dtype, tensor.dtype):
        return Bounded(tensor.values, tensor.error, tensor.specials, dtype)
    values = bounded(tensor.values, dtype).values
    if not (dtype.floating or tensor.dtype.floating) and dtype.bytes <= tensor.dtype.bytes:
        return Bounded(values, tensor.error, NONE, dtype)  # it is modulo 2^bits already
    ends = [bounded(end, dtype).values.astype(np.float64) for end in tensor.interval()]
    if not dtype.floating:  # NaN is 0, and infinities are the ends of the range
        every = 2.0 ** (8 * dtype.bytes)
        error = np.where(tensor.specials != 0, every, spread(values, *ends))
        return Bounded(values, error, NONE, dtype)
    specials = tensor.specials | kinds(ends[0]) | kinds(ends[1])
    finite, largest = np.isfinite(values), floating_limits(dtype).max
    # An end beyond the range is an infinity, which is in `specials` already: numbers reach as far
    # as the largest.
    inside = [np.where(finite, np.clip(end, -largest, largest), end) for end in ends]
    return Bounded(values, spread(values, *inside), specials & ~kinds(values), dtype)


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether every value of the one type is known to be one of the other."""
    if wide == narrow or not (wide.floating and narrow.floating):
        return wide == narrow
    limits, others = floating_limits(wide), floating_limits(narrow)
    return limits.eps <= others.eps and limits.max >= others.max


def kinds(values: Array) -> Array:
    """The special values that there are, each as a set of its own; of numbers the empty one."""
    if np.isfinite(values).all():
        return NONE
    found: Array = (values == np.inf) * POSITIVE | (values == -np.inf) * NEGATIVE
    return found | np.isnan(values) * NAN


def spread(values: Array, low: Array, high: Array) -> Array:
    """How far values are at most from the ends of the interval around them.

    An end that is NaN is none. Where a value is not finite, 0 if the ends are the same value, else
    infinite. In float64 the value and the error give the ends again, or what is beyond them.
    """
    error: Array = np.fmax(high - values, values - low) * OUTWARD
    if np.isfinite(error).all():
        return error
    strangers = [(end != values) & ~np.isnan(end) for end in (low, high)]
    alone = np.where(strangers[0] | strangers[1], np.inf, 0.0)
    return np.where(np.isfinite(values), np.where(np.isnan(error), 0.0, error), alone)


def covering(values: Array, choices: Sequence[tuple[Array, Bounded]], dtype: DType) -> Bounded:
    """Values, each of which is one of several, with the error that covers all that it may be.

    Args:
        values: What is right without any error.
        choices: Where a right program may hold which; broadcast to the shape of ``values``.
        dtype: Element type of all.
    """
    error: Array = np.zeros(values.shape)
    specials: Array = np.zeros(values.shape, np.uint8)
    for possible, choice in choices:
        # A choice that is special for certain has no interval. Its kind is in `specials`.
        numbers = np.isfinite(choice.values) | np.isinf(choice.error)
        ends = (np.where(numbers, end, values) for end in choice.interval())
        error = np.where(possible, np.maximum(error, spread(values, *ends)), error)
        specials |= np.where(possible, choice.specials | kinds(choice.values), NONE)
    return Bounded(values, error, specials & ~kinds(values), dtype)
