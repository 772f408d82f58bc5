"""Convolutions and pools in ONNX: of images, and of rows as images of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.networks.kinds import LOWEST, Rewrite, Translation


class _Windows(Struct, frozen=True):
    """How windows lie in images: of each dimension the size of a window, steps, and paddings."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def single(self) -> bool:
        """Whether each is one pixel, and none is left out."""
        return {*self.sizes, *self.strides} == {1} and not any((*self.before, *self.after))

    def reach(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many elements so many windows go over, with padding."""
        rows = zip(counts, self.strides, self.dilations, self.sizes, strict=True)
        return tuple((n - 1) * s + d * (k - 1) + 1 for n, s, d, k in rows)

    def of(self, axes: Sequence[int]) -> _Windows:
        """Those of some of the dimensions."""
        every = self.sizes, self.strides, self.dilations, self.before, self.after
        return _Windows(*(tuple(own[axis] for axis in axes) for own in every))

    def in_rows(self) -> _Windows:
        """Those of rows, as windows of images."""
        return _Windows(
            (1, *self.sizes),
            (1, *self.strides),
            (1, *self.dilations),
            (0, *self.before),
            (0, *self.after),
        )


def _windows(t: Translation, sizes: Sequence[int]) -> _Windows:
    shape = t.shape(t.inputs[0])[2:]
    one, none = (1,) * len(shape), (0,) * len(shape)
    strides, dilations = (tuple(t.attribute(n, one)) for n in ("strides", "dilations"))
    plain = _Windows(tuple(sizes), strides, dilations, none, none)
    auto = t.attribute("auto_pad", "NOTSET")
    pads = tuple(t.attribute("pads", (*none, *none)))
    if auto.startswith("SAME"):
        counts = [-(-size // stride) for size, stride in zip(shape, strides, strict=True)]
        total = [max(0, r - size) for r, size in zip(plain.reach(counts), shape, strict=True)]
        less = [each // 2 for each in total]
        more = [each - half for each, half in zip(total, less, strict=True)]
        pads = (*less, *more) if auto == "SAME_UPPER" else (*more, *less)
    elif auto == "VALID":
        pads = (*none, *none)
    return _Windows(plain.sizes, strides, dilations, pads[: len(shape)], pads[len(shape) :])


def _row(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of rows, as that of images of one row."""
    return (*shape[:2], 1, shape[2])


def _convolution(t: Translation) -> str:
    x, w, *bias = filter(None, t.inputs)
    data = t.data(w, "filter")
    shape, result, windows = t.shape(x), t.result(), _windows(t, data.shape[2:])
    if len(shape) == 4 and shape[3] == data.shape[3] == 1 and windows.of([1]).single:
        # Columns are rows: vectors lie along these.
        shape, result, data = shape[:3], result[:3], data[..., 0]
        windows = windows.of([0])
    if len(shape) == 3:
        shape, result, data = _row(shape), _row(result), data.reshape(_row(data.shape))
        windows = windows.in_rows()
    if len(shape) != 4:
        raise t.unsupported(f"it is of {len(shape) - 2} dimensions")
    group, image = int(t.attribute("group", 1)), t.view(x, shape)
    if group == shape[1] == len(data):
        filtered = _filtered(t, image, data, result, windows, depthwise=True)
    elif group == 1:
        filtered = _correlated(t, image, data, result, windows)
    else:  # one group of channels after the other
        own, wanted = (shape[0], shape[1] // group), (result[0], result[1] // group)
        parts = []
        for number, filters in enumerate(np.split(data, group)):
            part = t.cut(image, (*own, *shape[2:]), (0, number * own[1], 0, 0))
            parts.append(_correlated(t, part, filters, (*wanted, *result[2:]), windows))
        filtered = t.concat(parts, 1)
    if not bias:
        return filtered
    column = t.constant(t.data(bias[0], "bias").reshape(-1, 1, 1))
    return t.elementwise("{0} + {1}", filtered, column)


def _correlated(
    t: Translation, image: str, data: Array, result: Sequence[int], windows: _Windows
) -> str:
    """An image with filters of all of its channels."""
    shape, channels = t.shape(image), data.shape[1]
    pixels = prod(shape[2:])
    if windows.single and pixels == 1:
        matrix = t.constant(data.reshape(len(data), channels))
        return t.view(t.product(t.view(image, shape[:2]), matrix, swap_b=True), result)
    if windows.single and shape[0] == 1:
        # Every pixel is a column of one matrix.
        matrix = t.constant(data.reshape(len(data), channels))
        return t.view(t.product(matrix, t.view(image, (channels, pixels))), result)
    return _filtered(t, image, data, result, windows, depthwise=False)


def _filtered(
    t: Translation,
    image: str,
    data: Array,
    result: Sequence[int],
    windows: _Windows,
    *,
    depthwise: bool,
) -> str:
    return t.filter(
        _padded(t, image, windows, 0.0),
        t.constant(data),
        result,
        strides=windows.strides,
        dilations=windows.dilations,
        depthwise=depthwise,
    )


def _padded(t: Translation, image: str, windows: _Windows, value: float) -> str:
    shape = t.shape(image)
    rows = zip(shape[2:], windows.before, windows.after, strict=True)
    padded = [*shape[:2], *(size + low + high for size, low, high in rows)]
    return t.frame(image, (0, 0, *windows.before), padded, value)


def _pool(t: Translation) -> str:
    x = t.inputs[0]
    shape, result = t.shape(x), t.result()
    windows = _windows(t, t.attribute("kernel_shape", ()))
    if len(shape) == 3:
        shape, result, windows = _row(shape), _row(result), windows.in_rows()
    if len(shape) != 4:
        raise t.unsupported(f"it is of {len(shape) - 2} dimensions")
    largest = t.node.operator == "MaxPool"
    if largest and len(t.node.outputs) > 1 and t.node.outputs[1]:
        raise t.unsupported("it says where the largest elements are")
    # All that windows reach, and no more: what lies beyond is cut off or added.
    reach = windows.reach(result[2:])
    rows = zip(shape[2:], reach, windows.before, strict=True)
    inside = tuple(min(size, need - low) for size, need, low in rows)
    image = t.cut(t.view(x, shape), (*shape[:2], *inside), (0,) * 4)
    framed = t.frame(
        image, (0, 0, *windows.before), (*shape[:2], *reach), LOWEST if largest else 0.0
    )
    reduced = t.window(
        framed,
        result,
        strides=windows.strides,
        dilations=windows.dilations,
        kernel=windows.sizes,
        update="max=" if largest else "+=",
    )
    if largest:
        return reduced
    if inside == reach or t.attribute("count_include_pad", 0):
        return t.elementwise(f"{{0}} / {prod(windows.sizes)}", reduced)
    share = 1 / _counts(windows, inside, result[2:])
    return t.elementwise("{0} * {1}", reduced, t.constant(share.astype(np.float32)))


def _counts(windows: _Windows, inside: Sequence[int], result: Sequence[int]) -> Array:
    """How many elements each window has that are no padding."""
    counts: Array = np.ones((), np.int64)
    for axis, size in enumerate(result):
        own = windows.of([axis])
        places = np.add.outer(
            np.arange(size) * own.strides[0] - own.before[0],
            np.arange(own.sizes[0]) * own.dilations[0],
        )
        there = (places >= 0) & (places < inside[axis])
        counts = np.multiply.outer(counts, there.sum(axis=1))
    return counts


def _transposed_convolution(t: Translation) -> str:
    """Where windows are apart: each pixel is multiplied to one, and these are put side by side."""
    x, w, *bias = filter(None, t.inputs)
    data, shape, result = t.data(w, "filter"), t.shape(x), t.result()
    strides = tuple(t.attribute("strides", (1,) * (len(shape) - 2)))
    if len(shape) != 4 or shape[0] != 1 or t.attribute("group", 1) != 1:
        raise t.unsupported("it is of several images, of rows, or in groups")
    apart = tuple(s * k for s, k in zip(shape[2:], data.shape[2:], strict=True))
    if strides != data.shape[2:] or result[2:] != apart:
        raise t.unsupported("its windows overlap, or are cut")
    channels, height, width = shape[1:]
    count, rows, columns = data.shape[1:]
    matrix = t.constant(data.reshape(channels, -1).T)
    windows = t.product(matrix, t.view(x, (channels, height * width)))
    if bias:
        each = np.repeat(t.data(bias[0], "bias"), rows * columns).reshape(-1, 1)
        windows = t.elementwise("{0} + {1}", windows, t.constant(each))
    return t.permute(t.view(windows, (count, rows, columns, height, width)), (0, 3, 1, 4, 2))


REWRITES: Mapping[str, Rewrite] = {
    "AveragePool": _pool,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "MaxPool": _pool,
}
