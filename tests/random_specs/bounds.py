"""Floating tensors of the oracle: for each element, where a right program's value may lie.

``low`` and ``high`` are float64 ends of an interval, and ``nan`` says where a NaN may be instead.
An element that must be a NaN has an empty interval, from inf to -inf. An end that is infinite is a
value that may have left the range of the type.

Each operation computes the ends in float64 and widens them by the error of f32: u |x| for one
rounding, gamma_n = n u / (1 - n u) times the sum of magnitudes for a sum of n terms, in any order
and with or without fused multiply-add (N. Higham, "Accuracy and Stability of Numerical
Algorithms", 2002, chapters 2 to 4). The error of float64 is a part of SLACK.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Self

import numpy as np

from .formats import F32, FORMATS, INTEGERS, Array, rounded

SLACK = 1.01
"""Bounds are so much wider than the analysis says."""


@dataclass(frozen=True, slots=True)
class Floats:
    """Elements of a tensor of a floating type, as intervals."""

    low: Array
    high: Array
    nan: Array

    @classmethod
    def exactly(cls, values: Array) -> Self:
        """Known numbers, infinities and NaN."""
        wide = np.asarray(values).astype(np.float64)
        nan = np.isnan(wide)
        return cls(np.where(nan, np.inf, wide), np.where(nan, -np.inf, wide), nan)

    @classmethod
    def number(cls, value: float) -> Self:
        """A scalar of a spec: itself, or rounded to f32."""
        wide = np.asarray(float(value))
        near = rounded(wide, F32)
        return cls(np.minimum(wide, near), np.maximum(wide, near), np.zeros((), bool))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        sizes: tuple[int, ...] = self.low.shape
        return sizes

    @property
    def must(self) -> Array:
        """Where nothing but NaN is right."""
        return self.low > self.high

    def moved(self, move: Callable[[Array], Array]) -> Floats:
        """The elements in other places."""
        return Floats(move(self.low), move(self.high), move(self.nan))

    def widened(self, units: float = 1.0, absolute: float = 0.0) -> Floats:
        """With the error of so many roundings, and an absolute one besides."""
        with np.errstate(all="ignore"):
            part = units * F32.unit * SLACK
            off = max(units, 1.0) * F32.tiny + absolute
            low = np.where(np.isinf(self.low), self.low, self.low - np.abs(self.low) * part - off)
            high = np.where(
                np.isinf(self.high), self.high, self.high + np.abs(self.high) * part + off
            )
        return Floats(low, high, self.nan)._ranged()

    def _ranged(self) -> Floats:
        """What is beyond the largest number may be infinite, and is where it is far beyond."""
        far = F32.largest**2 * 4
        with np.errstate(all="ignore"):
            low = np.where(self.low < -F32.largest, -np.inf, self.low)
            low = np.where(low > far, np.inf, low)
            high = np.where(self.high > F32.largest, np.inf, self.high)
            high = np.where(high < -far, -np.inf, high)
        return Floats(low, high, self.nan)

    # ----------------------------------------------------------------------- elementwise

    def added(self, other: Floats) -> Floats:
        """The sum, not yet rounded."""
        return _corners(np.add, self, other)

    def negated(self) -> Floats:
        """Minus the elements."""
        return Floats(-self.high, -self.low, self.nan)

    def times(self, other: Floats) -> Floats:
        """The product, not yet rounded."""
        zero_left, zero_right = _may_be_zero(self), _may_be_zero(other)
        with np.errstate(all="ignore"):
            undefined = (zero_left & _may_be_infinite(other)) | (
                zero_right & _may_be_infinite(self)
            )
        found = _corners(np.multiply, self, other)
        # Between infinite ends there are numbers, of which 0 makes 0.
        zero = (zero_left & _may_be_finite(other)) | (zero_right & _may_be_finite(self))
        low = np.where(zero, np.minimum(found.low, 0), found.low)
        high = np.where(zero, np.maximum(found.high, 0), found.high)
        return Floats(low, high, found.nan | (undefined & ~found.must))

    def over(self, other: Floats) -> Floats:
        """The quotient, not yet rounded; anything that is no number where 0 may divide."""
        zero = _may_be_zero(other)
        found = _corners(np.divide, self, other)
        low = np.where(zero & ~found.must, -np.inf, found.low)
        high = np.where(zero & ~found.must, np.inf, found.high)
        undefined = (zero & _may_be_zero(self)) | (_may_be_infinite(self) & _may_be_infinite(other))
        return Floats(low, high, found.nan | undefined)

    def squared(self) -> Floats:
        """The product with itself, not yet rounded."""
        with np.errstate(all="ignore"):
            ends = self.low * self.low, self.high * self.high
        low = np.where((self.low <= 0) & (self.high >= 0), 0.0, np.minimum(*ends))
        return self._valued(low, np.maximum(*ends))

    def absolute(self) -> Floats:
        """Magnitudes."""
        ends = np.abs(self.low), np.abs(self.high)
        low = np.where((self.low <= 0) & (self.high >= 0), 0.0, np.minimum(*ends))
        return self._valued(low, np.maximum(*ends))

    def rising(self, function: Callable[[Array], Array], least: float = -np.inf) -> Floats:
        """A function that only rises, not yet rounded; below ``least`` it is NaN."""
        with np.errstate(all="ignore"):
            low = function(np.maximum(self.low, least))
            high = function(np.maximum(self.high, least))
        below = self.high < least
        found = self._valued(np.where(below, np.inf, low), np.where(below, -np.inf, high))
        return Floats(found.low, found.high, found.nan | (self.low < least))

    def wave(self, function: Callable[[Array], Array]) -> Floats:
        """A sine or cosine: it changes by no more than the angle; of infinity it is NaN."""
        endless = _may_be_infinite(self)
        with np.errstate(all="ignore"):
            middle = np.where(endless, 0.0, function(np.where(endless, 0.0, self.low)))
            off = np.where(endless, 2.0, self.high - self.low)
        found = self._valued(np.fmax(middle - off, -1.0), np.fmin(middle + off, 1.0))
        return Floats(found.low, found.high, self.nan | endless)

    def clipped(self, low: float, high: float) -> Floats:
        """Known to lie between two numbers."""
        return self._valued(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def _valued(self, low: Array, high: Array) -> Floats:
        """Other ends, but where nothing but NaN is right."""
        must = self.must
        return Floats(np.where(must, np.inf, low), np.where(must, -np.inf, high), self.nan)

    def larger(self, other: Floats) -> Floats:
        """The larger one; either of them, or NaN, where one may be NaN."""
        either = self.nan | other.nan
        low = np.where(either, np.minimum(self.low, other.low), np.maximum(self.low, other.low))
        return Floats(low, np.maximum(self.high, other.high), either)

    def smaller(self, other: Floats) -> Floats:
        """The smaller one, alike."""
        return self.negated().larger(other.negated()).negated()

    def positive(self) -> tuple[Array, Array]:
        """Where the elements must be above 0, and where they may be."""
        return (self.low > 0) & ~self.nan, self.high > 0

    def nonzero(self) -> tuple[Array, Array]:
        """Where the elements must differ from 0, as NaN does, and where they may."""
        return ~_may_be_zero(self), (self.low != 0) | (self.high != 0) | self.nan

    def where(self, sure: tuple[Array, Array], other: Floats) -> Floats:
        """These elements where something must be so, the others where it cannot, or both."""
        must, may = sure
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Floats(
            np.where(must, self.low, np.where(may, low, other.low)),
            np.where(must, self.high, np.where(may, high, other.high)),
            np.where(must, self.nan, np.where(may, self.nan | other.nan, other.nan)),
        )

    # ------------------------------------------------------------------------ reductions

    def total(self, axes: Sequence[int], roundings: int = 0) -> Floats:
        """The sum over dimensions, in any order, of terms with so many roundings each."""
        axis = tuple(axes)
        n = prod(self.shape[a] for a in axis) + roundings
        empty = self.must
        low, high = np.where(empty, 0.0, self.low), np.where(empty, 0.0, self.high)
        gamma = n * F32.unit / (1 - n * F32.unit) * SLACK
        with np.errstate(all="ignore"):
            magnitude = np.maximum(np.abs(low), np.abs(high)).sum(axis)
            off = gamma * magnitude + n * F32.tiny
            up = np.maximum(high, 0).sum(axis) * (1 + gamma) > F32.largest
            down = np.maximum(-low, 0).sum(axis) * (1 + gamma) > F32.largest
            least, most = low.sum(axis) - off, high.sum(axis) + off
        finite = np.isfinite(magnitude)
        plus, minus = (low == np.inf).any(axis), (high == -np.inf).any(axis)
        least = np.where(finite, least, np.where(plus & ~down, np.inf, -np.inf))
        most = np.where(finite, most, np.where(minus & ~up, -np.inf, np.inf))
        must = empty.any(axis) | (plus & minus)
        nan = np.asarray(self.nan.any(axis) | (up & down) | must)
        least, most = np.where(down, -np.inf, least), np.where(up, np.inf, most)
        return Floats(np.where(must, np.inf, least), np.where(must, -np.inf, most), nan)._ranged()

    def largest(self, axes: Sequence[int]) -> Floats:
        """The largest element over dimensions.

        Where there is a NaN: that, any element, or -inf, which each partial result begins with.
        """
        axis = tuple(axes)
        nan = np.asarray(self.nan.any(axis))
        low = np.where(nan, -np.inf, self.low.max(axis))
        return Floats(low, self.high.max(axis), nan)

    def smallest(self, axes: Sequence[int]) -> Floats:
        """The smallest element over dimensions, alike."""
        return self.negated().largest(axes).negated()

    # ----------------------------------------------------------------------- conversions

    def converted(self, dtype: str) -> Floats | Integers:
        """As elements of another type: rounded once, or truncated and saturating, NaN being 0."""
        if dtype in FORMATS:
            to = FORMATS[dtype]
            return (
                self if to is F32 else self._valued(rounded(self.low, to), rounded(self.high, to))
            )
        least, most = INTEGERS[dtype]
        ends = [np.where(self.must, 0.0, np.trunc(v)) for v in (self.low, self.high)]
        low, high = (np.clip(v, least, most).astype(np.int64) for v in ends)
        unsure = (low != high) | (self.nan & ~self.must & ((low != 0) | (high != 0)))
        return Integers(np.where(unsure, 0, low), unsure, dtype)

    def wrong(self, found: Array) -> Array:
        """Where a result is none that a right program may give."""
        wide = np.asarray(found).astype(np.float64)
        nan = np.isnan(wide)
        with np.errstate(all="ignore"):
            inside = (self.low <= wide) & (wide <= self.high)
        result: Array = np.where(nan, ~self.nan, ~inside)
        return result

    def decided(self) -> Array:
        """Where the bounds say something: to a hundredth of the value, or a special value."""
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(self.low), np.abs(self.high))
            narrow = self.high - self.low <= np.maximum(0.01 * size, 1e-3)
        result: Array = self.must | (~self.nan & (narrow | (self.low == self.high)))
        return result

    def text(self, place: tuple[int, ...]) -> str:
        """What may be at one place."""
        if self.must[place]:
            return "NaN"
        nan = " or NaN" if self.nan[place] else ""
        return f"{float(self.low[place]):.9g} to {float(self.high[place]):.9g}{nan}"


@dataclass(frozen=True, slots=True)
class Integers:
    """Elements of a tensor of an integer type, and where they hang on something inexact."""

    values: Array
    unsure: Array
    dtype: str

    @classmethod
    def exactly(cls, values: Array, dtype: str) -> Self:
        """Known numbers, modulo 2^bits."""
        wide = np.asarray(values).astype(np.int64)
        return cls(_wrapped(wide, dtype), np.zeros(wide.shape, bool), dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the dimensions."""
        sizes: tuple[int, ...] = self.values.shape
        return sizes

    def moved(self, move: Callable[[Array], Array]) -> Integers:
        """The elements in other places."""
        return Integers(move(self.values), move(self.unsure), self.dtype)

    def _binary(self, function: Callable[..., Array], other: Integers) -> Integers:
        values = np.asarray(function(self.values, other.values))
        return Integers(_wrapped(values, self.dtype), self.unsure | other.unsure, self.dtype)

    def added(self, other: Integers) -> Integers:
        """The sum, modulo 2^bits; so are all that follow."""
        return self._binary(np.add, other)

    def times(self, other: Integers) -> Integers:
        """The product."""
        return self._binary(np.multiply, other)

    def larger(self, other: Integers) -> Integers:
        """The larger one."""
        return self._binary(np.maximum, other)

    def smaller(self, other: Integers) -> Integers:
        """The smaller one."""
        return self._binary(np.minimum, other)

    def negated(self) -> Integers:
        """Minus the elements."""
        return Integers(_wrapped(-self.values, self.dtype), self.unsure, self.dtype)

    def absolute(self) -> Integers:
        """Magnitudes."""
        return Integers(_wrapped(np.abs(self.values), self.dtype), self.unsure, self.dtype)

    def squared(self) -> Integers:
        """The product with itself."""
        return self.times(self)

    def widened(self, units: float = 1.0, absolute: float = 0.0) -> Integers:
        """Nothing is rounded."""
        return self

    def positive(self) -> tuple[Array, Array]:
        """Where the elements must be above 0, and where they may be."""
        above = self.values > 0
        return above & ~self.unsure, above | self.unsure

    def nonzero(self) -> tuple[Array, Array]:
        """Where the elements must differ from 0, and where they may."""
        other = self.values != 0
        return other & ~self.unsure, other | self.unsure

    def where(self, sure: tuple[Array, Array], other: Integers) -> Integers:
        """These elements where something must be so, the others where it cannot."""
        must, may = sure
        unsure = np.where(must, self.unsure, np.where(may, True, other.unsure))
        return Integers(np.where(must, self.values, other.values), unsure, self.dtype)

    def total(self, axes: Sequence[int], roundings: int = 0) -> Integers:
        """The sum over dimensions."""
        values = np.asarray(self.values.sum(tuple(axes)))
        return Integers(_wrapped(values, self.dtype), self._any(axes), self.dtype)

    def largest(self, axes: Sequence[int]) -> Integers:
        """The largest element over dimensions."""
        return Integers(self.values.max(tuple(axes)), self._any(axes), self.dtype)

    def smallest(self, axes: Sequence[int]) -> Integers:
        """The smallest element over dimensions."""
        return Integers(self.values.min(tuple(axes)), self._any(axes), self.dtype)

    def _any(self, axes: Sequence[int]) -> Array:
        return np.asarray(self.unsure.any(tuple(axes)))

    def converted(self, dtype: str) -> Floats | Integers:
        """As elements of another type: modulo 2^bits, or rounded once."""
        if dtype not in FORMATS:
            return Integers(_wrapped(self.values, dtype), self.unsure, dtype)
        near = rounded(self.values.astype(np.float64), FORMATS[dtype])
        least, most = INTEGERS[self.dtype]
        low, high = np.where(self.unsure, least, near), np.where(self.unsure, most, near)
        return Floats(low.astype(np.float64), high.astype(np.float64), np.zeros(near.shape, bool))

    def wrong(self, found: Array) -> Array:
        """Where a result is not the right one."""
        result: Array = ~self.unsure & (np.asarray(found).astype(np.int64) != self.values)
        return result

    def decided(self) -> Array:
        """Where the right result is known."""
        return ~self.unsure

    def text(self, place: tuple[int, ...]) -> str:
        """What must be at one place."""
        return str(int(self.values[place]))


Value = Floats | Integers


def _wrapped(values: Array, dtype: str) -> Array:
    least, most = INTEGERS[dtype]
    return np.asarray((values - least) % (most - least + 1) + least)


def _corners(function: Callable[..., Array], left: Floats, right: Floats) -> Floats:
    """The hull of a function at all ends; it rises or falls along each operand."""
    ends = product((left.low, left.high), (right.low, right.high))
    with np.errstate(all="ignore"):
        found = np.array(np.broadcast_arrays(*(function(a, b) for a, b in ends)))
    undefined = np.isnan(found)
    low = np.where(undefined, np.inf, found).min(0)
    high = np.where(undefined, -np.inf, found).max(0)
    must = left.must | right.must
    nan = left.nan | right.nan | undefined.any(0) | must
    return Floats(np.where(must, np.inf, low), np.where(must, -np.inf, high), nan)


def _may_be_zero(value: Floats) -> Array:
    return (value.low <= 0) & (value.high >= 0)


def _may_be_finite(value: Floats) -> Array:
    return np.isfinite(value.low) | np.isfinite(value.high) | (value.low < value.high)


def _may_be_infinite(value: Floats) -> Array:
    return np.isinf(value.low) | np.isinf(value.high)
