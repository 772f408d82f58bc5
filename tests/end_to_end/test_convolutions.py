"""Convolutions, pooling and padding against loops over the positions of a window, in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import morello
from morello.records import replace

from .kernels import Array, small_inputs, small_machines, to_run

Shape = tuple[int, ...]
Step = int | tuple[int, int]
"""From row to row, and from column to column."""


@dataclass(frozen=True)
class Case:
    """A use of an operator on ``x``, ``y`` and perhaps ``w``, and what it should compute.

    ``innermost``: a tensor and the dimension of it that is fastest in memory, by default the last.
    """

    use: str
    x: Shape
    y: Shape
    expected: Callable[..., Array]
    w: Shape | None = None
    target: str = "x86.scalar"
    dtypes: str = "f32 f32 f32"
    threads: int = 1
    role: str = "weight"
    innermost: tuple[str, int] = ("", 0)

    @property
    def text(self) -> str:
        """The spec."""
        x, w, y = self.dtypes.split()
        lines = [self._declared("input x", x, self.x), self._declared("output y", y, self.y)]
        lines.append(f"y = {self.use}")
        if self.w is not None:
            lines.insert(1, self._declared(f"{self.role} w", w, self.w))
        return "\n".join([f"spec images() threads {self.threads} {{", *lines, "}"])

    def _declared(self, tensor: str, dtype: str, shape: Shape) -> str:
        name, fastest = self.innermost
        declared = f"{tensor}: {dtype}{list(shape)}"
        if not tensor.endswith(f" {name}"):
            return declared
        order = (*(d for d in range(len(shape)) if d != fastest), fastest)
        return f"{declared} layout {order}"


def _seen(x: Array, window: Shape, y: Shape, stride: Step = 1, by: Step = 1) -> Iterator[Array]:
    """What each position of a window sees of images with the channels last."""
    down, right = _steps(stride)
    lower, later = _steps(by)
    for r in range(window[0]):
        for s in range(window[1]):
            rows = slice(lower * r, lower * r + down * (y[1] - 1) + 1, down)
            columns = slice(later * s, later * s + right * (y[2] - 1) + 1, right)
            yield x[:, rows, columns].astype(np.float64)


def _steps(step: Step) -> tuple[int, int]:
    return (step, step) if isinstance(step, int) else step


def _last(array: Array) -> Array:
    """With the channels last that are first."""
    return np.moveaxis(array, 1, -1)


def _first(array: Array) -> Array:
    return np.moveaxis(array, -1, 1)


def _convolution(y: Shape, stride: Step = 1, dilation: Step = 1) -> Callable[..., Array]:
    def convolved(x: Array, w: Array) -> Array:
        filters = w.reshape(-1, *w.shape[2:]).astype(np.float64)
        seen = _seen(x, w.shape, y, stride, dilation)
        return np.asarray(sum(part @ f for part, f in zip(seen, filters, strict=True)))

    return convolved


def _planes(y: Shape, stride: Step = 1) -> Callable[..., Array]:
    last = _convolution((y[0], *y[2:], y[1]), stride)
    return lambda x, w: _first(last(_last(x), w.transpose(2, 3, 1, 0)))


def _groups(y: Shape) -> Callable[..., Array]:
    one = _convolution((*y[:3], y[4]))
    return lambda x, w: np.stack([one(x[:, :, :, g], w[g]) for g in range(y[3])], axis=3)


def _groups_of_planes(y: Shape) -> Callable[..., Array]:
    one = _planes((y[0], *y[2:]))
    return lambda x, w: np.stack([one(x[:, g], w[g]) for g in range(y[1])], axis=1)


def _volumes(y: Shape, down: int, stride: Step) -> Callable[..., Array]:
    one = _convolution((y[0], *y[2:]), stride)

    def convolved(x: Array, w: Array) -> Array:
        planes = [sum(one(x[:, down * d + q], w[q]) for q in range(len(w))) for d in range(y[1])]
        return np.stack([np.asarray(plane) for plane in planes], axis=1)

    return convolved


def _depthwise(y: Shape, stride: Step = 1) -> Callable[..., Array]:
    def convolved(x: Array, w: Array) -> Array:
        filters = w.reshape(-1, w.shape[2])
        seen = _seen(x, w.shape, y, stride)
        return np.asarray(sum(part * f for part, f in zip(seen, filters, strict=True)))

    return convolved


def _depthwise_planes(y: Shape, stride: Step = 1) -> Callable[..., Array]:
    last = _depthwise((y[0], *y[2:], y[1]), stride)
    return lambda x, w: _first(last(_last(x), w.transpose(1, 2, 0)))


def _pooled(
    y: Shape, window: Step, stride: Step, reduce: Callable[..., Array]
) -> Callable[..., Array]:
    return lambda x: reduce(list(_seen(x, _steps(window), y, stride)), axis=0)


def _framed(y: Shape, top: int, left: int, value: float) -> Callable[..., Array]:
    def framed(x: Array) -> Array:
        whole = np.full(y, value)
        whole[:, top : top + x.shape[1], left : left + x.shape[2]] = x
        return whole

    return framed


def _framed_planes(y: Shape, top: int, left: int, value: float) -> Callable[..., Array]:
    last = _framed((y[0], *y[2:], y[1]), top, left, value)
    return lambda x: _first(last(_last(x)))


def _conv(x: Shape, w: Shape, y: Shape, target: str = "x86.scalar") -> Case:
    """Channels last, one step at a time."""
    use = "conv2d_nhwc(x, w, stride = 1, dilation = 1)"
    return Case(use, x, y, _convolution(y), w, target)


CASES: dict[str, Case] = {
    "channels last": _conv((1, 7, 9, 5), (3, 3, 5, 17), (1, 5, 7, 17), "x86.avx512"),
    "of size 1": _conv((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
    "one position": _conv((2, 3, 8, 6), (1, 1, 6, 5), (2, 3, 8, 5)),
    "filters that change": replace(_conv((1, 4, 9, 3), (2, 3, 3, 6), (1, 3, 7, 6)), role="input"),
    "integers": replace(_conv((1, 5, 5, 3), (2, 2, 3, 7), (1, 4, 4, 7)), dtypes="s32 s32 s32"),
    "bytes": replace(_conv((1, 4, 5, 3), (2, 2, 3, 5), (1, 3, 4, 5)), dtypes="u8 s8 s32"),
    "bf16": replace(_conv((1, 4, 5, 6), (2, 2, 6, 7), (1, 3, 4, 7)), dtypes="bf16 bf16 f32"),
    "threads": replace(_conv((1, 9, 8, 5), (3, 3, 5, 6), (1, 7, 6, 6)), threads=2),
    "stride and dilation": Case(
        "conv2d_nhwc(x, w, stride = 2, dilation = 2)",
        (1, 9, 13, 3),
        (1, 4, 5, 4),
        _convolution((1, 4, 5, 4), 2, 2),
        (2, 3, 3, 4),
    ),
    "steps that differ": Case(
        "conv2d_nhwc(x, w, stride_h = 3, dilation = 2, dilation_h = 1)",
        (1, 10, 9, 3),
        (1, 3, 5, 9),
        _convolution((1, 3, 5, 9), (3, 1), (1, 2)),
        (4, 3, 3, 9),
        "x86.avx2",
    ),
    "planes of which every second row counts": Case(
        "conv2d(x, w, stride_h = 2)",
        (1, 2, 7, 19),
        (1, 3, 3, 17),
        _planes((1, 3, 3, 17), (2, 1)),
        (3, 2, 3, 3),
        "x86.avx2",
    ),
    "planes of which every second column counts": Case(
        "conv2d(x, w, stride = 2, stride_h = 1)",
        (1, 2, 5, 35),
        (1, 3, 3, 17),
        _planes((1, 3, 3, 17), (1, 2)),
        (3, 2, 3, 3),
        "x86.avx2",
    ),
    "planes": Case(
        "conv2d(x, w, stride = 1, dilation = 1)",
        (2, 3, 6, 5),
        (2, 7, 4, 4),
        _planes((2, 7, 4, 4)),
        (7, 3, 3, 2),
    ),
    "planes with a stride": Case(
        "conv2d(x, w, stride = 2, dilation = 1)",
        (1, 2, 7, 9),
        (1, 18, 3, 4),
        _planes((1, 18, 3, 4), 2),
        (18, 2, 3, 3),
    ),
    "volumes": Case(
        "conv3d_ndhwc(x, w, stride_d = 2)",
        (1, 6, 5, 6, 3),
        (1, 3, 4, 4, 5),
        _volumes((1, 3, 4, 4, 5), 2, 1),
        (2, 2, 3, 3, 5),
    ),
    "volumes, channels first": Case(
        "conv3d(x, w, stride = 2, stride_d = 1)",
        (2, 3, 4, 5, 7),
        (2, 9, 3, 2, 3),
        lambda x, w: _first(_volumes((2, 3, 2, 3, 9), 1, 2)(_last(x), w.transpose(2, 3, 4, 1, 0))),
        (9, 3, 2, 3, 3),
        "x86.avx2",
    ),
    "groups": Case(
        "grouped_conv2d_nhwc(x, w, stride = 1, dilation = 1)",
        (1, 5, 6, 2, 3),
        (1, 4, 5, 2, 5),
        _groups((1, 4, 5, 2, 5)),
        (2, 2, 2, 3, 5),
    ),
    "groups of planes": Case(
        "grouped_conv2d(x, w, stride = 1, dilation = 1)",
        (1, 2, 3, 4, 5),
        (1, 2, 4, 3, 4),
        _groups_of_planes((1, 2, 4, 3, 4)),
        (2, 4, 3, 2, 2),
    ),
    "groups that are neighbours": Case(
        "grouped_conv2d(x, w, stride = 1, dilation = 1)",
        (2, 3, 2, 4, 4),
        (2, 3, 2, 2, 2),
        _groups_of_planes((2, 3, 2, 2, 2)),
        (3, 2, 2, 3, 3),
        innermost=("x", 1),
    ),
    "groups that are neighbours in the result": Case(
        "grouped_conv2d_nhwc(x, w, stride = 1, dilation = 1)",
        (1, 3, 4, 3, 2),
        (1, 2, 3, 3, 3),
        _groups((1, 2, 3, 3, 3)),
        (3, 2, 2, 2, 3),
        innermost=("y", 3),
    ),
    "images that are neighbours": replace(
        _conv((3, 3, 4, 2), (2, 2, 2, 3), (3, 2, 3, 3)), innermost=("y", 0)
    ),
    "rows that are neighbours, by threads": replace(
        _conv((1, 5, 4, 2), (2, 2, 2, 3), (1, 4, 3, 3)), innermost=("y", 1), threads=2
    ),
    "depthwise": Case(
        "depthwise_conv2d_nhwc(x, w, stride = 2, dilation = 1)",
        (1, 7, 9, 19),
        (1, 3, 4, 19),
        _depthwise((1, 3, 4, 19), 2),
        (3, 3, 19),
        "x86.avx512",
    ),
    "depthwise planes": Case(
        "depthwise_conv2d(x, w, stride = 1, dilation = 1)",
        (2, 3, 5, 6),
        (2, 3, 3, 4),
        _depthwise_planes((2, 3, 3, 4)),
        (3, 3, 3),
    ),
    "depthwise planes with a stride": Case(
        "depthwise_conv2d(x, w, stride = 2, dilation = 1)",
        (1, 3, 7, 29),
        (1, 3, 3, 14),
        _depthwise_planes((1, 3, 3, 14), 2),
        (3, 3, 3),
        "x86.avx2",
    ),
    "depthwise planes with two strides": Case(
        "depthwise_conv2d(x, w, stride = 2, stride_h = 3)",
        (1, 3, 9, 35),
        (1, 3, 3, 17),
        _depthwise_planes((1, 3, 3, 17), (3, 2)),
        (3, 3, 3),
        "x86.avx2",
    ),
    "maxima of planes with a stride": Case(
        "max_pool2d(x, window = 3, stride = 2)",
        (1, 2, 7, 37),
        (1, 2, 3, 18),
        lambda x: _first(_pooled((1, 3, 18, 2), 3, 2, np.max)(_last(x))),
        target="x86.avx2",
    ),
    "depthwise of images that are neighbours": Case(
        "depthwise_conv2d_nhwc(x, w, stride = 2, dilation = 1)",
        (2, 3, 5, 3),
        (2, 1, 2, 3),
        _depthwise((2, 1, 2, 3), 2),
        (3, 3, 3),
        innermost=("x", 0),
    ),
    "maxima": Case(
        "max_pool2d_nhwc(x, window = 3, stride = 2)",
        (2, 7, 9, 18),
        (2, 3, 4, 18),
        _pooled((2, 3, 4, 18), 3, 2, np.max),
        target="x86.avx512",
    ),
    "maxima of flat windows": Case(
        "max_pool2d(x, window = 4, stride = 2, window_h = 1)",
        (1, 2, 7, 20),
        (1, 2, 4, 9),
        lambda x: _first(_pooled((1, 4, 9, 2), (1, 4), (2, 2), np.max)(_last(x))),
        target="x86.avx2",
    ),
    "means of windows side by side": Case(
        "avg_pool2d_nhwc(x, window = 2, window_h = 3, stride_h = 1)",
        (1, 5, 6, 8),
        (1, 3, 3, 8),
        _pooled((1, 3, 3, 8), (3, 2), (1, 2), np.mean),
    ),
    "means of planes": Case(
        "avg_pool2d(x, window = 2, stride = 2)",
        (1, 5, 6, 8),
        (1, 5, 3, 4),
        lambda x: _first(_pooled((1, 3, 4, 5), 2, 2, np.mean)(_last(x))),
    ),
    "a frame": Case(
        "pad2d_nhwc(x, top = 1, bottom = 2, left = 0, right = 2, value = 0.5)",
        (1, 3, 4, 5),
        (1, 6, 6, 5),
        _framed((1, 6, 6, 5), 1, 0, 0.5),
        target="x86.avx512",
    ),
    "frames of planes": Case(
        "pad2d(x, top = 0, bottom = 1, left = 2, right = 1, value = log(0))",
        (2, 3, 4, 5),
        (2, 3, 5, 8),
        _framed_planes((2, 3, 5, 8), 0, 2, -np.inf),
    ),
    "no frame": Case(
        "pad2d_nhwc(x, top = 0, bottom = 0, left = 0, right = 0, value = 9)",
        (1, 2, 3, 20),
        (1, 2, 3, 20),
        _framed((1, 2, 3, 20), 0, 0, 9),
    ),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Case, morello.Kernel]:
    """A case, compiled."""
    found = CASES[request.param]
    definitions = small_machines()
    return found, to_run(morello.compile, found.text, target=found.target, definitions=definitions)


@pytest.mark.sample(3)
def test_it_computes_what_a_loop_does(case: tuple[Case, morello.Kernel]) -> None:
    """On small integers, where every order of summation is exact: equal, to the last bit."""
    wanted, kernel = case
    inputs = small_inputs(kernel)
    expected = wanted.expected(*inputs)
    assert wanted.y == expected.shape
    np.testing.assert_array_equal(kernel(*inputs), expected)


GRAPH = """
spec block(H = 4, W = 3, C = 2) {
  input  x: f32[1, H, W, C]
  input  v: f32[2, 2, C, C]
  input  w: f32[2, 2, C, C]
  input  b: f32[C]
  output y: f32[1, H, W, C]
  h = relu(add_bias(conv2d_nhwc(p, v, stride = 1, dilation = 1), b))
  y = add(conv2d_nhwc(q, w, stride = 1, dilation = 1), x)
}
"""


def test_blocks() -> None:
    """Of which the picture in between, in its frame, is computed on the way."""
    frame = "pad2d_nhwc({}, top = 1, bottom = 0, left = 0, right = 1, value = 0)"
    text = GRAPH.replace("(p,", f"({frame.format('x')},").replace("(q,", f"({frame.format('h')},")
    kernel = to_run(morello.compile, text, target="x86.scalar", definitions=small_machines())
    x, v, w, b = small_inputs(kernel)
    framed = _framed((1, 5, 4, 2), 1, 0, 0)
    convolved = _convolution((1, 4, 3, 2))
    between = np.maximum(convolved(framed(x), v) + b, 0)
    np.testing.assert_array_equal(kernel(x, v, w, b), convolved(framed(between), w) + x)
    kernel.verify()


@pytest.mark.sample(3)
def test_it_passes_verification(case: tuple[Case, morello.Kernel]) -> None:
    """Random and nasty inputs, within the stated bound of the declaration."""
    _, kernel = case
    kernel.verify()
