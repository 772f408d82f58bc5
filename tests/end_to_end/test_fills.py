"""Tensors of one value as outputs, on every target: also where kernels work in a cache only."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from tests.end_to_end.kernels import memo, runnable


@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("dtype", ["f32", "s32", "u8", "s8"])
@pytest.mark.parametrize("shape", [(1,), (16,), (3, 1, 7), (300, 1000)])
def test_a_tensor_of_one_value(shape: tuple[int, ...], dtype: str, target: str) -> None:
    """It is an output like others, of any size."""
    extents = ", ".join(map(str, shape))
    text = f"spec filled() {{ output y: {dtype}[{extents}] y = fill(value = 3) }}"
    kernel = runnable(morello.compile(text, target=target, memo=memo()))
    np.testing.assert_array_equal(kernel(), np.full(shape, 3, dtype=kernel().dtype))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_frame_around_a_large_picture(threads: int) -> None:
    """It is filled where only parts of it fit in a cache."""
    text = f"""spec framed() threads {threads} {{
      input  x: f32[1, 100, 100, 64]
      output y: f32[1, 102, 102, 64]
      y = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = 2)
    }}"""
    kernel = runnable(morello.compile(text, target="x86.scalar", memo=memo()))
    x = np.arange(640_000, dtype=np.float32).reshape(1, 100, 100, 64)
    expected = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=2)
    np.testing.assert_array_equal(kernel(x), expected)


@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("extent", [1, 16, 1003])
def test_a_negative_zero(extent: int, dtype: str, target: str) -> None:
    """It keeps its sign, next to a positive one too."""
    text = f"""spec zeros() {{
      output y: {dtype}[{extent}]
      output z: {dtype}[{extent}]
      y = fill(value = -0.0)
      z = fill(value = 0.0)
    }}"""
    y, z = runnable(morello.compile(text, target=target, memo=memo()))()
    np.testing.assert_array_equal(np.signbit(y), np.full(extent, True))
    np.testing.assert_array_equal(np.signbit(z), np.full(extent, False))
    np.testing.assert_array_equal(y, z)
