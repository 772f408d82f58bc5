"""What is done with bytes that stand for other numbers.

Products and convolutions are summed in 32 bits, which is exact. Instructions multiply unsigned
bytes with signed ones, four at a time. So what comes is unsigned, and what is known ahead signed.
Bytes that are not are moved by 128. What only moves elements, or takes the largest, does the same
to bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from morello.ir.numeric import Array
from morello.networks.images import Windows, convolved, elements_of, padded
from morello.networks.kinds import Rewrite, Translation, number
from morello.networks.network import Network, Node, Quantized
from morello.records import replace

WIDE, SUMS = "float32", "int32"

AT_ONCE = 4
"""Bytes that instructions multiply at once: of fewer channels f32 is faster."""


def wide(t: Translation, name: str) -> str:
    """Whole numbers in f32."""
    data = t.network.data(name)
    if data is not None:
        return t.constant(data.astype(np.float32))
    known = t.network.wide.get(name)
    return known or t.elementwise("{0}", name, dtype=WIDE)


def unsigned(t: Translation, name: str) -> tuple[str, int]:
    """Bytes as unsigned ones, and by how much they were moved."""
    if t.type(name) == "uint8":
        return name, 0
    moved = t.elementwise("{0} + 128", wide(t, name), dtype=WIDE)
    return t.elementwise("{0}", moved, dtype="uint8"), 128


def signed(data: Array, zero: Array) -> Array | None:
    """Bytes less their zero points, as signed ones; none where these are too large."""
    less = data.astype(np.int32) - zero.astype(np.int32)
    return less.astype(np.int8) if less.min() >= -128 and less.max() <= 127 else None


def correlated(
    t: Translation, image: str, zero: int, filters: Array, windows: Windows, groups: int
) -> str:
    """Images of bytes from a zero point on, with filters of signed bytes, as `convolved` says."""
    image, moved = unsigned(t, image)
    around = zero + moved
    windows = replace(windows, around=around)
    if t.shape(image)[1] // groups < AT_ONCE:
        image, filters, windows = _with_columns(t, image, filters, windows)
    result = convolved(t, image, filters, windows, groups)
    if not around:
        return result
    sums = filters.reshape(len(filters), -1).sum(axis=1, dtype=np.int32) * np.int32(around)
    column = t.constant(sums.reshape(-1, *(1,) * (len(t.shape(result)) - 2)))
    return t.elementwise("{0} - {1}", result, column, dtype=SUMS)


def worthwhile(image: Sequence[int], filters: Sequence[int], groups: int) -> bool:
    """Whether convolutions of images of a shape gain by bytes, as they are or `_with_columns`."""
    own = image[1] // groups
    return own >= AT_ONCE or (groups == 1 and len(image) == 4 and own * filters[3] >= AT_ONCE)


def _with_columns(
    t: Translation, image: str, filters: Array, windows: Windows
) -> tuple[str, Array, Windows]:
    """The same convolution of more channels: those at each place along a row of the window."""
    image = padded(t, image, windows)
    along, columns = windows.of([0]), replace(windows.of([1]), before=(0,), after=(0,))
    counts = columns.counts(t.shape(image)[3:])
    channels = t.concat([own for _, own in elements_of(t, image, [3], counts, columns)], 1)
    turned = filters.transpose(0, 3, 1, 2)
    single = Windows((*along.sizes, 1), (*along.strides, 1), (*along.dilations, 1), (0, 0), (0, 0))
    return channels, turned.reshape(len(filters), -1, filters.shape[2], 1), single


def multiplied(t: Translation, rows: str, zero: int | str, matrix: Array) -> str:
    """Rows of bytes from a zero point on, known or computed, times a matrix of signed bytes."""
    own, sums = t.shape(rows), matrix.sum(axis=0, dtype=np.int32)
    rows, moved = unsigned(t, rows)
    result = t.product(t.view(rows, (prod(own[:-1]), own[-1])), t.constant(matrix), dtype=SUMS)
    if isinstance(zero, str):
        first = t.elementwise(f"{{0}} + {moved}" if moved else "{0}", t.view(zero, ()), dtype=SUMS)
        result = t.elementwise("{0} - {1} * {2}", result, first, t.constant(sums), dtype=SUMS)
    elif zero + moved:
        columns = t.constant(sums * np.int32(zero + moved))
        result = t.elementwise("{0} - {1}", result, columns, dtype=SUMS)
    return t.view(result, (*own[:-1], matrix.shape[-1]))


# --------------------------------------------------------------------------- in the place of f32


def same_of_bytes(rewrite: Rewrite) -> Rewrite:
    """Of a node that moves elements, or takes the largest ones: on bytes that stand for them."""

    def of_bytes(t: Translation) -> str | Sequence[str]:
        known = t.network.quantized.get(t.inputs[0])
        if known is None or not known.alike or len(t.node.results) > 1:
            return rewrite(t)
        node = replace(t.node, inputs=(known.whole, *t.inputs[1:]))
        result = rewrite(Translation(t.network, node, t.nodes))
        whole = result if isinstance(result, str) else result[0]
        t.network.quantized[t.node.output] = replace(known, whole=whole)
        if t.network.data(t.inputs[0]) is not None:
            return rewrite(t)
        zero, factor = (number(float(own.reshape(()))) for own in (known.zero, known.factor))
        return t.elementwise(f"({{0}} - {zero}) * {factor}", wide(t, whole), dtype=WIDE)

    return of_bytes


def read_stored_bytes(network: Network) -> None:
    """Read whole numbers as the bytes that are stored anyway, not as the same in f32 besides."""
    if not network.wide:
        return
    base = dict[str, str]()
    for node in network.nodes:
        if node.operator == "View":
            base[node.output] = base.get(node.inputs[0], node.inputs[0])
    stored = {
        base.get(name, name)
        for node in network.nodes
        if node.operator not in ("Elementwise", "View")
        for name in node.inputs
    } | {base.get(name, name) for name in network.outputs}
    narrowed = {base.get(narrow, narrow): own for narrow, own in network.wide.items()}
    again, nodes = dict[str, str](), list[Node]()
    for node in network.nodes:
        if node.output in narrowed:  # what makes bytes of them reads them
            nodes.append(node)
            own = narrowed[node.output]
            if node.output in stored:
                again[own] = network.new(own, network.shape(own))
                attributes = {"value": "{0}"}
                nodes.append(
                    Node("Elementwise", node.name, (node.output,), (again[own],), attributes)
                )
        else:
            nodes.append(replace(node, inputs=tuple(again.get(n, n) for n in node.inputs)))
    network.nodes = nodes
    network.drop_unused()


def quantized_product(t: Translation, a: str, b: str, *, swap_b: bool = False) -> str | None:
    """A product of tensors that bytes stand for, the second one known; none where it is not so."""
    given = _operands(t, a, b, -1 if not swap_b else -2)
    if given is None or len(t.shape(a)) < 2 or len(t.shape(b)) != 2:
        return None
    rows, zero, matrix, factor = given
    result = multiplied(t, rows, zero, np.ascontiguousarray(matrix.T) if swap_b else matrix)
    return scaled(t, result, factor, len(t.shape(result)) - 1)


def quantized_convolution(
    t: Translation, x: str, w: str, windows: Windows, groups: int
) -> str | None:
    """The same of a convolution. If f32 is faster, bytes are widened behind the padding."""
    given = _operands(t, x, w, 0)
    if given is None:
        return None
    image, zero, filters, factor = given
    if worthwhile(t.shape(x), t.shape(w), groups):
        sums = correlated(t, image, zero, filters, windows, groups)
    else:
        image = wide(t, padded(t, image, replace(windows, around=zero)))
        image = t.elementwise(f"{{0}} - {zero}", image, dtype=WIDE)
        none = (0,) * len(windows.sizes)
        bare = replace(windows, before=none, after=none)
        sums = convolved(t, image, filters.astype(np.float32), bare, groups)
    return scaled(t, sums, factor, 1)


def _operands(
    t: Translation, first: str, second: str, axis: int
) -> tuple[str, int, Array, Array] | None:
    """The first operand's bytes and zero point, the second one's signed bytes, and the factor.

    The factor is one number, or one for each place along a dimension of the second.
    """
    pair = [t.network.quantized.get(name) for name in (first, second)]
    if pair[0] is None or pair[1] is None:
        return None
    own, other = pair[0], pair[1]
    data = t.network.data(other.whole)
    if data is None or own.factor.size > 1 or own.zero.size > 1 or not _along(other, data, axis):
        return None
    less = signed(data, other.zero)
    if less is None:
        return None
    factor = own.factor.astype(np.float64).reshape(()) * other.factor.astype(np.float64)
    return own.whole, int(own.zero.reshape(())), less, factor.astype(np.float32).reshape(-1)


def _along(quantized: Quantized, data: Array, axis: int) -> bool:
    """Whether factors are one number, or differ along a dimension only."""
    factor = quantized.factor
    return factor.size == 1 or (
        factor.ndim == data.ndim and factor.size == factor.shape[axis] == data.shape[axis]
    )


def scaled(t: Translation, sums: str, factor: Array, axis: int) -> str:
    """Sums in f32, times a number or one for each place along a dimension."""
    rank = len(t.shape(sums)) if factor.size > 1 else 0
    column = factor.reshape([-1 if place == axis else 1 for place in range(rank)])
    if t.type(sums) != WIDE:
        sums = t.elementwise("{0}", sums, dtype=WIDE)
    return t.elementwise("{0} * {1}", sums, t.constant(column), dtype=WIDE)
