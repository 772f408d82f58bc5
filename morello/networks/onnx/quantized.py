"""Quantized nodes of ONNX: numbers of f32 as whole numbers of few bits, each with a scale.

What is quantized and then computed with in f32 is never stored in few bits, if nothing else reads
it. Products of bytes are products of bytes, summed in 32 bits; convolutions of them are computed in
f32, which is exact for sums below 2^24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.networks.images import convolved
from morello.networks.kinds import Rewrite, Translation, number
from morello.networks.onnx.images import windows_of

WIDE, SUMS = "float32", "int32"


def _quantize(t: Translation) -> str:
    x, scale, *zero = filter(None, t.inputs)
    if t.attribute("block_size", 0):
        raise t.unsupported("blocks have scales of their own")
    factor = _column(t, scale, t.shape(x))
    zeros = _numbers(t, zero[0], t.shape(x)) if zero else ""
    known = [t.network.data(name) for name in (x, factor)]
    if known[0] is not None and known[1] is not None:
        low, high = _limits(t, 0)
        from_zero = np.rint(known[0] / known[1]) + (t.data(zeros, "zero point") if zeros else 0)
        return t.constant(np.clip(from_zero, low, high).astype(t.type(t.node.output)))
    return _narrow(t, t.elementwise("{0} / {1}", x, factor, dtype=WIDE), zeros, 0)


def _limits(t: Translation, place: int) -> tuple[int, int]:
    """The least and the largest number of the type of an output."""
    dtype = t.type(t.node.outputs[place])
    if dtype not in ("int8", "uint8"):
        raise t.unsupported(f"it quantizes to {dtype}")
    return (-128, 127) if dtype == "int8" else (0, 255)


def _narrow(t: Translation, source: str, zero: str, place: int) -> str:
    """Whole numbers of the type of an output: those nearest to these, from a zero point on."""
    low, high = _limits(t, place)
    nearest = "round({0}) + {1}" if zero else "round({0})"
    value = f"max({number(low)}, min({high}, {nearest}))"
    wide = t.elementwise(value, source, *filter(None, [zero]), dtype=WIDE)
    narrow = t.elementwise("{0}", wide, dtype=t.type(t.node.outputs[place]))
    t.network.wide[t.node.outputs[place]] = wide
    return narrow


def _dequantize(t: Translation) -> str:
    x, scale, *zero = filter(None, t.inputs)
    shape = t.shape(x)
    if t.attribute("block_size", 0):
        raise t.unsupported("blocks have scales of their own")
    factor = _column(t, scale, shape)
    own = t.network.data(x)
    if own is not None:
        zeros = t.data(_column(t, zero[0], shape), "zero point") if zero else 0
        data = own.astype(np.float32) - np.asarray(zeros, np.float32)
        return t.constant((data * t.data(factor, "factor")).astype(np.float32))
    if not zero:
        return t.elementwise("{0} * {1}", _wide(t, x), factor)
    return t.elementwise("({0} - {1}) * {2}", _wide(t, x), _numbers(t, zero[0], shape), factor)


def _column(t: Translation, name: str, shape: Sequence[int]) -> str:
    """A number for all of a tensor, or one for each place along a dimension, as it broadcasts."""
    own = t.shape(name)
    if prod(own) == 1:
        return t.view(name, ())
    axis = int(t.attribute("axis", 1)) % len(shape)
    return t.view(name, tuple(n if place == axis else 1 for place, n in enumerate(shape)))


def _wide(t: Translation, name: str) -> str:
    """The same numbers in f32."""
    data = t.network.data(name)
    if data is not None:
        return t.constant(data.astype(np.float32))
    known = t.network.wide.get(name)
    return known or t.elementwise("{0}", name, dtype=WIDE)


def _numbers(t: Translation, name: str, shape: Sequence[int]) -> str:
    return _column(t, _wide(t, name), shape)


def _dynamically(t: Translation) -> Sequence[str]:
    """With a scale and a zero point that the least and the largest number give."""
    x = t.inputs[0]
    axes = range(len(t.shape(x)))

    def end(update: str, value: str) -> str:
        return t.elementwise(value, t.view(t.reduce(x, [*axes], update), ()), dtype=WIDE)

    low, high = end("min=", "min({0}, 0)"), end("max=", "max({0}, 0)")
    scale = t.elementwise("({1} - {0}) / 255 if {0} != {1} else 1", low, high, dtype=WIDE)
    ratio = t.elementwise("(0 - {0}) / {1}", low, scale, dtype=WIDE)
    zero = _narrow(t, ratio, "", 2)
    steps = t.elementwise("{0} / {1}", x, scale, dtype=WIDE)
    return _narrow(t, steps, t.network.wide[t.node.outputs[2]], 0), scale, zero


# --------------------------------------------------------------------------- products


def _matmul_integer(t: Translation) -> str:
    a, b = t.inputs[:2]
    return _product(t, a, b, t.input(2), t.input(3))


def _product(t: Translation, a: str, b: str, a_zero: str, b_zero: str) -> str:
    """Sums of products of bytes, less what their zero points add to them.

    The second one is of signed bytes, as instructions want it: others are moved by 128.
    """
    if min(len(t.shape(a)), len(t.shape(b))) < 2:
        raise t.unsupported("it multiplies a vector without a second dimension")
    zeros = np.zeros((), np.int32) if not b_zero else t.data(b_zero, "zero point").astype(np.int32)
    if t.type(b) == "uint8":
        moved = t.data(b, "second input").astype(np.int32) - 128
        b, zeros = t.constant(moved.astype(np.int8)), zeros - 128
    if zeros.size > 1 or (a_zero and prod(t.shape(a_zero)) > 1):
        raise t.unsupported("rows or columns have zero points of their own")
    own, size = t.shape(a), t.shape(a)[-1]
    rows = t.view(a, (prod(own[:-1]), size)) if len(t.shape(b)) == 2 else a
    result = t.product(rows, b, dtype=SUMS)
    zero = int(zeros.reshape(()))
    if zero:
        wide = t.elementwise("{0}", rows, dtype=SUMS)
        sums = t.reduce(wide, [len(t.shape(rows)) - 1], "+=")
        result = t.elementwise(f"{{0}} - {number(zero)} * {{1}}", result, sums, dtype=SUMS)
    if a_zero:
        first = t.elementwise("{0}", t.view(a_zero, ()), dtype=SUMS)
        columns = (
            t.data(b, "second input").sum(axis=-2, keepdims=True, dtype=np.int32) - size * zero
        )
        result = t.elementwise("{0} - {1} * {2}", result, first, t.constant(columns), dtype=SUMS)
    return t.view(result, (*own[:-1], t.shape(b)[-1]))


def _qlinear_matmul(t: Translation) -> str:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = t.inputs
    result = _product(t, a, b, a_zero, b_zero)
    return _requantized(t, result, (a_scale, b_scale, scale), zero, len(t.shape(result)) - 1)


def _requantized(
    t: Translation, sums: str, scales: tuple[str, str, str], zero: str, axis: int
) -> str:
    first, second, last = (t.data(name, "factor").astype(np.float64) for name in scales)
    factor = np.asarray(first * second / last, np.float32)
    rank = len(t.shape(sums))
    if factor.size > 1:
        factor = factor.reshape([-1 if place == axis else 1 for place in range(rank)])
    if t.type(sums) != WIDE:
        sums = t.elementwise("{0}", sums, dtype=WIDE)
    steps = t.elementwise("{0} * {1}", sums, t.constant(factor), dtype=WIDE)
    return _narrow(t, steps, t.view(_wide(t, zero), ()), 0)


# --------------------------------------------------------------------------- convolutions


def _convolution(t: Translation, x: str, zero: str, w: str, w_zero: str) -> str:
    data = t.data(w, "filter").astype(np.float32)
    if w_zero:
        zeros = t.data(w_zero, "zero point").astype(np.float32)
        data = data - zeros.reshape(-1, *(1,) * (data.ndim - 1))
    image = _wide(t, x)
    if zero:
        image = t.elementwise("{0} - {1}", image, t.view(_wide(t, zero), ()), dtype=WIDE)
    return convolved(t, image, data, windows_of(t, data.shape[2:]), int(t.attribute("group", 1)))


def _conv_integer(t: Translation) -> str:
    x, w = t.inputs[:2]
    return t.elementwise("{0}", _convolution(t, x, t.input(2), w, t.input(3)))


def _qlinear_conv(t: Translation) -> str:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero = t.inputs[:8]
    sums = _convolution(t, x, x_zero, w, w_zero)
    if t.input(8):
        column = t.data(t.input(8), "bias").astype(np.float32).reshape(-1, 1, 1)
        sums = t.elementwise("{0} + {1}", sums, t.constant(column), dtype=WIDE)
    return _requantized(t, sums, (x_scale, w_scale, scale), zero, 1)


REWRITES: Mapping[str, Rewrite] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamically,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
