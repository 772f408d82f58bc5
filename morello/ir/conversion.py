"""Conversions between element types, as the language defines them.

To a floating type: rounded once, to nearest, ties to even; NaN stays NaN. From floating to integer:
truncated, saturating at the ends of the range, and 0 for what is not a number. From integer to
integer: modulo 2^bits.
"""

from __future__ import annotations

import math

import numpy as np

from morello.ir.dtypes import FLOATING_KINDS, DType
from morello.ir.numeric import Array


def convert(values: Array, dtype: DType) -> Array:
    """The values as elements of ``dtype``, in the same shape; not a copy where none is needed."""
    if values.dtype == dtype.numpy:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.floating and dtype.bytes < 4 and values.dtype != np.float32:
            return _to_odd(values).astype(dtype.numpy)
        if not dtype.floating and values.dtype.kind in FLOATING_KINDS:
            return _saturate(values, dtype)
        return values.astype(dtype.numpy, copy=False)


def _to_odd(values: Array) -> Array:
    """The values in float32, rounded so that rounding them again gives what rounding once would.

    A conversion to a 16-bit type goes by way of float32. Between two neighbours the odd one is
    taken (S. Boldo, G. Melquiond, "When double rounding is odd"), which is no tie for fewer bits.
    """
    wide = np.asarray(values, dtype=np.float64)
    near = wide.astype(np.float32)
    beyond = np.abs(near) > np.abs(wide)
    toward_zero = np.where(beyond, np.nextafter(near, np.float32(0)), near)
    bits: Array = toward_zero.view(np.uint32) | (toward_zero != wide)
    return bits.view(np.float32)


def _saturate(values: Array, dtype: DType) -> Array:
    limits = np.iinfo(dtype.numpy)
    wide = np.asarray(values, dtype=np.float64)
    low, high = wide <= limits.min, wide >= limits.max
    inside = np.where(low | high | np.isnan(wide), 0.0, wide)
    result = inside.astype(dtype.numpy)
    result[low], result[high] = limits.min, limits.max
    return result


def holds(dtype: DType, value: float) -> bool:
    """Whether a type has a number: rounded, but finite if it is; an integer exactly."""
    if dtype.floating:
        return not math.isfinite(value) or math.isfinite(convert_number(value, dtype))
    limits = np.iinfo(dtype.numpy)
    return math.isfinite(value) and value == int(value) and limits.min <= value <= limits.max


def convert_number(value: float, dtype: DType) -> int | float:
    """A constant or a scalar as an element of ``dtype``: a Python number."""
    if isinstance(value, int) and not dtype.floating:
        least = int(np.iinfo(dtype.numpy).min)
        return (value - least) % (1 << 8 * dtype.bytes) + least
    converted = convert(np.full(1, value, dtype=np.float64), dtype)[0]
    return float(converted) if dtype.floating else int(converted)
