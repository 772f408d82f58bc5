"""Views: operands of the matched operation, seen by some of its dimensions.

``matmul(f.X[w, ci], ...)`` gives a product the operand X of ``f`` as a matrix. Its rows move with
``w``, in X indexed by ``w``, by ``w + s`` or by ``2 * w`` (then every second one is a row); along
all dimensions of ``f`` that are left out, there is one element. Their order is free, so that a
transposed matrix is a matrix in another layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from morello.rewriting.references import Seen, Sizes, TensorRef, extents_in_memory
from morello.spec.layout import Axis, Order, Packing, contiguity, pack, paged, panel
from morello.spec.machine import Target
from morello.spec.views import Sight


def view_of(
    source: TensorRef, sight: Sight, target: Target, sizes: Sizes | None
) -> tuple[TensorRef, Any]:
    """A view of a tensor, and what must hold for it to be one.

    Args:
        source: What is seen, indexed by dimensions of the matched operation.
        sight: How.
        target: Says where it matters how rows lie.
        sizes: Of the matched operation's dimensions; none while only the structure is looked at.
    """
    seen = Seen(source, sight)
    operand = source.operand.changed(order=_order(source.operand.order, sight.axes))
    if not seen.all:
        operand = operand.changed(weight=False)
    packing = None if sizes is None else _packing(source, sight, target, sizes)
    view = replace(source, operand=operand, indices=sight.indices, packing=packing, seen=seen)
    if sizes is None:
        return view, _along_rows(source, sight)
    return view, _is_seen(source, sight, sizes)


def _order(order: Order, axes: Sequence[Axis]) -> Order:
    """Memory order of a view's dimensions."""
    along = {axis.dimension: position for position, axis in enumerate(axes)}
    return tuple(along[d] for d in order if d in along)


def _along_rows(source: TensorRef, sight: Sight) -> bool:
    """Whether neighbours along a view's fastest dimension are neighbours in memory.

    In registers a row has to begin where the tensor's does.
    """
    order = source.operand.order
    if not order:
        return True
    begins = not source.operand.vector or not sight.starts[order[-1]]
    return begins and (not sight.axes or Axis(order[-1]) in sight.axes)


def _is_seen(source: TensorRef, sight: Sight, sizes: Sizes) -> Any:
    """Whether there is one element along every dimension that a view leaves out.

    Panels stay whole: a view without the margins along them might have parts of some.
    """
    kept = {dim for index in sight.indices for dim, _ in index.terms}
    result: Any = True
    for dim in dict.fromkeys(d for i in source.indices for d, _ in i.terms if d not in kept):
        result = result & (sizes[dim] == 1)
    order = source.operand.order
    if order and _margins(source, sight)[order[-1]]:
        result = result & (panel(source.packing) == 0)
    return result


def _packing(source: TensorRef, sight: Sight, target: Target, sizes: Sizes) -> Packing:
    """How a view is packed: dimensions that it leaves out are no gap, steps and margins are one."""
    if Seen(source, sight).all:
        return source.packing
    width = panel(source.packing)
    whole = len(sight.axes) + (width > 0)
    if not source.operand.moves_lines(target):
        return pack(whole, panel=width)
    inside, gap, step = _runs(source, sight)
    before = contiguity(source.packing)
    inner = np.take(inside, before)
    rows = paged(source.packing)
    if gap is not None:
        within = extents_in_memory(source, sizes)[len(source.operand.order) + 1 - gap :]
        apart = step * prod(within) * source.operand.dtype.bytes % target.page == 0
        rows = np.where(before > gap, apart, rows)
    return pack(inner, np.where(inner < whole, rows, 0), width)


def _runs(source: TensorRef, sight: Sight) -> tuple[list[int], int | None, int]:
    """How many dimensions of a view lie together, for each contiguity of its source.

    Beyond them is the first gap, if there is one: so many dimensions of the source are inside of
    it, and so many runs apart are their neighbours.
    """
    steps = {axis.dimension: axis.step for axis in sight.axes}
    margins = _margins(source, sight)
    inside: list[int] = [0]
    gap: int | None = None
    distance = 1
    for place, dimension in enumerate(reversed(source.operand.order)):
        if gap is None and steps.get(dimension, 1) > 1:
            gap, distance = place, steps[dimension]
        inside.append(inside[-1] + (gap is None and dimension in steps))
        if gap is None and margins[dimension]:
            gap = place + 1
    inside.append(inside[-1] + (gap is None))  # the number of the panel
    return inside, gap, distance


def _margins(source: TensorRef, sight: Sight) -> Mapping[int, int]:
    """How many elements a view does not show, along each dimension of its source."""
    kept = {a.dimension: i.margins for a, i in zip(sight.axes, sight.indices, strict=True)}
    return {d: i.margins - kept.get(d, 0) for d, i in enumerate(source.indices)}
