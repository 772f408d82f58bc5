"""Tensors of one value as outputs, on every target: also where kernels work in a cache only."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from tests.end_to_end.kernels import memo, small_machines, to_run


@pytest.mark.sample(4)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("dtype", ["f32", "s32", "u8", "s8"])
@pytest.mark.parametrize("shape", [(1,), (16,), (3, 1, 7), (300, 1000)])
def test_a_tensor_of_one_value(shape: tuple[int, ...], dtype: str, target: str) -> None:
    """It is an output like others, of any size."""
    extents = ", ".join(map(str, shape))
    text = f"spec filled() {{ output y: {dtype}[{extents}] y = fill(value = 3) }}"
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines(), memo=memo())
    np.testing.assert_array_equal(kernel(), np.full(shape, 3, dtype=kernel().dtype))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_frame_around_a_large_picture(threads: int) -> None:
    """It is filled where only parts of it fit in a cache."""
    text = f"""spec framed() threads {threads} {{
      input  x: f32[1, 100, 100, 64]
      output y: f32[1, 102, 102, 64]
      y = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = 2)
    }}"""
    kernel = to_run(morello.compile, text, target="x86.scalar", memo=memo())
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
    y, z = to_run(morello.compile, text, target=target, definitions=small_machines(), memo=memo())()
    np.testing.assert_array_equal(np.signbit(y), np.full(extent, True))
    np.testing.assert_array_equal(np.signbit(z), np.full(extent, False))
    np.testing.assert_array_equal(y, z)


FILLED = {
    "row_sum(t)": np.full(5, 69.0),
    "column_mean(t)": np.full(23, 3.0),
    "row_sum(relu(t))": np.full(5, 69.0),
    "row_sum(softmax(t))": np.full(5, 1.0),
    "matmul(t, transpose(t))": np.full((5, 5), 207.0),
    "row_dot(t, t)": np.full(5, 207.0),
    "row_variance(t, row_sum(x))": np.full(5, 400.0),
    "row_sum(add(t, x))": np.full(5, 92.0),
}
"""What is computed of a tensor ``t`` of 5 x 23 threes, with an ``x`` of as many ones."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("call", FILLED)
def test_sums_of_one_value(call: str, target: str) -> None:
    """What is summed over may have no other size than that of the tensor that is filled."""
    expected = FILLED[call].astype(np.float32)
    read = "input x: f32[5, 23]" if "x)" in call else ""
    extents = ", ".join(map(str, expected.shape))
    text = f"spec sums() {{ {read} local t: f32[5, 23] output y: f32[{extents}] "
    kernel = to_run(
        morello.compile,
        f"{text} t = fill(value = 3) y = {call} }}",
        target=target,
        definitions=small_machines(),
    )
    inputs = [np.ones((5, 23), np.float32)] if read else []
    np.testing.assert_allclose(kernel(*inputs), expected, rtol=1e-6)
