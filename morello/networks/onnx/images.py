"""Convolutions and pools in ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.ir.numeric import Array
from morello.networks.byte_products import quantized_convolution, same_of_bytes
from morello.networks.images import Windows, convolved, elements_of, pooled, reached
from morello.networks.kinds import Rewrite, Translation


def windows_of(t: Translation, sizes: Sequence[int]) -> Windows:
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
    windows = windows_of(t, data.shape[2:])
    groups = int(t.attribute("group", 1))
    filtered = quantized_convolution(t, x, w, windows, groups) or convolved(
        t, x, data, windows, groups
    )
    if not bias:
        return filtered
    column = t.data(bias[0], "bias").reshape(-1, *(1,) * (len(t.shape(filtered)) - 2))
    return t.elementwise("{0} + {1}", filtered, t.constant(column))


def _pool(t: Translation) -> str | Sequence[str]:
    [x] = t.inputs
    counts, windows = t.result()[2:], windows_of(t, t.attribute("kernel_shape", ()))
    largest = t.node.operator == "MaxPool"
    shape = t.shape(x)[2:]
    elements = _elements(windows, shape, counts)
    if elements.min() == 0:
        raise t.unsupported("a window has nothing but padding, of which runtimes have one less")
    reduced = pooled(t, x, counts, windows, "max=" if largest else "+=")
    if largest and len(t.node.outputs) > 1 and t.node.outputs[1]:
        return reduced, _places(t, x, t.view(reduced, t.result()), windows)
    if largest:
        return reduced
    if t.attribute("count_include_pad", 0):
        elements = _elements(windows, shape, counts, padded=True)
    if elements.min() == elements.max():
        return t.elementwise(f"{{0}} / {elements.max()}", reduced)
    share = (1 / elements).reshape(t.shape(reduced)[2:])
    return t.elementwise("{0} * {1}", reduced, t.constant(share.astype(np.float32)))


def _places(t: Translation, x: str, largest: str, windows: Windows) -> str:
    """Where the largest elements of windows are, in all of the tensor: the first where several are.

    One comparison for each place in a window. Places in one image are computed as elements are, and
    those of images are added.
    """
    shape, counts = t.shape(x), t.shape(largest)[2:]
    pixels, axes = prod(shape[2:]), range(2, len(shape))
    if prod(windows.sizes) > MOST_COMPARED or pixels > 2**24 or not t.is_float(x):
        raise t.unsupported(f"it says where the largest of more than {MOST_COMPARED} elements are")
    if t.attribute("storage_order", 0):
        raise t.unsupported("it says where the largest elements are, with the columns first")
    steps = [prod(shape[axis + 1 :]) for axis in axes]
    image, found = reached(t, x, counts, windows, "max="), ""
    for place, element in reversed([*elements_of(t, image, axes, counts, windows)]):
        own = np.zeros(counts, np.float32)
        for axis, at in enumerate(place):
            along = np.arange(counts[axis]) * windows.strides[axis]
            along += at * windows.dilations[axis] - windows.before[axis]
            own += (along * steps[axis]).reshape(-1, *(1,) * (len(counts) - axis - 1))
        inputs = [element, largest, t.constant(own), *filter(None, [found])]
        other = "{3}" if found else "{2}"
        value = f"{{2}} if {{0}} == {{1}} else {other}"
        found = t.elementwise(value, *inputs, dtype="float32")
    first = np.arange(prod(shape[:2]), dtype=np.int32) * pixels
    start = t.constant(first.reshape(*shape[:2], *(1,) * len(counts)))
    return t.elementwise("{0} + {1}", found, start, dtype=t.type(t.node.outputs[1]))


MOST_COMPARED = 64
"""Elements of a window of which it is said where the largest is."""


def _norm_pool(t: Translation) -> str:
    windows = windows_of(t, t.attribute("kernel_shape", ()))

    def total(x: str) -> str:
        return pooled(t, x, t.result()[2:], windows, "+=")

    return t.norm(t.inputs[0], int(t.attribute("p", 2)), total)


def _elements(
    windows: Windows, shape: Sequence[int], result: Sequence[int], *, padded: bool = False
) -> Array:
    """How many elements each window has that are no padding, or no more than padding."""
    counts: Array = np.ones((), np.int64)
    for axis, (size, count) in enumerate(zip(shape, result, strict=True)):
        own = windows.of([axis])
        before, after = (own.before[0], own.after[0]) if padded else (0, 0)
        places = np.add.outer(
            np.arange(count) * own.strides[0] - own.before[0],
            np.arange(own.sizes[0]) * own.dilations[0],
        )
        there = (places >= -before) & (places < size + after)
        counts = np.multiply.outer(counts, there.sum(axis=1))
    return counts


def _transposed_convolution(t: Translation) -> str:
    """A convolution with as many times the filters as there are pixels in a step.

    Pixel ``s * j + q`` of the result is what windows around pixel j of the image give with every
    s-th element of the filter, from q on: one filter for each q, and then these pixels are put side
    by side.
    """
    x, w, *bias = filter(None, t.inputs)
    shape, result, groups = t.shape(x), t.result(), int(t.attribute("group", 1))
    one = (1,) * (len(shape) - 2)
    strides, dilations = (tuple(t.attribute(name, one)) for name in ("strides", "dilations"))
    data = _apart(t.data(w, "filter"), dilations)
    before = _cut_before(t, data.shape[2:], strides)
    phases = _phases(data, strides, groups)
    taps = phases.shape[2:]
    rows = [*zip(shape[2:], result[2:], strides, taps, before, strict=True)]
    # What is cut off is not computed, as far as it is whole steps.
    first = [min(low // step, count - 1) for _, _, step, count, low in rows]
    last = [min(-(-(low + n) // s), size + k - 1) for size, n, s, k, low in rows]
    windows = Windows(
        taps,
        one,
        one,
        tuple(count - 1 - own for count, own in zip(taps, first, strict=True)),
        tuple(max(0, own - size) for own, size in zip(last, shape[2:], strict=True)),
    )
    found = convolved(t, x, phases, windows, groups)
    counts, channels = windows.counts(shape[2:]), result[1]
    rank = len(one)
    beside = t.view(found, (shape[0], channels, *strides, *counts))
    order = [place for axis in range(rank) for place in (2 + rank + axis, 2 + axis)]
    sizes = [count * step for count, step in zip(counts, strides, strict=True)]
    image = t.view(t.permute(beside, [0, 1, *order]), (shape[0], channels, *sizes))
    starts = [low - own * s for low, own, s in zip(before, first, strides, strict=True)]
    ends = zip(result[2:], sizes, starts, strict=True)
    inside = [min(wanted, size - low) for wanted, size, low in ends]
    image = t.cut(image, (*result[:2], *inside), (0, 0, *starts))
    image = t.frame(image, (0,) * len(shape), result, 0.0)
    if not bias:
        return image
    column = t.data(bias[0], "bias").reshape(-1, *one)
    return t.elementwise("{0} + {1}", image, t.constant(column))


def _apart(data: Array, dilations: Sequence[int]) -> Array:
    """Filters whose elements are apart, with zeros between them."""
    rows = zip(data.shape[2:], dilations, strict=True)
    apart = np.zeros((*data.shape[:2], *(d * (k - 1) + 1 for k, d in rows)), data.dtype)
    apart[(slice(None), slice(None), *(slice(None, None, d) for d in dilations))] = data
    return apart


def _cut_before(t: Translation, sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """How many rows and columns of all that is reached are in front of the result."""
    shape, result, none = t.shape(t.inputs[0]), t.result(), (0,) * len(sizes)
    auto = t.attribute("auto_pad", "NOTSET")
    if not auto.startswith("SAME") and not t.attribute("output_shape", ()):
        return list(t.attribute("pads", none))[: len(sizes)] if auto != "VALID" else list(none)
    more = t.attribute("output_padding", none)
    rows = zip(shape[2:], result[2:], sizes, strides, more, strict=True)
    total = [max(0, s * (n - 1) + extra + k - wanted) for n, wanted, k, s, extra in rows]
    return [own // 2 if auto != "SAME_LOWER" else own - own // 2 for own in total]


def _phases(data: Array, strides: Sequence[int], groups: int) -> Array:
    """The filters of each pixel in a step, as those of a convolution."""
    channels, own, *sizes = data.shape
    taps = [-(-k // s) for k, s in zip(sizes, strides, strict=True)]
    whole = np.zeros((channels, own, *(k * s for k, s in zip(taps, strides, strict=True))))
    whole[(slice(None), slice(None), *map(slice, sizes))] = data
    pairs = [n for pair in zip(taps, strides, strict=True) for n in pair]
    split = whole.reshape(groups, channels // groups, own, *pairs)
    rank = len(sizes)
    inner = [3 + 2 * axis for axis in range(rank)]
    order = [0, 2, *(axis + 1 for axis in inner), 1, *inner]
    filters = np.flip(split.transpose(order), axis=tuple(range(-rank, 0)))
    shape = (groups * own * prod(strides), channels // groups, *taps)
    return np.ascontiguousarray(filters.reshape(shape).astype(data.dtype))


REWRITES: Mapping[str, Rewrite] = {
    "AveragePool": _pool,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "LpPool": _norm_pool,
    "MaxPool": same_of_bytes(_pool),
}
