"""How far off the results of one element type are rounded."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from morello.ir.conversion import convert
from morello.ir.dtypes import DType, NumpyType, floating_limits
from morello.ir.numeric import Array
from morello.reference.bounded import EXACT, NEGATIVE, NONE, POSITIVE, Bounded

SLACK = 1 + 2.0**-20
"""For the float64 in which values and bounds are computed; it rounds by 2^-29 of what f32 does."""

CORRECT = 0.5
"""Error of a result that is rounded to nearest, in units in the last place."""


class Rounding(Struct, frozen=True):
    """Rounding to a type.

    Attributes:
        dtype: The type.
        unit: Relative error of one rounding to nearest, and a little; 0 for integers.
        least: Absolute error of one that underflows; 0 for integers.
        lost: What is smaller may count as 0; 0 unless subnormal numbers do.
        largest: The largest finite number.
    """

    dtype: DType
    unit: float
    least: float
    lost: float
    largest: float

    @property
    def wide(self) -> NumpyType:
        """What numpy computes in: float64 where the type is floating."""
        return np.dtype(np.float64) if self.dtype.floating else self.dtype.numpy

    @staticmethod
    def to(dtype: DType, *, flushes: bool) -> Rounding:
        """To nearest. ``flushes``: subnormal numbers may count as 0."""
        if not dtype.floating:
            return Rounding(dtype, 0.0, 0.0, 0.0, np.inf)
        limits = floating_limits(dtype)
        lost = limits.smallest_normal if flushes else 0.0
        return Rounding(
            dtype, limits.eps / 2 * SLACK, limits.smallest_subnormal / 2, lost, limits.max
        )

    def error(self, values: Array, error: Array, ulps: float) -> Array:
        """The error of results, by so many units in the last place, that are off already.

        What is no number keeps the error that it has.
        """
        full = error + 2 * ulps * (self.unit * (np.abs(values) + error) + self.least)
        if ulps == CORRECT:  # of what is not off yet it is known
            own = np.abs(convert(values, self.dtype).astype(np.float64) - values) * SLACK
            full = np.where((error == 0) & np.isfinite(own), own, full)
        return full if np.isfinite(full).all() else np.where(np.isfinite(values), full, error)

    def overflows(self, values: Array, error: Array) -> Array:
        """Infinities that results with this error may be beyond the range."""
        if (np.abs(values) + error <= self.largest).all():
            return NONE
        finite, unknown = np.isfinite(values), np.isinf(error)
        above = finite & (values + error > self.largest) | unknown
        below = finite & (values - error < -self.largest) | unknown
        return np.where(above, POSITIVE, NONE) | np.where(below, NEGATIVE, NONE)

    def wrapped(self, values: Array, error: Array) -> Array:
        """Errors of integers: any integer may be what may be off by half of them."""
        if error is EXACT or values.dtype.kind not in "iu":
            return error
        every = 2.0 ** (8 * values.dtype.itemsize)
        return np.where(error < every / 2, error, every)

    def flushed(self, value: Bounded) -> Bounded:
        """The value, or 0 where it may count as that."""
        if not self.lost:
            return value
        size = value.magnitude()
        lost = (size > value.error) & (size - value.error < self.lost)
        if not lost.any():
            return value
        error = np.where(lost, size, value.error)
        return Bounded(value.values, error, value.specials, value.dtype)
