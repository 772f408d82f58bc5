"""Sums and means whose errors do not grow with the length as those of one accumulator do."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import morello

from .kernels import Array, small_machines, to_run

TARGETS = ("x86.scalar", "x86.avx2")
CONSTANTS = (1e6, 255.0, 1234.0, 0.1, 3.3, 100000.3, -1234.567)


def _of_rows(call: str, length: int, target: str, more: str = "") -> morello.Kernel:
    """A program of one operator on a row ``x``; its output is as large as the row, or a number."""
    shape = f"1, {length}" if "norm" in call else "1"
    text = f"spec s() {{ input x: f32[1, {length}] {more} output y: f32[{shape}] y = {call} }}"
    return to_run(morello.compile, text, target=target, definitions=small_machines())


@cache
def _layer_norm(target: str, length: int) -> morello.Kernel:
    more = f"input g: f32[{length}] input b: f32[{length}]"
    return _of_rows("layer_norm(x, g, b, epsilon = 0.00001)", length, target, more)


def _normalised(target: str, length: int, constant: float) -> Array:
    kernel = _layer_norm(target, length)
    gain, bias = np.ones(length, np.float32), np.zeros(length, np.float32)
    return np.asarray(kernel(np.full((1, length), constant, np.float32), gain, bias))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [7, 1000, 32768])
def test_a_constant_row_is_normalised_to_0(target: str, length: int) -> None:
    """Whether or not the sum of the row is a float."""
    for constant in CONSTANTS:
        assert (_normalised(target, length, constant) == 0).all()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("length", "right"), [(1000003, 100000.30149012059), (2**24, 1677721.625)])
def test_long_sums(target: str, length: int, right: float) -> None:
    """A million terms, and sixteen: some ulp, where one accumulator is off by parts in 100."""
    kernel = _of_rows("row_sum(x)", length, target)
    (found,) = np.asarray(kernel(np.full((1, length), 0.1, np.float32)))
    assert abs(found / right - 1) <= 5e-6


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [1, 7, 1024, 1025, 8192 * 3 + 5, 200_001])
def test_every_term_counts_once(target: str, length: int) -> None:
    """Integers that floats add exactly, at lengths around those of blocks and of blocks of them."""
    kernel = _of_rows("row_sum(x)", length, target)
    x = (np.arange(length) % 17 - 8).astype(np.float32).reshape(1, length)
    assert float(np.asarray(kernel(x))[0]) == float(x.sum(dtype=np.float64))
