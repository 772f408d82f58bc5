"""Quantized nodes of ONNX: numbers of f32 as whole numbers of few bits, each with a scale.

What is quantized and then computed with in f32 is never stored in few bits, if nothing else reads
it. Products and convolutions of bytes are such, summed in 32 bits, also where a file converts both
operands to f32 before. Convolutions of few channels are computed in f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.networks.byte_products import (
    SUMS,
    WIDE,
    correlated,
    multiplied,
    scaled,
    signed,
    wide,
    worthwhile,
)
from morello.networks.images import convolved
from morello.networks.kinds import Rewrite, Translation, number
from morello.networks.network import Quantized
from morello.networks.onnx.images import windows_of


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
    if own := _as_it_was(t, x, factor, zeros):
        return own
    joined = next((n for n in t.network.nodes if n.operator == "Concat" and x in n.outputs), None)
    if joined is None or {t.shape(factor), t.shape(zeros) if zeros else ()} != {()}:
        return _narrow(t, t.elementwise("{0} / {1}", x, factor, dtype=WIDE), zeros, 0)
    parts = [
        _as_it_was(t, part, factor, zeros)
        or _nearest(t, t.elementwise("{0} / {1}", part, factor, dtype=WIDE), zeros, 0)[0]
        for part in filter(None, joined.inputs)
        if 0 not in t.shape(part)
    ]
    return t.concat(parts, int(joined.attributes.get("axis", 0)) % len(t.shape(x)))


def _as_it_was(t: Translation, x: str, factor: str, zeros: str) -> str:
    """The bytes that a tensor stands for, if they are what it is quantized to; else none."""
    known = t.network.quantized.get(x)
    if known is None or not known.alike or t.type(known.whole) != t.type(t.node.output):
        return ""
    own = t.network.data(factor), t.network.data(zeros) if zeros else np.zeros(())
    alike = all(
        data is not None and data.size == 1 and data.reshape(()) == wanted.reshape(())
        for data, wanted in zip(own, (known.factor, known.zero), strict=True)
    )
    return known.whole if alike else ""


def _limits(t: Translation, place: int) -> tuple[int, int]:
    """The least and the largest number of the type of an output."""
    dtype = t.type(t.node.outputs[place])
    if dtype not in ("int8", "uint8"):
        raise t.unsupported(f"it quantizes to {dtype}")
    return (-128, 127) if dtype == "int8" else (0, 255)


def _narrow(t: Translation, source: str, zero: str, place: int) -> str:
    """Whole numbers of the type of an output: those nearest to these, from a zero point on."""
    narrow, t.network.wide[t.node.outputs[place]] = _nearest(t, source, zero, place)
    return narrow


def _nearest(t: Translation, source: str, zero: str, place: int) -> tuple[str, str]:
    """The same, and these numbers in f32."""
    low, high = _limits(t, place)
    nearest = "round({0}) + {1}" if zero else "round({0})"
    value = f"max({number(low)}, min({high}, {nearest}))"
    in_f32 = t.elementwise(value, source, *filter(None, [zero]), dtype=WIDE)
    return t.elementwise("{0}", in_f32, dtype=t.type(t.node.outputs[place])), in_f32


def _dequantize(t: Translation) -> str:
    x, scale, *zero = filter(None, t.inputs)
    shape = t.shape(x)
    if t.attribute("block_size", 0):
        raise t.unsupported("blocks have scales of their own")
    factor = _column(t, scale, shape)
    own = t.network.data(x)
    _remember(t, x, factor, _column(t, zero[0], shape) if zero else "")
    if own is not None:
        zeros = t.data(_column(t, zero[0], shape), "zero point") if zero else 0
        data = own.astype(np.float32) - np.asarray(zeros, np.float32)
        return t.constant((data * t.data(factor, "factor")).astype(np.float32))
    if not zero:
        return t.elementwise("{0} * {1}", wide(t, x), factor)
    return t.elementwise("({0} - {1}) * {2}", wide(t, x), _numbers(t, zero[0], shape), factor)


def _remember(t: Translation, x: str, factor: str, zero: str) -> None:
    """What the node's output stands for, where that is bytes and known numbers."""
    factors = t.network.data(factor)
    zeros = t.network.data(zero) if zero else np.zeros((), np.int32)
    if t.type(x) in ("int8", "uint8") and factors is not None and zeros is not None:
        t.network.quantized[t.node.output] = Quantized(x, factors, zeros)


def _column(t: Translation, name: str, shape: Sequence[int]) -> str:
    """A number for all of a tensor, or one for each place along a dimension, as it broadcasts."""
    own = t.shape(name)
    if prod(own) == 1:
        return t.view(name, ())
    axis = int(t.attribute("axis", 1)) % len(shape)
    return t.view(name, tuple(n if place == axis else 1 for place, n in enumerate(shape)))


def _numbers(t: Translation, name: str, shape: Sequence[int]) -> str:
    return _column(t, wide(t, name), shape)


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
    """Sums of products of bytes, less what their zero points add to them."""
    if min(len(t.shape(a)), len(t.shape(b))) < 2:
        raise t.unsupported("it multiplies a vector without a second dimension")
    if a_zero and prod(t.shape(a_zero)) > 1:
        raise t.unsupported("rows have zero points of their own")
    zeros = np.zeros((), np.int32) if not b_zero else t.data(b_zero, "zero point").astype(np.int32)
    data = t.network.data(b)
    if data is not None and data.ndim == 2 and (matrix := signed(data, zeros)) is not None:
        return multiplied(t, a, _known(t, a_zero), matrix)
    if zeros.size > 1:
        raise t.unsupported("columns have zero points of their own")
    if t.type(b) == "uint8":
        less = t.data(b, "second input").astype(np.int32) - 128
        b, zeros = t.constant(less.astype(np.int8)), zeros - 128
    own, size = t.shape(a), t.shape(a)[-1]
    rows = t.view(a, (prod(own[:-1]), size)) if len(t.shape(b)) == 2 else a
    result = t.product(rows, b, dtype=SUMS)
    zero = int(zeros.reshape(()))
    if zero:
        summed = t.elementwise("{0}", rows, dtype=SUMS)
        sums = t.reduce(summed, [len(t.shape(rows)) - 1], "+=")
        result = t.elementwise(f"{{0}} - {number(zero)} * {{1}}", result, sums, dtype=SUMS)
    if a_zero:
        first = t.elementwise("{0}", t.view(a_zero, ()), dtype=SUMS)
        columns = (
            t.data(b, "second input").sum(axis=-2, keepdims=True, dtype=np.int32) - size * zero
        )
        result = t.elementwise("{0} - {1} * {2}", result, first, t.constant(columns), dtype=SUMS)
    return t.view(result, (*own[:-1], t.shape(b)[-1]))


def _known(t: Translation, zero: str) -> int | str:
    """A zero point, or what computes it."""
    data = np.zeros(()) if not zero else t.network.data(zero)
    return zero if data is None else int(data.reshape(()))


def _qlinear_matmul(t: Translation) -> str:
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = t.inputs
    result = _product(t, a, b, a_zero, b_zero)
    return _requantized(t, result, (a_scale, b_scale, scale), zero, len(t.shape(result)) - 1)


def _requantized(
    t: Translation, sums: str, scales: tuple[str, str, str], zero: str, axis: int
) -> str:
    first, second, last = (t.data(name, "factor").astype(np.float64) for name in scales)
    factor = np.asarray(first * second / last, np.float32)
    return _narrow(t, scaled(t, sums, factor, axis), t.view(wide(t, zero), ()), 0)


# --------------------------------------------------------------------------- convolutions


def _convolution(t: Translation, x: str, zero: str, w: str, w_zero: str) -> str:
    """Sums in 32 bits, or in f32 where that is faster, or pixels have no known zero point."""
    data, zeros = t.data(w, "filter"), np.zeros((), np.int32)
    if w_zero:
        zeros = t.data(w_zero, "zero point").reshape(-1, *(1,) * (data.ndim - 1))
    windows, groups = windows_of(t, data.shape[2:]), int(t.attribute("group", 1))
    own, filters = _known(t, zero), signed(data, zeros)
    if isinstance(own, int) and filters is not None and worthwhile(t.shape(x), data.shape, groups):
        return correlated(t, x, own, filters, windows, groups)
    image = wide(t, x)
    if zero:
        image = t.elementwise("{0} - {1}", image, t.view(wide(t, zero), ()), dtype=WIDE)
    return convolved(t, image, data.astype(np.float32) - zeros.astype(np.float32), windows, groups)


def _conv_integer(t: Translation) -> str:
    x, w = t.inputs[:2]
    return t.cast(_convolution(t, x, t.input(2), w, t.input(3)))


def _qlinear_conv(t: Translation) -> str:
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero = t.inputs[:8]
    sums = _convolution(t, x, x_zero, w, w_zero)
    if t.input(8):
        dtype = t.type(sums)
        column = t.data(t.input(8), "bias").astype(dtype)
        column = column.reshape(-1, *(1,) * (len(t.shape(sums)) - 2))
        sums = t.elementwise("{0} + {1}", sums, t.constant(column), dtype=dtype)
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
