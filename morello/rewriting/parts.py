"""Parts of tensors: what a loop makes of how an operand lies in memory.

Arithmetic on packings and sizes, numbers or arrays. Which operands a loop takes apart is not known
here: that is `morello.rewriting.instantiate`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from morello.rewriting.references import Size, Sizes, TensorRef, inner_and_outer
from morello.spec.layout import Order, Packing, contiguity, pack, paged, panel


def can_be_cut(tensor: TensorRef, sizes: Sizes, dim: str, tile: Size) -> Any:
    """Whether tiles of this size are parts that a tensor's registers or panels can be cut into."""
    order = tensor.operand.order
    if not order or order[-1] not in tensor.indexed_by(dim):
        return True
    if tensor.operand.vector:
        return tile % tensor.operand.lanes == 0
    width = panel(tensor.packing)
    if not np.any(width):
        return True
    step = dict(tensor.indices[order[-1]].terms)[dim] * tile
    extent = tensor.extents({**sizes, dim: tile})[order[-1]]
    in_one = (width % step == 0) & (extent <= step)
    return (width == 0) | (step % np.maximum(width, 1) == 0) | in_one


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
    rank, width, before = len(order), panel(packing), contiguity(packing)
    part = _packed_in_part(order, packing, dimensions)
    if ones:
        part = part + _ones_outside(tensor, sizes, dimensions)
    if np.all(before <= part):
        return packing
    smaller = pack(part, panel=width)
    length, _ = inner_and_outer(tensor.with_packing(smaller), sizes)
    aliasing = length * tensor.operand.dtype.bytes % page == 0
    rows = np.where(packing == whole_packing(rank, packing), aliasing, paged(packing))
    return np.where(before > part, smaller + rows, packing)


def stays_packed(tensor: TensorRef, dim: str, least: Sizes | None = None) -> bool:
    """Whether a strict part along a dimension may have the packing of the whole.

    ``least``: the smallest sizes, where dimensions of size 1 right outside stay packed.
    """
    dimensions = tensor.indexed_by(dim)
    if not dimensions:
        return True
    order, packing = tensor.operand.order, tensor.packing
    part = _packed_in_part(order, packing, dimensions)
    if least is not None:
        part = part + _ones_outside(tensor, least, dimensions)
    return bool(contiguity(packing) <= part)


def _ones_outside(tensor: TensorRef, sizes: Sizes, dimensions: list[int]) -> Size:
    """How many dimensions of size 1 there are right outside the innermost of these."""
    order, extents = tensor.operand.order, tensor.extents(sizes)

    def outside(tiled: Iterable[int]) -> Size:
        ones: Any = True
        count: Size = 0
        for position in reversed(range(max(map(order.index, tiled), default=0))):
            ones = ones & (extents[order[position]] == 1)
            count = count + np.where(ones, 1, 0)
        return count

    within_panels = outside(d for d in dimensions if d != order[-1])
    return np.where(panel(tensor.packing) > 0, within_panels, outside(dimensions))


def _packed_in_part(order: Order, packing: Packing, dimensions: list[int]) -> Packing:
    """How many innermost dimensions of a strict part along these can be packed together at most."""
    rank = len(order)
    within = max((order.index(d) for d in dimensions if d != order[-1]), default=-1)
    by_panels = rank + 1 if within < 0 else rank - within  # whole panels stay packed
    return np.where(panel(packing) > 0, by_panels, rank - max(order.index(d) for d in dimensions))


def narrowed(tensor: TensorRef, sizes: Sizes, page: int) -> Packing:
    """Packing of a part with these sizes: plain where it lies within one panel.

    Its rows are then as far apart as the panel is wide.
    """
    order, packing = tensor.operand.order, tensor.packing
    rank, width, extent = len(order), panel(packing), tensor.extents(sizes)[order[-1]]
    inner = np.minimum(contiguity(packing), np.where(extent < width, 1, rank))
    apart = width * tensor.operand.dtype.bytes % page == 0
    rows = np.where(contiguity(packing) < rank, paged(packing), apart)
    plain = pack(inner, np.where(inner < rank, rows, 0))
    return np.where((width > 0) & (extent <= width), plain, packing)


def whole_packing(rank: int, packing: Packing) -> Packing:
    """The packing of a whole tensor in the same panels."""
    width = panel(packing)
    return pack(rank + (width > 0), panel=width)
