"""Windows over pictures with a frame: sizes that go together, of boxes that have others, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello
from tests.end_to_end.kernels import small_machines, to_run

Array = np.ndarray[Any, np.dtype[Any]]

TEXT = """spec pooled() {{
  input  x: {dtype}[1, {height}, {width}, {channels}]
  output y: {dtype}[1, {height}, {width}, {channels}]
  p = pad2d_nhwc(x, top = 1, bottom = 1, left = 1, right = 1, value = 0)
  y = max_pool2d_nhwc(p, window = 3, stride = 1)
}}
"""


def _pooled(x: Array) -> Array:
    framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(framed, (3, 3), axis=(1, 2))
    return np.asarray(windows.max(axis=(-2, -1)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("dtype", ["f32", "s8"])
@pytest.mark.parametrize("shape", [(5, 5, 7), (1, 3, 1)])
def test_maxima_of_windows_over_a_frame(
    shape: tuple[int, int, int], dtype: str, target: str
) -> None:
    """A picture keeps its size, and every element is the largest of its neighbours."""
    height, width, channels = shape
    text = TEXT.format(dtype=dtype, height=height, width=width, channels=channels)
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    elements = np.arange(height * width * channels) * 37 % 101 - 50
    x = elements.reshape(1, *shape).astype(kernel.goal.outputs[0].dtype.numpy)
    np.testing.assert_array_equal(kernel(x), _pooled(x))


BEFORE = {
    "frame": "p[c, i + 1, j + 1] = x[c, i, j] elsewhere 0",
    "frame around what is computed": "p[c, i + 1, j + 1] = max(x[c, i, j], 0) elsewhere 0",
    "elementwise": "p[c, i, j] = max(z[c, i, j], 0)",
}
READS = {
    "convolution": ("y[o, h, v] += p[c, h + r, v + s] * w[o, c, r, s]", "3, 5, 4"),
    "stencil": ("y[c, h, v] += p[c, h + a, v + b] * g[a, b]", "2, 5, 4"),
    "depthwise": ("y[c, h, v] += p[c, h + a, v + b] * f[c, a, b]", "2, 5, 4"),
}


@pytest.mark.parametrize("target", ["x86.avx2", "c.scalar"])
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("before", BEFORE)
def test_what_windows_read_for_each_filter_is_kept(before: str, reads: str, target: str) -> None:
    """Of a stencil, and of a depthwise convolution, each window has one result: one graph."""
    statement, shape = READS[reads]
    given = "z: f32[2, 7, 6]" if before == "elementwise" else "x: f32[2, 5, 4]"
    more = {
        "convolution": "input w: f32[3, 2, 3, 3]",
        "stencil": "input g: f32[3, 3]",
        "depthwise": "input f: f32[2, 3, 3]",
    }
    text = f"""spec s() {{ input {given} {more.get(reads, "")} output y: f32[{shape}]
      local p: f32[2, 7, 6]
      {BEFORE[before]}
      {statement} }}"""
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    assert len(kernel.goal.computations) == (2 if reads == "convolution" else 1)
    assert kernel.verify().elements > 0
