"""Views: operands of the matched operation, seen by some of its dimensions.

``matmul(f.X[w, ci], ...)`` gives a product the operand X of ``f`` as a matrix. Its rows move with
``w``, in X indexed by ``w``, by ``w + s`` or by ``2 * w`` (then every second one is a row); along
all dimensions of ``f`` that are left out, there is one element. Their order is free, so that a
transposed matrix is a matrix in another layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from morello.rewriting.references import Seen, Sizes, TensorRef, extents_in_memory
from morello.spec.layout import Axis, Order, Packing, contiguity, pack, paged, panel
from morello.spec.machine import Target
from morello.spec.operators import OperandIndex


def view_of(
    source: TensorRef,
    indices: tuple[OperandIndex, ...],
    axes: tuple[Axis, ...],
    target: Target,
    sizes: Sizes | None,
) -> tuple[TensorRef, Any]:
    """A view of a tensor, and what must hold for it to be one.

    Args:
        source: What is seen, indexed by dimensions of the matched operation.
        indices: As `morello.spec.views.axes_of` gives them.
        axes: As it gives them.
        target: Says where it matters how rows lie.
        sizes: Of the matched operation's dimensions; none while only the structure is looked at.
    """
    seen = Seen(source, axes)
    order = _order(source.operand.order, axes)
    operand = replace(source.operand, order=order, weight=source.operand.weight and seen.all)
    packing = None if sizes is None else _packing(source, axes, target, sizes)
    view = replace(source, operand=operand, indices=indices, packing=packing, seen=seen)
    if sizes is None:
        return view, _along_rows(source.operand.order, axes)
    return view, _is_seen(source, indices, sizes)


def _order(order: Order, axes: Sequence[Axis]) -> Order:
    """Memory order of a view's dimensions."""
    along = {axis.dimension: position for position, axis in enumerate(axes)}
    return tuple(along[d] for d in order if d in along)


def _along_rows(order: Order, axes: Sequence[Axis]) -> bool:
    """Whether neighbours along a view's fastest dimension are neighbours in memory."""
    return not axes or Axis(order[-1]) in axes


def _is_seen(source: TensorRef, indices: Sequence[OperandIndex], sizes: Sizes) -> Any:
    """Whether there is one element along every dimension that a view leaves out."""
    kept = {dim for index in indices for dim, _ in index.terms}
    result: Any = True
    for dim in dict.fromkeys(d for i in source.indices for d, _ in i.terms if d not in kept):
        result = result & (sizes[dim] == 1)
    return result


def _packing(source: TensorRef, axes: Sequence[Axis], target: Target, sizes: Sizes) -> Packing:
    """How a view is packed: dimensions that it leaves out are no gap, steps are one."""
    if Seen(source, tuple(axes)).all:
        return source.packing
    width = panel(source.packing)
    whole = len(axes) + (width > 0)
    if not target.moves_lines_from(source.operand.level):
        return pack(whole, panel=width)
    steps = {axis.dimension: axis.step for axis in axes}
    inside: list[int] = [0]
    gap: int | None = None
    for place, dimension in enumerate(reversed(source.operand.order), 1):
        if gap is None and steps.get(dimension, 1) > 1:
            gap = place
        inside.append(inside[-1] + (gap is None and dimension in steps))
    inside.append(inside[-1] + (gap is None))  # the number of the panel
    before = contiguity(source.packing)
    inner = np.take(inside, before)
    rows = paged(source.packing)
    if gap is not None:
        step = steps[source.operand.order[-gap]]
        length = prod(extents_in_memory(source, sizes)[len(source.operand.order) - gap + 2 :])
        apart = step * length * source.operand.dtype.bytes % target.page == 0
        rows = np.where(before >= gap, apart, rows)
    return pack(inner, np.where(inner < whole, rows, 0), width)
