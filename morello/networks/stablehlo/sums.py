"""Operations of StableHLO that sum: reductions, products, and those of windows of images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.networks.images import Windows, convolved, pooled
from morello.networks.kinds import Rewrite, Translation
from morello.networks.network import keeps_order

UPDATES: Mapping[str, tuple[str, float, str]] = {
    "add": ("+=", 0.0, "{0} + {1}"),
    "and": ("min=", 1.0, "{0} * {1}"),
    "maximum": ("max=", -np.inf, "max({0}, {1})"),
    "minimum": ("min=", np.inf, "min({0}, {1})"),
    "or": ("max=", 0.0, "max({0}, {1})"),
}
"""What combines two elements: as an update, its neutral element, and as a template."""


def _update(t: Translation, begin: str) -> tuple[str, str]:
    """The update of a reduction, and what combines the result with what it begins with, if any."""
    operator = t.attribute("body", "").removeprefix("stablehlo.")
    if len(t.node.outputs) > 1 or operator not in UPDATES:
        raise t.unsupported("it reduces by more than one of: " + ", ".join(sorted(UPDATES)))
    logic = operator in ("and", "or")
    if (t.type(t.node.output) == "bool") != logic or not (logic or t.is_float(t.node.output)):
        raise t.unsupported(f"it is of {t.type(t.node.output)}")
    update, neutral, combined = UPDATES[operator]
    data = t.network.repeated_data(begin)
    return update, "" if data is not None and np.all(data == neutral) else combined


def _reduce(t: Translation) -> str:
    x, begin = t.inputs[0], t.inputs[-1]
    update, combined = _update(t, begin)
    reduced = t.reduce(x, t.attribute("dimensions", ()), update)
    return t.elementwise(combined, t.view(reduced, t.result()), begin) if combined else reduced


# --------------------------------------------------------------------------- products


def _dot_general(t: Translation) -> str:
    a, b = t.inputs
    if not t.is_float(t.node.output):
        raise t.unsupported(f"it is of {t.type(t.node.output)}")
    (left, rows), (right, columns) = (
        _matrices(t, name, *(t.attribute(f"{side}_{what}_dimensions", ()) for what in PAIRED))
        for name, side in ((a, "lhs"), (b, "rhs"))
    )
    # Rows, and then what is summed; of the second operand the other way around.
    return t.product(left, right, swap_a=not rows, swap_b=columns)


PAIRED = ("batching", "contracting")
"""The dimensions that both operands have."""


def _matrices(
    t: Translation, name: str, batch: Sequence[int], summed: Sequence[int]
) -> tuple[str, bool]:
    """An operand as matrices, and whether what is summed is their second dimension."""
    shape = t.shape(name)
    own = [axis for axis in range(len(shape)) if axis not in (*batch, *summed)]
    sizes = [prod(shape[axis] for axis in axes) for axes in (own, summed)]
    leading = [shape[axis] for axis in batch]
    last = not keeps_order(shape, (*batch, *summed, *own))
    inner, places = ((*own, *summed), sizes) if last else ((*summed, *own), sizes[::-1])
    return t.view(t.permute(name, (*batch, *inner)), (*leading, *places)), last


# --------------------------------------------------------------------------- windows


def _convolution(t: Translation) -> str:
    x, w = t.inputs
    numbers = {
        side: [
            t.attribute(f"{side}_{first}_dimension", 0),
            t.attribute(f"{side}_{second}_dimension", 0),
            *t.attribute(f"{side}_spatial_dimensions", ()),
        ]
        for side, first, second in (
            ("input", "batch", "feature"),
            ("kernel", "output_feature", "input_feature"),
            ("output", "batch", "feature"),
        )
    }
    data = t.data(w, "filter").transpose(numbers["kernel"])
    size, padding = len(data.shape[2:]), np.asarray(t.attribute("padding", ()))
    one = (1,) * size
    padding = padding.reshape(-1, 2) if padding.size else np.zeros((size, 2), int)
    if t.attribute("lhs_dilation", one) != one or any(t.attribute("window_reversal", ())):
        raise t.unsupported("it puts elements apart, or reverses its filter")
    if t.attribute("batch_group_count", 1) != 1 or padding.min() < 0:
        raise t.unsupported("it has groups of images, or cuts")
    windows = Windows(
        data.shape[2:],
        t.attribute("window_strides", one),
        t.attribute("rhs_dilation", one),
        tuple(padding[:, 0].tolist()),
        tuple(padding[:, 1].tolist()),
    )
    groups = t.attribute("feature_group_count", 1)
    image = t.permute(x, numbers["input"])
    filtered = convolved(t, image, data, windows, groups)
    # As many dimensions as the result has, which may be in another order.
    result = [t.result()[axis] for axis in numbers["output"]]
    return t.permute(t.view(filtered, result), np.argsort(numbers["output"]).tolist())


def _reduce_window(t: Translation) -> str:
    x, begin = t.inputs
    update, combined = _update(t, begin)
    shape, result = t.shape(x), t.result()
    one = (1,) * len(shape)
    names = ("window_dimensions", "window_strides", "window_dilations")
    sizes, strides, dilations = (t.attribute(name, one) for name in names)
    padding = np.asarray(t.attribute("padding", np.zeros((len(shape), 2), int))).reshape(-1, 2)
    if t.attribute("base_dilations", one) != one or padding.min() < 0 or combined:
        raise t.unsupported("it puts elements apart, cuts, or begins with a number")
    # Where each window has one element, it may be any image or channel.
    axes = [axis for axis in range(len(shape)) if (sizes[axis], result[axis]) != (1, shape[axis])]
    if len(axes) > 2:
        raise t.unsupported(f"its windows are of {len(axes)} dimensions")
    others = [axis for axis in range(len(shape)) if axis not in axes]
    whole = Windows(
        sizes, strides, dilations, tuple(padding[:, 0].tolist()), tuple(padding[:, 1].tolist())
    )
    order = (*others, *axes)
    inner = [shape[axis] for axis in axes]
    images = t.view(t.permute(x, order), (1, prod(shape[axis] for axis in others), *inner))
    reduced = pooled(t, images, [result[axis] for axis in axes], whole.of(axes), update)
    viewed = t.view(reduced, [result[axis] for axis in order])
    return t.permute(viewed, np.argsort(order).tolist())


REWRITES: Mapping[str, Rewrite] = {
    "convolution": _convolution,
    "dot_general": _dot_general,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
}
