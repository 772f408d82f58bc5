"""Nodes of ONNX that reduce dimensions, or normalise along them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.networks.images import Windows, pooled
from morello.networks.kinds import Rewrite, Translation, number

PER_DIMENSION = 13
"""The version of ONNX from which on a softmax goes along one dimension."""

PER_CHANNEL = 21
"""That from which on each channel of a group has a gain and a bias of its own."""

MOST_SUMMED = 2048
"""Elements of a running sum: of so many, the triangle is 16 MiB."""


def _axes(t: Translation) -> tuple[int, ...]:
    rank = len(t.shape(t.inputs[0]))
    axes = t.whole_numbers("axes", 1)
    if axes is None or (not axes and not t.attribute("noop_with_empty_axes", 0)):
        return () if t.attribute("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def _reduction(update: str, before: str = "", after: str = "") -> Rewrite:
    """The rewrite of a reduction of what a template says, with another one on the result."""

    def rewrite(t: Translation) -> str:
        source = t.elementwise(before, t.inputs[0]) if before else t.inputs[0]
        reduced = t.reduce(source, _axes(t), update)
        return t.elementwise(after, reduced) if after else reduced

    return rewrite


def _mean(t: Translation, source: str, axes: tuple[int, ...]) -> str:
    count = prod(t.shape(source)[axis] for axis in axes)
    return t.quotient(t.reduce(source, axes, "+="), t.constant(np.asarray(count)))


def _global(t: Translation) -> tuple[int, ...]:
    """All dimensions of the images."""
    return tuple(range(2, len(t.shape(t.inputs[0]))))


def _along(t: Translation) -> str:
    [source], shape = t.inputs, t.result()
    if t.network.version >= PER_DIMENSION:
        axis = int(t.attribute("axis", -1)) % len(shape)
        return t.along(t.node.operator, source, axis)
    # Before, all dimensions from this one on were one row.
    axis = int(t.attribute("axis", 1)) % len(shape)
    rows = t.view(source, (prod(shape[:axis]), prod(shape[axis:])))
    return t.along(t.node.operator, rows, 1)


def _batch_norm(t: Translation) -> str:
    x, *names = t.inputs
    if t.attribute("training_mode", 0):
        raise t.unsupported("it is in training")
    whats = ("gain", "bias", "mean", "variance")
    scale, bias, mean, variance = (t.data(n, w) for n, w in zip(names, whats, strict=True))
    factor = scale / np.sqrt(variance + float(t.attribute("epsilon", 1e-5)))
    column = (-1, *(1,) * (len(t.shape(x)) - 2))
    gain, shift = (
        t.constant(own.astype(np.float32).reshape(column)) for own in (factor, bias - mean * factor)
    )
    return t.elementwise("{0} * {1} + {2}", x, gain, shift)


def _variance(t: Translation, source: str, axes: tuple[int, ...]) -> tuple[str, str]:
    """Elements less their mean, and their variance."""
    centred = t.elementwise("{0} - {1}", source, _mean(t, source, axes))
    return centred, _mean(t, t.elementwise("{0} * {0}", centred), axes)


def _scaled(t: Translation, source: str, square: str, gain: str, bias: str = "") -> str:
    """Elements by the root of the mean of their squares, with a gain, and a bias if any."""
    epsilon = number(t.attribute("epsilon", 1e-5))
    scaled = f"{{0}} * (1 / sqrt({{1}} + {epsilon})) * {{2}}"
    result = t.elementwise(scaled, source, square, gain)
    return t.elementwise("{0} + {1}", result, bias) if bias else result


def _last_axes(t: Translation) -> tuple[int, ...]:
    rank = len(t.shape(t.inputs[0]))
    return tuple(range(int(t.attribute("axis", -1)) % rank, rank))


def _layer_norm(t: Translation) -> str | Sequence[str]:
    """Also what it divides by, turned over, and the mean, if they are wanted."""
    source, gain, *bias = filter(None, t.inputs)
    axes = _last_axes(t)
    centred, square = _variance(t, source, axes)
    epsilon = number(t.attribute("epsilon", 1e-5))
    result = _scaled(t, centred, square, gain, *bias)
    if not any(t.node.outputs[1:]):
        return result
    return result, _mean(t, source, axes), t.elementwise(f"1 / sqrt({{0}} + {epsilon})", square)


def _rms_norm(t: Translation) -> str:
    source, gain = t.inputs
    square = _mean(t, t.elementwise("{0} * {0}", source), _last_axes(t))
    return _scaled(t, source, square, gain)


def _instance_norm(t: Translation) -> str:
    source, *each = t.inputs
    column = (t.shape(source)[1], *(1,) * (len(t.shape(source)) - 2))
    gain, bias = (t.view(name, column) for name in each)
    return _scaled(t, *_variance(t, source, _global(t)), gain, bias)


def _group_norm(t: Translation) -> str:
    source, *each = t.inputs
    shape, groups = t.shape(source), int(t.attribute("num_groups", 1))
    rows = t.view(source, (shape[0], groups, shape[1] // groups, prod(shape[2:])))
    column = (groups, shape[1] // groups if t.network.version >= PER_CHANNEL else 1, 1)
    gain, bias = (t.view(name, column) for name in each)
    return t.view(_scaled(t, *_variance(t, rows, (2, 3)), gain, bias), shape)


def _norm(t: Translation, exponent: int, axes: Sequence[int]) -> str:
    return t.norm(t.inputs[0], exponent, lambda powers: t.reduce(powers, axes, "+="))


def _lp_norm(t: Translation) -> str:
    source = t.inputs[0]
    norm = _norm(t, int(t.attribute("p", 2)), [int(t.attribute("axis", -1)) % len(t.shape(source))])
    return t.elementwise("{0} / {1} if {1} != 0 else 0", source, norm)


def _log_sum_exp(t: Translation) -> str:
    """Of the numbers less the largest, so that none is too large."""
    source, axes = t.inputs[0], _axes(t)
    largest = t.reduce(source, axes, "max=")
    total = t.reduce(t.elementwise("exp({0} - {1})", source, largest), axes, "+=")
    return t.elementwise("log({0}) + {1}", total, largest)


def _local_response(t: Translation) -> str:
    """Every pixel by a sum of squares over neighbouring channels."""
    source = t.inputs[0]
    shape, size = t.shape(source), int(t.attribute("size", 1))
    before = (size - 1) // 2
    windows = Windows((size, 1), (1, 1), (1, 1), (before, 0), (size - 1 - before, 0))
    images = t.view(t.elementwise("{0} * {0}", source), (shape[0], 1, shape[1], prod(shape[2:])))
    total = t.view(pooled(t, images, (shape[1], prod(shape[2:])), windows, "+="), shape)
    factor = float(t.attribute("alpha", 1e-4)) / size
    base = f"({number(float(t.attribute('bias', 1.0)))} + {number(factor)} * {{1}})"
    power = number(-float(t.attribute("beta", 0.75)))
    return t.elementwise(f"{{0}} * exp({power} * log{base})", source, total)


def _product(t: Translation) -> str:
    """Halves by each other, until one element is left; and what was left out on the way."""
    source = t.inputs[0]
    for axis in _axes(t):
        rest = []
        while (size := t.shape(source)[axis]) > 1:
            half, odd = divmod(size, 2)
            if odd:
                rest.append(_part(t, source, axis, 1, 2 * half))
            source = t.elementwise(
                "{0} * {1}", *(_part(t, source, axis, half, start) for start in (0, half))
            )
        for own in rest:
            source = t.elementwise("{0} * {1}", source, own)
    return source


def _part(t: Translation, source: str, axis: int, size: int, start: int) -> str:
    """So many elements along a dimension."""
    shape = t.shape(source)
    starts = [start if place == axis else 0 for place in range(len(shape))]
    return t.cut(source, (*shape[:axis], size, *shape[axis + 1 :]), starts)


def _counted(t: Translation, source: str, axis: int) -> str:
    """0, 1, 2, ... along a dimension."""
    shape = t.shape(source)
    own = tuple(size if place == axis else 1 for place, size in enumerate(shape))
    return t.constant(np.arange(shape[axis], dtype=np.float32).reshape(own))


def _place(t: Translation, source: str, axis: int, update: str, *, last: bool = False) -> str:
    """Where along a dimension the largest or least element is, as a number."""
    best = t.reduce(source, [axis], update)
    # Where none is, since what is no number equals nothing: an end of the row.
    other = 0 if last else t.shape(source)[axis] - 1
    value = f"{{2}} if {{0}} == {{1}} else {other}"
    wide = "int32" if t.type(source) == "int32" else "float32"  # which does not have all of these
    found = t.elementwise(value, source, best, _counted(t, source, axis), dtype=wide)
    return t.reduce(found, [axis], "max=" if last else "min=")


def _arg(update: str) -> Rewrite:
    def rewrite(t: Translation) -> str:
        source = t.inputs[0]
        axis = int(t.attribute("axis", 0)) % len(t.shape(source))
        last = bool(t.attribute("select_last_index", 0))
        return t.cast(_place(t, source, axis, update, last=last))

    return rewrite


def _ordered(t: Translation) -> Sequence[str]:
    """The largest or least elements: a row's is in the place of how many are in front of it."""
    source = t.inputs[0]
    shape, result = t.shape(source), [*t.shape(source)]
    axis = int(t.attribute("axis", -1)) % len(shape)
    size = shape[axis]
    result[axis] = int(t.attribute("k", t.number(1, size)))
    if size > MOST_SUMMED:
        raise t.unsupported(f"it orders {size} elements, more than {MOST_SUMMED}")
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    rows = t.view(t.permute(source, order), (prod(shape) // size, 1, size))
    columns = t.view(rows, (prod(shape) // size, size, 1))
    own, other = _counted(t, rows, 2), _counted(t, columns, 1)
    relation = ">" if t.attribute("largest", 1) else "<"
    in_front = f"1 if {{0}} {relation} {{1}} or ({{0}} == {{1}} and {{2}} < {{3}}) else 0"
    wide = "int32" if t.type(source) == "int32" else "float32"
    before = t.elementwise(in_front, columns, rows, other, own, dtype=wide)
    count = t.reduce(before, [1], "+=")
    wanted = t.constant(np.arange(result[axis], dtype=np.float32).reshape(-1, 1))

    def taken(name: str, dtype: str) -> str:
        """Of each row those that are wanted, each in its place."""
        found = t.elementwise("{0} if {1} == {2} else 0", name, count, wanted, dtype=dtype)
        moved = t.view(t.reduce(found, [2], "+="), [result[a] for a in order])
        return t.permute(moved, [order.index(a) for a in range(len(shape))])

    places = t.node.outputs[1] if len(t.node.outputs) > 1 else ""
    values = taken(rows, t.type(source))
    return (values, taken(own, t.type(places))) if places else (values,)


def _hardmax(t: Translation) -> str:
    source = t.inputs[0]
    axis = int(t.attribute("axis", -1)) % len(t.shape(source))
    places, largest = _counted(t, source, axis), _place(t, source, axis, "max=")
    return t.elementwise("1 if {0} == {1} else 0", places, largest)


def _running_sum(t: Translation) -> str:
    """A product with a triangle of ones: of short rows that is no more work than what is around."""
    source = t.inputs[0]
    shape = t.shape(source)
    axis = int(t.number(1, 0)) % len(shape)
    size = shape[axis]
    if size > MOST_SUMMED:
        raise t.unsupported(f"it sums along {size} elements, more than {MOST_SUMMED}")
    exclusive, reverse = (bool(t.attribute(n, 0)) for n in ("exclusive", "reverse"))
    triangle = np.triu(np.ones((size, size), t.type(source)), int(exclusive))
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    rows = t.view(t.permute(source, order), (prod(shape) // size, size))
    summed = t.product(rows, t.constant(triangle.T if reverse else triangle))
    moved = t.view(summed, [shape[a] for a in order])
    return t.permute(moved, [order.index(a) for a in range(len(shape))])


REWRITES: Mapping[str, Rewrite] = {
    "ArgMax": _arg("max="),
    "ArgMin": _arg("min="),
    "BatchNormalization": _batch_norm,
    "CumSum": _running_sum,
    "GlobalAveragePool": lambda t: _mean(t, t.inputs[0], _global(t)),
    "GlobalLpPool": lambda t: _norm(t, int(t.attribute("p", 2)), _global(t)),
    "GlobalMaxPool": lambda t: t.reduce(t.inputs[0], _global(t), "max="),
    "GroupNormalization": _group_norm,
    "Hardmax": _hardmax,
    "InstanceNormalization": _instance_norm,
    "LRN": _local_response,
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _along,
    "LpNormalization": _lp_norm,
    "RMSNormalization": _rms_norm,
    "ReduceL1": lambda t: _norm(t, 1, _axes(t)),
    "ReduceL2": lambda t: _norm(t, 2, _axes(t)),
    "ReduceLogSum": _reduction("+=", "", "log({0})"),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": _reduction("max="),
    "ReduceMean": lambda t: _mean(t, t.inputs[0], _axes(t)),
    "ReduceMin": _reduction("min="),
    "ReduceProd": _product,
    "ReduceSum": _reduction("+="),
    "ReduceSumSquare": _reduction("+=", "{0} * {0}"),
    "Softmax": _along,
    "TopK": _ordered,
}
