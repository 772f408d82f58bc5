"""Views: operands of the matched operation, seen by some of its dimensions.

``matmul(f.X[w, ci], ...)`` gives a product the operand X of ``f`` as a matrix. Its rows move with
``w``, in X indexed by ``w``, by ``w + s`` or by ``2 * w`` (then every second one is a row); along
all dimensions of ``f`` that are left out, there is one element. Their order is free, so that a
transposed matrix is a matrix in another layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from morello.ir.graphs.data_movement import framed, sliced
from morello.ir.layout import (
    Axis,
    Packing,
    contiguity,
    cuts,
    order_of,
    pack,
    packed_whole,
    paged,
    panel,
)
from morello.ir.numeric import Size, Truth
from morello.ir.sizes import sizes_from
from morello.ir.target import Target
from morello.ir.views import ViewMap, all_of
from morello.records import replace
from morello.rewriting.references import (
    ABSENT,
    OperandView,
    Sizes,
    SpecRef,
    TensorRef,
    extents_in_memory,
)

Seen = tuple[TensorRef, Truth]
"""An operand as it is seen, and what must hold for that."""


def view_of(source: TensorRef, view_map: ViewMap, target: Target, sizes: Sizes | None) -> Seen:
    """A view of a tensor, and what must hold for it to be one.

    Args:
        source: What is seen, indexed by dimensions of the matched operation.
        view_map: How.
        target: Says where it matters how rows lie.
        sizes: Of the matched operation's dimensions; none while only the structure is looked at.
    """
    if view_map.axes and not source.operand.order:
        return source, False  # a single number has no dimension that others could run along
    seen = OperandView(source, view_map)
    operand = source.operand.changed(order=order_of(view_map.axes, source.operand.order))
    if not seen.all:
        operand = operand.changed(weight=False)
    packing = ABSENT if sizes is None else _packing(source, view_map, target, sizes)
    view = replace(source, operand=operand, indices=view_map.indices, packing=packing, view=seen)
    if sizes is None:
        return view, is_seen_along_rows(source, view_map)
    return view, _is_seen(source, view_map, target, sizes)


def fastest_last(seen: list[Seen], target: Target, sizes: Sizes | None) -> list[Seen]:
    """What is copied and where to, with the dimensions last that are fastest in one of both.

    The others come to be of size 1. Kernels that transpose a matrix are for the last two.
    """
    fastest = [tensor.operand.order[-1] for tensor, _ in seen if tensor.operand.order]
    rank = len(seen[0][0].indices)
    order = (*(d for d in range(rank) if d not in fastest), *fastest)
    views = [tensor.view or OperandView(tensor, all_of(tensor.indices)) for tensor, _ in seen]
    moving = any(view.view_map.moving for view in views)
    if len({*fastest}) < len(fastest) or order == tuple(range(rank)) or moving:
        return seen
    turned = (view_of(v.source, v.view_map.turned(order), target, sizes) for v in views)
    return [(view, own & other) for (view, own), (_, other) in zip(turned, seen, strict=True)]


def slice_of(tensors: Sequence[TensorRef], f: SpecRef, target: Target, sizes: Sizes | None) -> Seen:
    """What is between margins of the input, or else of the output, and what must hold for that.

    Args:
        tensors: The operands of the operation, inputs first.
        f: The operation. What does more than to move elements has no such part.
        target: As for `view_of`.
        sizes: As for `view_of`.
    """
    view_map = sliced(f.family.operation) or framed(f.family.operation)
    if view_map is None:
        return tensors[0], False
    return view_of(tensors[view_map.position], view_map, target, sizes)


def is_seen_along_rows(source: TensorRef, view_map: ViewMap) -> bool:
    """Whether neighbours along a view's fastest dimension are neighbours in memory.

    In registers a row is one, and has to begin where the tensor's does.
    """
    order = source.operand.order
    if not order:
        return True
    begins = not source.operand.vector or (view_map.plain and not view_map.starts[order[-1]])
    return begins and (not view_map.axes or Axis(order[-1]) in view_map.axes)


def ends_with_rows(view: TensorRef) -> bool:
    """Whether what is written where a tensor is seen leaves the rest of it as it is.

    In registers a vector is written whole: what is seen has to go on to the end of the row.
    """
    source = view.source
    if view.view is None or not source.operand.vector or not source.operand.order:
        return True
    return not _margins(source, view.view.view_map)[source.operand.order[-1]]


def _is_seen(source: TensorRef, view_map: ViewMap, target: Target, sizes: Sizes) -> Truth:
    """Whether there is one element along every dimension that a view leaves out.

    Where an operation only moves elements, nothing is left out, but some dimensions have to lie
    together. Panels stay whole: a view without the margins along them might have parts of some.
    """
    result: Truth = True
    if view_map.moving is None:
        kept = {dim for index in view_map.indices for dim, _ in index.terms}
        for dim in dict.fromkeys(d for i in source.indices for d, _ in i.terms if d not in kept):
            result = result & (sizes[dim] == 1)
    else:
        result = _lies_together(source, view_map, target, sizes)
    margins, panels = _margins(source, view_map), panel(source.packing)
    for dimension, width in zip(source.operand.order[::-1], cuts(panels), strict=False):
        if margins[dimension] or not view_map.plain:
            result = result & (width == 0)
    return result


def _lies_together(source: TensorRef, view_map: ViewMap, target: Target, sizes: Sizes) -> Truth:
    """Whether every dimension that goes through two has steps of one length.

    Rows follow each other where their tensor is packed that far; of levels that no lines are moved
    from that is not known.
    """
    if not view_map.joins:
        return True
    assert view_map.moving is not None
    shapes = [source.extents(sizes), tuple(index.extent(sizes) for index in view_map.indices)]
    inside = sizes_from(view_map.moving, shapes if view_map.position == 0 else shapes[::-1])
    innermost_first = source.operand.order[::-1]
    known = source.operand.moves_lines(target)
    result: Truth = True
    for join in view_map.joins:
        outer, inner = join.outer_axis, join.inner_axis
        length = inside[join.inner]
        together = np.equal(join.above, join.below * length)
        if outer.dimension == inner.dimension:
            together = together & (outer.step == inner.step * length)
        else:
            place = innermost_first.index(outer.dimension)
            # At place 0, `place - 1` is the outermost dimension, which nothing follows.
            follows = innermost_first[place - 1] == inner.dimension and place and outer.step == 1
            row = shapes[0][inner.dimension]
            packed = np.greater(contiguity(source.packing), place) & bool(follows and known)
            together = together & packed & (row == inner.step * length)
        result = result & (together | (inside[join.outer] == 1))
    return result


def _packing(source: TensorRef, view_map: ViewMap, target: Target, sizes: Sizes) -> Packing:
    """How a view is packed. Dimensions that it leaves out make no gap, steps and margins do.

    From the fastest dimension on they are taken to lie together until there is a gap. What is
    beyond it is apart by as much as its step.
    """
    if OperandView(source, view_map).all:
        return source.packing
    rank = len(source.operand.order)
    everything = packed_whole(len(view_map.axes), panel(source.packing))
    # Nothing asks how rows lie at a level from which no lines are moved.
    if not source.operand.moves_lines(target):
        return everything
    order, page = source.operand.order, target.page
    before, rows = contiguity(source.packing), paged(source.packing)
    extents, margins = extents_in_memory(source, sizes), _margins(source, view_map)
    together: Truth = True
    inner: Size = 0
    # Bytes from one element to the next along the dimension at hand.
    run: Size = source.operand.dtype.bytes
    for place, dimension in enumerate(reversed(order)):
        extent = extents[-1 - place]
        along = [p for p, a in enumerate(view_map.axes) if a.step and a.dimension == dimension]
        # Elements along this dimension that the axes so far span without a gap.
        reach: Size = 1
        for position in sorted(along, key=lambda p: view_map.axes[p].step):
            step = view_map.axes[position].step
            held = together & np.greater(before, place)
            rows = np.where(held & np.not_equal(step, reach), step * run % page == 0, rows)
            together = held & np.equal(step, reach)
            inner = inner + together
            reach = step * view_map.indices[position].extent(sizes)
        run = run * extent
        ends = np.not_equal(reach, extent) if len(along) > 1 else np.bool_(margins[dimension] > 0)
        beyond = together & np.greater(before, place + 1) & ends
        rows = np.where(beyond, run % page == 0, rows)
        together = together & np.logical_not(ends)
    inner = inner + together * sum(axis.step == 0 for axis in view_map.axes)
    for number in range(2):  # of panels, across their width and their height
        inner = inner + (together & np.greater(before, rank + number))
    rows = np.where(inner < contiguity(everything), rows, 0)
    return pack(inner, rows, panel(source.packing))


def _margins(source: TensorRef, view_map: ViewMap) -> Mapping[int, int]:
    """How many elements a view does not show, along each dimension of its source."""
    pairs = zip(view_map.axes, view_map.indices, strict=True)
    kept = {axis.dimension: index.margins for axis, index in pairs if axis.step}
    declared = OperandView(source, view_map).declared
    return {d: i.margins - kept.get(d, 0) for d, i in enumerate(declared)}
