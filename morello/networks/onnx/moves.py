"""Nodes of ONNX that only move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from morello.networks.kinds import Rewrite, Translation


def _transpose(t: Translation) -> str:
    [x] = t.inputs
    return t.permute(x, t.attribute("perm", range(len(t.shape(x)))[::-1]))


def _slice(t: Translation) -> str:
    x = t.inputs[0]
    shape = t.shape(x)
    starts, ends = t.whole_numbers("starts", 1) or (), t.whole_numbers("ends", 2) or ()
    axes = t.whole_numbers("axes", 3) or tuple(range(len(starts)))
    steps = t.whole_numbers("steps", 4) or (1,) * len(starts)
    slices = [slice(None)] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        before_all = step < 0 and end < -shape[axis]
        slices[axis] = slice(start, None if before_all else end, step)
    if min(steps, default=1) < 0:
        return t.move(x, t.places(x)[tuple(slices)])
    whole = [own.indices(size) for own, size in zip(slices, shape, strict=True)]
    return t.cut(x, t.result(), [own[0] for own in whole], [own[2] for own in whole])


def _split(t: Translation) -> Sequence[str]:
    x = t.inputs[0]
    axis = int(t.attribute("axis", 0)) % len(t.shape(x))
    parts, starts = [], [0] * len(t.shape(x))
    for place in range(len(t.node.outputs)):
        parts.append(t.cut(x, t.result(place), starts))
        starts[axis] += t.result(place)[axis]
    return parts


def _gather(t: Translation) -> str:
    x, indices = t.inputs
    shape, data = t.shape(x), t.network.data(indices)
    axis = int(t.attribute("axis", 0)) % len(shape)
    if data is None:
        if axis:
            raise t.unsupported("it looks up by data in a dimension that is not the first")
        return t.lookup(x, indices)
    if data.size != 1:
        return t.move(x, np.take(t.places(x), data, axis=axis))
    starts, one = [0] * len(shape), list(shape)
    starts[axis], one[axis] = int(data.reshape(())) % shape[axis], 1
    return t.cut(x, one, starts)


def _concat(t: Translation) -> str:
    return t.concat(list(filter(None, t.inputs)), int(t.attribute("axis", 0)) % len(t.result()))


def _pad(t: Translation) -> str:
    x = t.inputs[0]
    shape = t.shape(x)
    pads = t.whole_numbers("pads", 1) or ()
    axes = t.whole_numbers("axes", 3) or tuple(range(len(shape)))
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        before[axis], after[axis] = low, high
    if min(pads, default=0) < 0:
        raise t.unsupported("it cuts")
    mode: Any = t.attribute("mode", "constant")
    if mode == "constant":
        return t.frame(x, before, t.result(), float(t.attribute("value", t.number(2, 0.0))))
    return t.move(x, np.pad(t.places(x), [*zip(before, after, strict=True)], mode=mode))


def _expand(t: Translation) -> str:
    x = t.inputs[0]
    return t.repeat(x, t.result())


def _resize(t: Translation) -> str:
    x = t.inputs[0]
    shape, result = t.shape(x), t.result()
    if t.attribute("mode", "nearest") != "nearest":
        raise t.unsupported("it interpolates")
    transform = t.attribute("coordinate_transformation_mode", "half_pixel")
    floored = transform == "asymmetric" and t.attribute("nearest_mode", "") == "floor"
    whole = all(big % small == 0 for big, small in zip(result, shape, strict=True))
    if not whole or not (floored or transform == "half_pixel"):
        raise t.unsupported("it does not repeat each element equally often")
    # Each dimension is followed by one along which the elements are repeated.
    once = [size for small in shape for size in (small, 1)]
    times = [big // small for big, small in zip(result, shape, strict=True)]
    often = [size for pair in zip(shape, times, strict=True) for size in pair]
    return t.repeat(t.view(x, once), often)


def _tile(t: Translation) -> str:
    x = t.inputs[0]
    repeats = t.whole_numbers("repeats", 1) or ()
    return t.move(x, np.tile(t.places(x), repeats))


def _depth_to_space(t: Translation) -> str:
    n, c, h, w = t.shape(t.inputs[0])
    block = int(t.attribute("blocksize", 1))
    deep = c // block**2
    if t.attribute("mode", "DCR") == "DCR":
        view, order = (n, block, block, deep, h, w), (0, 3, 4, 1, 5, 2)
    else:
        view, order = (n, deep, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return t.permute(t.view(t.inputs[0], view), order)


def _space_to_depth(t: Translation) -> str:
    n, c, h, w = t.shape(t.inputs[0])
    block = int(t.attribute("blocksize", 1))
    view = t.view(t.inputs[0], (n, c, h // block, block, w // block, block))
    return t.permute(view, (0, 3, 5, 1, 2, 4))


def _same(t: Translation) -> str:
    return t.inputs[0]


REWRITES: Mapping[str, Rewrite] = {
    **dict.fromkeys(("Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"), _same),
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "Gather": _gather,
    "Pad": _pad,
    "Resize": _resize,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Tile": _tile,
    "Transpose": _transpose,
}
