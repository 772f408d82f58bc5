"""Operators of the oracle on matrices and pictures, and those that only move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .bounds import Floats
from .formats import Array
from .oracle import V, contracted, like, operator, windows
from .reductions import _mean

# ------------------------------------------------------------------------------ products


@operator
def matmul(a: V, b: V) -> V:
    return contracted("...mk,...kn->...mn", a, b)


@operator
def matmul_nt(a: V, b: V) -> V:
    return contracted("...mk,...nk->...mn", a, b)


@operator
def matmul_tn(a: V, b: V) -> V:
    return contracted("...km,...kn->...mn", a, b)


@operator
def matmul_tt(a: V, b: V) -> V:
    return contracted("...km,...nk->...mn", a, b)


@operator
def matvec(a: V, x: V) -> V:
    return contracted("...mk,...k->...m", a, x)


# -------------------------------------------------------------------------- convolutions


def _windows(x: V, first: int, sizes: Sequence[int], steps: Mapping[str, float]) -> V:
    """Windows along dimensions from ``first`` on, last ``w``, before it ``h``, before it ``d``.

    In each they move as in the next one, if no other steps are given.
    """
    strides, dilations = [int(steps["stride"])], [int(steps.get("dilation", 1))]
    for way in "hd"[: len(sizes) - 1]:
        strides.insert(0, int(steps.get(f"stride_{way}", strides[0])))
        dilations.insert(0, int(steps.get(f"dilation_{way}", dilations[0])))
    axes = range(first, first + len(sizes))
    return windows(x, tuple(axes), tuple(sizes), tuple(strides), tuple(dilations))


@operator
def conv2d_nhwc(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, w.shape[:2], steps)
    return contracted("nhwirs,rsio->nhwo", seen, w)


@operator
def conv2d(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 2, w.shape[2:], steps)
    return contracted("nihwrs,oirs->nohw", seen, w)


@operator
def conv_image(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 0, w.shape[:2], steps)
    return contracted("hwirs,rsio->hwo", seen, w)


@operator
def conv1d_nwc(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, [w.shape[0]], steps)
    return contracted("nwis,sio->nwo", seen, w)


@operator
def conv_line(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 0, [w.shape[0]], steps)
    return contracted("wis,sio->wo", seen, w)


@operator
def conv_row(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, [w.shape[1]], steps)
    return contracted("rwis,rsio->wo", seen, w)


@operator
def conv3d_ndhwc(x: V, w: V, **steps: float) -> V:
    return contracted("ndhwiqrs,qrsio->ndhwo", _windows(x, 1, w.shape[:3], steps), w)


@operator
def conv3d(x: V, w: V, **steps: float) -> V:
    return contracted("nidhwqrs,oiqrs->nodhw", _windows(x, 2, w.shape[2:], steps), w)


@operator
def conv3d_row(x: V, w: V, **steps: float) -> V:
    return contracted("qrwis,qrsio->wo", _windows(x, 2, [w.shape[2]], steps), w)


@operator
def grouped_conv2d_nhwc(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, w.shape[1:3], steps)
    return contracted("nhwgirs,grsio->nhwgo", seen, w)


@operator
def grouped_conv2d(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 3, w.shape[3:], steps)
    return contracted("ngihwrs,goirs->ngohw", seen, w)


@operator
def depthwise_conv2d_nhwc(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, w.shape[:2], steps)
    return contracted("nhwcrs,rsc->nhwc", seen, w)


@operator
def depthwise_conv2d(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 2, w.shape[1:], steps)
    return contracted("nchwrs,crs->nchw", seen, w)


@operator
def depthwise_image(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 0, w.shape[:2], steps)
    return contracted("hwcrs,rsc->hwc", seen, w)


@operator
def depthwise_row(x: V, w: V, **steps: float) -> V:
    seen = _windows(x, 1, [w.shape[1]], steps)
    return contracted("rwcs,rsc->wc", seen, w)


# ------------------------------------------------------------------------------- pooling


def _pool(x: V, first: int, seen: Mapping[str, float]) -> V:
    width = seen["window"]
    sizes = (int(seen.get("window_h", width)), int(width))
    return _windows(x, first, sizes, {"stride": width, **seen})


@operator
def max_pool2d_nhwc(x: V, **seen: float) -> V:
    return _pool(x, 1, seen).largest((-2, -1))


@operator
def max_pool2d(x: V, **seen: float) -> V:
    return _pool(x, 2, seen).largest((-2, -1))


@operator
def avg_pool2d_nhwc(x: V, **seen: float) -> V:
    return _mean(_pool(x, 1, seen), (-2, -1))


@operator
def avg_pool2d(x: V, **seen: float) -> V:
    return _mean(_pool(x, 2, seen), (-2, -1))


# -------------------------------------------------------------------- moving of elements


@operator
def fill(value: float) -> V:
    raise AssertionError("it has no operand to tell its type: see `result_of`")


@operator
def transpose(x: V) -> V:
    return x.moved(lambda v: np.swapaxes(v, -1, -2))


@operator
def channels_last(x: V) -> V:
    return x.moved(lambda v: v.transpose(0, 2, 3, 1))


@operator
def channels_first(x: V) -> V:
    return x.moved(lambda v: v.transpose(0, 3, 1, 2))


def _inside(length: int, before: float, after: float) -> slice:
    return slice(int(before), length - int(after))


@operator
def slice_columns(x: V, before: float, after: float) -> V:
    return x.moved(lambda v: v[..., _inside(v.shape[-1], before, after)])


@operator
def slice_rows(x: V, before: float, after: float) -> V:
    return x.moved(lambda v: v[..., _inside(v.shape[-2], before, after), :])


@operator
def split_rows(x: V, width: float) -> V:
    return x.moved(lambda v: v.reshape(*v.shape[:-1], -1, int(width)))


@operator
def merge_rows(x: V, width: float) -> V:
    return x.moved(lambda v: v.reshape(*v.shape[:-2], _width(v, width) * v.shape[-2]))


@operator
def split_heads(x: V, width: float) -> V:
    return split_rows(x, width).moved(lambda v: np.swapaxes(v, -3, -2))


@operator
def merge_heads(x: V, width: float) -> V:
    return merge_rows(x.moved(lambda v: np.swapaxes(v, -3, -2)), width)


def _width(values: Array, width: float) -> int:
    if values.shape[-1] != int(width):
        raise ValueError("the rows have another width")
    return int(width)


def _padded(x: V, margins: list[tuple[int, int]], value: float) -> V:
    whole = [size + before + after for size, (before, after) in zip(x.shape, margins, strict=True)]
    inside = tuple(
        slice(before, before + size) for size, (before, _) in zip(x.shape, margins, strict=True)
    )

    def move(values: Array, filler: Array) -> Array:
        result = np.full(whole, filler, values.dtype)
        result[inside] = values
        return result

    fillers = iter(_parts(like(x, value)))
    return x.moved(lambda v: move(v, next(fillers)))


def _parts(x: V) -> tuple[Array, ...]:
    """What a tensor consists of, in the order in which it is moved."""
    return (x.low, x.high, x.nan) if isinstance(x, Floats) else (x.values, x.unsure)


@operator
def pad2d_nhwc(x: V, top: float, bottom: float, left: float, right: float, value: float) -> V:
    rows, columns = (int(top), int(bottom)), (int(left), int(right))
    return _padded(x, [(0, 0), rows, columns, (0, 0)], value)


@operator
def pad2d(x: V, top: float, bottom: float, left: float, right: float, value: float) -> V:
    rows, columns = (int(top), int(bottom)), (int(left), int(right))
    return _padded(x, [(0, 0), (0, 0), rows, columns], value)
