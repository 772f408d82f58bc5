"""Conversions between element types, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.conversion import convert, convert_number
from morello.ir.dtypes import BF16, DTYPES, F32, S8, S32, U8, DType
from morello.ir.numeric import Array

EVERY_BF16 = np.arange(1 << 16, dtype=np.uint16).view(BF16.numpy)


def bits(values: Array) -> Array:
    return np.asarray(values.view(np.uint16))


def test_bf16_is_the_upper_half_of_f32() -> None:
    """All 65,536 of them, both ways; NaN stays NaN."""
    wide = convert(EVERY_BF16, F32)
    numbers = ~np.isnan(wide)
    expected = bits(EVERY_BF16).astype(np.uint32) << 16
    np.testing.assert_array_equal(wide.view(np.uint32)[numbers], expected[numbers])
    back = convert(wide, BF16)
    np.testing.assert_array_equal(bits(back)[numbers], bits(EVERY_BF16)[numbers])
    assert np.isnan(back[~numbers]).all()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_rounded_once_to_the_nearest_bf16(value: float) -> None:
    """Of its neighbours, none is nearer; of two as near, the even one. Also of float64."""
    found = convert(np.array([value]), BF16)
    if np.isinf(found[0]):
        assert abs(value) >= (2 - 2.0**-8) * 2.0**127
        return
    place = int(bits(found)[0])
    for neighbour in (place - 1, place + 1):
        other = EVERY_BF16[neighbour % (1 << 16)]
        if not np.isfinite(other):
            continue
        off = abs(Fraction(float(found[0])) - Fraction(value))
        others = abs(Fraction(float(other)) - Fraction(value))
        assert off < others or (off == others and place % 2 == 0) or float(other) == value == 0


def test_what_is_just_beyond_a_tie_is_not_rounded_as_one() -> None:
    """By way of f32 it would be a tie."""
    values = np.array([1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-8, 1 + 2.0**-8 - 2.0**-40])
    assert convert(values, BF16).astype(np.float64).tolist() == [1 + 2.0**-7, 1.0, 1.0]
    whole = np.array([2**24 + 2**16 + 1, 2**24 + 2**16, -(2**31)], np.int32)
    assert convert(whole, BF16).astype(np.float64).tolist() == [2**24 + 2**17, 2**24, -(2**31)]


@pytest.mark.parametrize("dtype", [U8, S8, S32], ids=str)
def test_floats_become_integers_truncated_and_saturating(dtype: DType) -> None:
    limits = np.iinfo(dtype.numpy)
    given = np.array([0.9, -0.9, 2.7, np.nan, np.inf, -np.inf, 1e30, -1e30], np.float32)
    expected = [0, 0, 2, 0, limits.max, limits.min, limits.max, limits.min]
    assert convert(given, dtype).tolist() == expected
    assert convert(convert(given, BF16), dtype).tolist() == expected


@given(st.integers(-(2**31), 2**31 - 1))
def test_integers_wrap_around(value: int) -> None:
    assert convert(np.array([value], np.int32), U8).tolist() == [value % 256]
    assert convert(np.array([value], np.int32), S8).tolist() == [(value + 128) % 256 - 128]
    for dtype in (U8, S8, S32):
        assert convert_number(value, dtype) == convert(np.array([value]), dtype)[0]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_nothing_is_copied_that_need_not_be(dtype: DType) -> None:
    values = np.zeros(3, dtype.numpy)
    assert convert(values, dtype) is values
