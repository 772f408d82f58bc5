"""Convolutions and pools in ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.ir.numeric import Array
from morello.networks.images import Windows, convolved, pooled
from morello.networks.kinds import Rewrite, Translation


def _windows(t: Translation, sizes: Sequence[int]) -> Windows:
    shape = t.shape(t.inputs[0])[2:]
    one, none = (1,) * len(shape), (0,) * len(shape)
    strides, dilations = (tuple(t.attribute(n, one)) for n in ("strides", "dilations"))
    plain = Windows(tuple(sizes), strides, dilations, none, none)
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
    return Windows(plain.sizes, strides, dilations, pads[: len(shape)], pads[len(shape) :])


def _convolution(t: Translation) -> str:
    x, w, *bias = filter(None, t.inputs)
    data = t.data(w, "filter")
    windows = _windows(t, data.shape[2:])
    filtered = convolved(t, x, data, windows, int(t.attribute("group", 1)))
    if not bias:
        return filtered
    column = t.constant(t.data(bias[0], "bias").reshape(-1, 1, 1))
    return t.elementwise("{0} + {1}", filtered, column)


def _pool(t: Translation) -> str:
    [x] = t.inputs
    counts, windows = t.result()[2:], _windows(t, t.attribute("kernel_shape", ()))
    largest = t.node.operator == "MaxPool"
    if largest and len(t.node.outputs) > 1 and t.node.outputs[1]:
        raise t.unsupported("it says where the largest elements are")
    reduced = pooled(t, x, counts, windows, "max=" if largest else "+=")
    if largest:
        return reduced
    inside = windows.inside(t.shape(x)[2:], counts)
    if inside == windows.reach(counts) or t.attribute("count_include_pad", 0):
        return t.elementwise(f"{{0}} / {prod(windows.sizes)}", reduced)
    share = (1 / _counts(windows, inside, counts)).reshape(t.shape(reduced)[2:])
    return t.elementwise("{0} * {1}", reduced, t.constant(share.astype(np.float32)))


def _counts(windows: Windows, inside: Sequence[int], result: Sequence[int]) -> Array:
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
