"""Nodes of ONNX that reduce dimensions, or normalise along them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from morello.networks.kinds import Rewrite, Translation, number

PER_DIMENSION = 13
"""The version of ONNX from which on a softmax goes along one dimension."""


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
    return t.elementwise(f"{{0}} / {count}", t.reduce(source, axes, "+="))


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


def _layer_norm(t: Translation) -> str:
    source, gain, *bias = filter(None, t.inputs)
    rank = len(t.shape(source))
    axes = tuple(range(int(t.attribute("axis", -1)) % rank, rank))
    centred = t.elementwise("{0} - {1}", source, _mean(t, source, axes))
    variance = _mean(t, t.elementwise("{0} * {0}", centred), axes)
    epsilon = number(t.attribute("epsilon", 1e-5))
    scaled = f"{{0}} * (1 / sqrt({{1}} + {epsilon})) * {{2}}"
    result = t.elementwise(scaled, centred, variance, gain)
    return t.elementwise("{0} + {1}", result, bias[0]) if bias else result


REWRITES: Mapping[str, Rewrite] = {
    "BatchNormalization": _batch_norm,
    "GlobalAveragePool": lambda t: _mean(t, t.inputs[0], _global(t)),
    "GlobalMaxPool": lambda t: t.reduce(t.inputs[0], _global(t), "max="),
    "LayerNormalization": _layer_norm,
    "LogSoftmax": _along,
    "ReduceL1": _reduction("+=", "abs({0})"),
    "ReduceL2": _reduction("+=", "{0} * {0}", "sqrt({0})"),
    "ReduceMax": _reduction("max="),
    "ReduceMean": lambda t: _mean(t, t.inputs[0], _axes(t)),
    "ReduceMin": _reduction("min="),
    "ReduceSum": _reduction("+="),
    "ReduceSumSquare": _reduction("+=", "{0} * {0}"),
    "Softmax": _along,
}
