"""Parts of tensors: what a loop makes of how an operand lies in memory.

Arithmetic on packings and sizes, numbers or arrays. Which operands a loop takes apart is not known
here: that is `morello.rewriting.instantiate`.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from morello.ir import layout
from morello.ir.layout import Packing, contiguity, cut_at, cuts, pack, packed_whole, paged, panel
from morello.ir.numeric import Size, Truth
from morello.rewriting.references import Sizes, TensorRef, inner_and_outer


def can_be_cut(tensor: TensorRef, sizes: Sizes, dim: str, tile: Size) -> Truth:
    """Whether tiles of this size are parts that a tensor's registers or panels can be cut into.

    Panels with a height are taken apart along it first. Until then loops leave more of the width
    than one panel, or what there is of the last one.
    """
    order, along = tensor.operand.order, tensor.indexed_by(dim)
    if not order or not {*order[-2:]} & {*along}:
        return True
    if tensor.operand.vector:
        return order[-1] not in along or tile % tensor.operand.lanes == 0
    result: Truth = True
    size = cuts(panel(tensor.packing))
    for dimension, width in zip(order[::-1], size, strict=False):
        if dimension not in along or not np.any(width):
            continue
        step = dict(tensor.indices[dimension].terms)[dim] * tile
        extent = tensor.extents({**sizes, dim: tile})[dimension]
        in_one = (width % step == 0) & (extent <= step)
        if dimension == order[-1] and np.any(size[1]):
            last = tensor.extents({**sizes, dim: sizes[dim] % tile})[dimension]
            in_one = in_one & (size[1] == 0)
            result = result & ((size[1] == 0) | ((extent > width) & (last != width)))
        result = result & ((width == 0) | (step % np.maximum(width, 1) == 0) | in_one)
    return result


def less_contiguous(
    tensor: TensorRef, sizes: Sizes, dimensions: list[int], page: int, *, ones: bool = False
) -> Packing:
    """Packing of a strict part along these dimensions, of which panels are not cut.

    Dimensions inside the tiled ones stay packed with them; those outside no longer are. Rows that
    were packed until now are apart by as much as they are long.

    Args:
        tensor: What the part is of.
        sizes: Of the iteration dimensions.
        dimensions: Logical ones, of the tensor.
        page: Bytes.
        ones: Whether dimensions of size 1 right outside the tiled ones stay packed, too.
    """
    order, packing = tensor.operand.order, tensor.packing
    rank, before = len(order), contiguity(packing)
    part = _packed_in_part(tensor, dimensions)
    if ones:
        part = part + _ones_outside(tensor, sizes, dimensions)
    if np.all(before <= part):
        return packing
    smaller = pack(part, panel=panel(packing))
    length, _ = inner_and_outer(tensor.with_packing(smaller), sizes)
    aliasing = length * tensor.operand.dtype.bytes % page == 0
    whole = packed_whole(rank, panel(packing))
    rows = np.where(packing == whole, aliasing, paged(packing))
    return np.where(before > part, smaller + rows, packing)


def stays_packed(tensor: TensorRef, dim: str, least: Sizes | None = None) -> bool:
    """Whether a strict part along a dimension may have the packing of the whole.

    ``least``: the smallest sizes, where dimensions of size 1 right outside stay packed.
    """
    dimensions = tensor.indexed_by(dim)
    if not dimensions:
        return True
    part = _packed_in_part(tensor, dimensions)
    if least is not None:
        part = part + _ones_outside(tensor, least, dimensions)
    return bool(contiguity(tensor.packing) <= part)


def _ones_outside(tensor: TensorRef, sizes: Sizes, dimensions: list[int]) -> Size:
    """How many dimensions of size 1 there are right outside the innermost of these.

    Outside of panels there are none.
    """
    order, extents = tensor.operand.order, tensor.extents(sizes)

    def outside(cut: tuple[int, ...]) -> Size:
        ones: Truth = True
        count: Size = 0
        tiled = [order.index(d) for d in dimensions if d not in cut]
        for position in reversed(range(max(tiled, default=0))):
            ones = ones & (extents[order[position]] == 1)
            count = count + np.where(ones, 1, 0)
        return count

    width, height = (np.greater(n, 0) for n in cuts(panel(tensor.packing)))
    result: Size = np.where(width, outside(order[-1:]), outside(()))
    if np.any(height):
        tall = np.where(width, outside(order[-2:]), outside(order[-2:-1]))
        result = np.where(height, tall, result)
    return result


def _packed_in_part(tensor: TensorRef, dimensions: list[int]) -> Packing:
    """How many innermost dimensions of a strict part along these can be packed together at most."""
    ways = (cut_at(tensor.operand.order, tensor.packing, d) for d in dimensions)
    return reduce(np.minimum, ways)


def narrowed(tensor: TensorRef, sizes: Sizes, page: int) -> Packing:
    """Packing of a part with these sizes: not cut along what lies within one panel."""
    extents = tensor.extents(sizes)
    ordered = [extents[d] for d in tensor.operand.order]
    return layout.narrowed(tensor.packing, ordered, page // tensor.operand.dtype.bytes)
