"""Which alternatives are sweeps, and what each of their tile sizes needs.

Variants with the same sizes share what was worked out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from morello.ir.numeric import Array, Ints
from morello.records import replace
from morello.search.solving.arranged import Arranged, Child
from morello.search.solving.sweep import Group, SweepPlan, Term
from morello.search.tables.gather import Gather, Index, Separable, Table, plan_gather
from morello.search.tables.scratch import Part


class SweepPlanner:
    """Plans sweeps for one search."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], tuple[Group, ...]] = {}

    def plan(self, arranged: Arranged) -> SweepPlan | None:
        """The sweep of an alternative, or none where it does not have that form."""
        if not arranged.tiled:
            return None
        rank = len(arranged.shape)
        axes = _axes([arranged.mask, *(child.weight for child in arranged.children)], rank)
        if len(axes) != 1:
            return None
        axis = axes.pop()
        followed = [_follow(child, axis, rank) for child in arranged.children]
        found = [pair for pair in followed if pair is not None]
        wide = [a for a, n in enumerate(arranged.shape) if a != axis and n > 1]
        # Blocks are cut along the first axis of the columns, so that there has to be one.
        if len(found) < len(followed) or not wide:
            return None
        ones = [a for a in range(rank) if a != axis and a not in wide]
        gathers = tuple(gather for gather, _ in found)
        plan = SweepPlan((axis, *wide, *ones), len(wide), gathers, ())
        return replace(plan, groups=self._shared(arranged, [rows for _, rows in found], plan))

    def _shared(self, arranged: Arranged, rows: list[Ints], plan: SweepPlan) -> tuple[Group, ...]:
        weights = [child.weight for child in arranged.children]
        arrays = (arranged.mask, arranged.cost, *weights, *rows)
        key = (plan.axes, plan.columns, arranged.lists, *((a.shape, a.tobytes()) for a in arrays))
        if key not in self._groups:
            self._groups[key] = tuple(_groups(arranged, rows, plan))
        return self._groups[key]


def _axes(arrays: list[Array], rank: int) -> set[int]:
    """Axes of the box that any of these depends on."""
    return {
        axis
        for array in arrays
        for axis, length in enumerate(array.shape[array.ndim - rank :])
        if length > 1
    }


def _follow(child: Child, axis: int, rank: int) -> tuple[Gather | None, Ints] | None:
    """How to bring a child's axes into place, and which of its rows each (tile, row) refers to.

    The table itself is in place. None if more than one of a child's coordinates varies with the
    tile, or if the table itself would have to be brought into place.
    """
    indices: list[Ints] = []
    moving: Ints | None = None
    for index, length in zip(child.indices, child.shape, strict=True):
        follows = _axes([index], rank)
        if index.ndim == rank and axis not in follows:
            indices.append(index)
            continue
        if moving is not None or follows - {axis}:
            return None
        moving = index
        shape = [-1 if a == axis else 1 for a in range(rank)]
        indices.append(np.arange(length).reshape(shape))
    if moving is None:
        return None
    gather = plan_gather(indices, child.shape, rank)
    if not child.own:
        return gather, moving
    # A later tile size has to see what an earlier one of the same block changed: it reads the block
    # itself, whose columns are those of the table.
    return (None, moving) if _is_identity(gather) else None


def _is_identity(gather: Gather) -> bool:
    match gather:
        case Separable(indices=indices, order=order):
            whole = all(isinstance(i, int) or _is_all(i) for i in indices)
            return whole and order == tuple(range(len(order)))
    return False


def _is_all(index: Index) -> bool:
    return isinstance(index, slice) and index == slice(None)


def _groups(arranged: Arranged, rows: list[Ints], plan: SweepPlan) -> Iterator[Group]:
    axis, rank = plan.axes[0], len(arranged.shape)
    shape = (arranged.positions, arranged.shape[axis])

    def grid(array: Array) -> Array:
        """A (tile, axis) array, of two axes."""
        lengths = (array.shape[0] if array.ndim > rank else 1, array.shape[axis - rank])
        return np.broadcast_to(array.reshape(lengths), shape)

    mask = grid(arranged.mask)
    weights = [grid(child.weight) for child in arranged.children]
    followed = [grid(r) for r in rows]
    # A child that is not there has to be left out: a weight of 0 would make NaN of an infinite
    # cost. So rows are grouped by the children that are there, a bit for each.
    code = np.zeros(shape, dtype=np.int64)
    for bit, weight in enumerate(weights):
        code |= (weight > 0).astype(np.int64) << bit
    for position in np.flatnonzero(mask.any(axis=1)).tolist():
        cost, volume = (plan.view(_at(a, position, rank)) for a in (arranged.cost, arranged.volume))
        for pattern in sorted(set(code[position][mask[position]].tolist())):
            here = np.flatnonzero(mask[position] & (code[position] == pattern))
            terms = tuple(
                _term(i, followed[i][position, here], weights[i][position, here], plan.columns)
                for i in range(len(weights))
                if pattern >> i & 1
            )
            part = _part(here)
            base = _base(cost[here] if len(cost) > 1 else cost, volume[part.index])
            yield Group(position, part, None if terms and not base.any() else base, terms)


def _at(array: Array, position: int, rank: int) -> Array:
    """What holds for one tile size."""
    if array.ndim == rank:
        return array
    found: Array = array[position if array.shape[0] > 1 else 0]
    return found


def _base(cost: Array, volume: Array) -> Table:
    base: Table = (cost / volume).astype(np.float32)
    return base[:1] if len(base) > 1 and (base == base[:1]).all() else base


def _term(source: int, rows: Ints, weights: Array, columns: int) -> Term:
    chosen: Index = rows
    if (rows == rows[0]).all():
        chosen = slice(int(rows[0]), int(rows[0]) + 1)
    weight = weights.astype(np.float32)
    if (weight == 1).all():
        return Term(source, chosen, None)
    return Term(source, chosen, weight.reshape((-1,) + (1,) * columns))


def _part(rows: Ints) -> Part:
    first, last = int(rows[0]), int(rows[-1]) + 1
    sliced = last - first == len(rows)
    return Part(slice(first, last) if sliced else rows, sliced)
