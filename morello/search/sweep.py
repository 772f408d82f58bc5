"""Tilings of one dimension, all tile sizes of an alternative together.

For an alternative that splits one axis of the box and leaves the other coordinates alone, what has
to be looked up is a few rows of the child's table along that axis: the tile's, and the remainders'.
The rows and weights of all tile sizes are worked out once; a sweep is then a handful of array
operations for each tile size. What does not have this form is left to `morello.search.updates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.rewriting.bind import Array, Bound, BoundUse
from morello.search.box import Box, Ints
from morello.search.gather import Gather, Table, plan_gather
from morello.spec.spec import Variant


@dataclass(frozen=True, slots=True)
class _Source:
    """A child's table with its axes where the parent has them, the tiled axis first."""

    variant: Variant
    gather: Gather
    axis: int

    def read(self, tables: Mapping[Variant, Table]) -> Table:
        return np.moveaxis(self.gather.read(tables[self.variant]), self.axis, 0)


@dataclass(frozen=True, slots=True)
class _Term:
    """Rows of a source, with a weight for each; no weight is 1."""

    source: int
    rows: Any
    weight: Table | None


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of the own table for which the same terms exist, for one tile size."""

    position: int
    rows: Any
    sliced: bool
    base: Table
    terms: tuple[_Term, ...]


class Scratch:
    """Memory for intermediate results, used again and again rather than asked of the system."""

    def __init__(self) -> None:
        self._slots = [np.empty(0, dtype=np.float32), np.empty(0, dtype=np.float32)]

    def apply(self, function: np.ufunc, left: Table, right: Table, slot: int) -> Table:
        """A function of two arrays, in one of two slots; an argument may be what is there."""
        both = np.broadcast(left, right)
        if both.size > len(self._slots[slot]):
            self._slots[slot] = np.empty(both.size, dtype=np.float32)
        out = self._slots[slot][: both.size].reshape(both.shape)
        result: Table = function(left, right, out=out)
        return result


@dataclass(frozen=True, slots=True)
class Sweep:
    """One alternative on a whole box."""

    axis: int
    sources: tuple[_Source, ...]
    groups: tuple[_Group, ...]

    def leads_to(self, variant: Variant) -> bool:
        """Whether a variant is among the children."""
        return any(source.variant == variant for source in self.sources)

    def view(self, table: Array) -> Array:
        """A table of the variant with its axes where the results have them."""
        return np.moveaxis(table, self.axis, 0)

    def results(
        self, tables: Mapping[Variant, Table], scratch: Scratch
    ) -> Iterator[tuple[int, Any, bool, Table]]:
        """For each tile size in increasing order: its position, where, if sliced, and the costs.

        What is written into the tables between two results is seen by the later one, which may
        overwrite the costs of the earlier one.
        """
        sources = [source.read(tables) for source in self.sources]
        for group in self.groups:
            total: Table | None = None
            for term in group.terms:
                value = sources[term.source][term.rows]
                if term.weight is not None:
                    value = scratch.apply(np.multiply, value, term.weight, int(total is not None))
                total = value if total is None else scratch.apply(np.add, total, value, 0)
            result = group.base
            if total is not None:
                result = scratch.apply(np.add, total, group.base, 0)
            yield group.position, group.rows, group.sliced, result


class SweepPlanner:
    """Plans sweeps for one search. Variants with the same sizes share what they look up."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], tuple[_Group, ...]] = {}

    def plan(self, bound: Bound, box: Box, children: Mapping[Variant, Box]) -> Sweep | None:
        """The sweep of an alternative, or none where it does not have that form."""
        uses = [use for use in bound.uses if use.variant in children]
        if not bound.tiles or len(uses) < len(bound.uses):
            return None
        rank = len(box.axes)
        axes = _axes([bound.mask, *(use.weight for use in uses)], rank)
        if len(axes) != 1:
            return None
        axis = axes.pop()
        plans = [_plan_use(use, axis, rank, children[use.variant]) for use in uses]
        found = [plan for plan in plans if plan is not None]
        if len(found) < len(plans):
            return None
        groups = self._shared(bound, uses, [rows for _, rows in found], axis, box)
        return Sweep(axis, tuple(source for source, _ in found), groups)

    def _shared(
        self, bound: Bound, uses: list[BoundUse], rows: list[Ints], axis: int, box: Box
    ) -> tuple[_Group, ...]:
        arrays = (bound.mask, bound.cost, *(use.weight for use in uses), *rows, *box.sizes)
        key = (axis, len(uses), *((a.shape, a.tobytes()) for a in arrays))
        if key not in self._groups:
            volume = np.moveaxis(box.volume, axis, 0)
            self._groups[key] = tuple(
                group
                for position in range(len(bound.tiles))
                for group in _groups(bound, uses, rows, position, axis, volume)
            )
        return self._groups[key]


def _axes(arrays: list[Array], rank: int) -> set[int]:
    """Axes of the box that any of these depends on."""
    return {
        axis - array.ndim + rank
        for array in arrays
        for axis, length in enumerate(array.shape)
        if length > 1 and axis - array.ndim + rank >= 0
    }


def _plan_use(use: BoundUse, axis: int, rank: int, child: Box) -> tuple[_Source, Ints] | None:
    """How to bring a child's axes into place, and which of its rows each (tile, row) refers to.

    None if more than one of its coordinates varies with the tile.
    """
    indices: list[Ints] = []
    moving: Ints | None = None
    for position, values in enumerate(use.coordinates):
        array = np.asarray(values)
        follows = _axes([array], rank)
        if array.ndim <= rank and axis not in follows:
            indices.append(child.rank(position, array))
            continue
        if moving is not None or follows - {axis}:
            return None
        moving = child.rank(position, array)
        shape = [-1 if a == axis else 1 for a in range(rank)]
        indices.append(np.arange(child.shape[position]).reshape(shape))
    if moving is None:
        return None
    indices = [i.reshape((1,) * (rank - i.ndim) + i.shape) for i in indices]
    return _Source(use.variant, plan_gather(indices, child.shape, rank), axis), moving


def _row(array: Array, position: int, axis: int, rank: int, length: int) -> Array:
    """A (tile, axis) array at one tile size, along the axis."""
    if array.ndim > rank:
        array = array[position if array.shape[0] > 1 else 0]
    return np.broadcast_to(array.reshape(-1), (length,))


def _groups(
    bound: Bound, uses: list[BoundUse], rows: list[Ints], position: int, axis: int, volume: Array
) -> list[_Group]:
    rank, length = volume.ndim, volume.shape[0]
    mask = _row(bound.mask, position, axis, rank, length)
    weights = [_row(use.weight, position, axis, rank, length) for use in uses]
    code = np.zeros(length, dtype=np.int64)
    for bit, weight in enumerate(weights):
        code |= (weight > 0).astype(np.int64) << bit
    groups = []
    for pattern in sorted(set(code[mask].tolist())):
        here = np.flatnonzero(mask & (code == pattern))
        chosen, sliced = _chosen(here)
        terms = tuple(
            _term(i, _row(rows[i], position, axis, rank, length)[here], weights[i][here], rank)
            for i in range(len(uses))
            if pattern >> i & 1
        )
        base = (_cost(bound.cost, position, axis, rank, here) / volume[chosen]).astype(np.float32)
        if len(base) > 1 and (base == base[:1]).all():
            base = base[:1]
        groups.append(_Group(position, chosen, sliced, base, terms))
    return groups


def _cost(cost: Array, position: int, axis: int, rank: int, here: Ints) -> Array:
    """The alternative's own cost on some rows, the tiled axis first."""
    if cost.ndim > rank:
        cost = cost[position if cost.shape[0] > 1 else 0]
    cost = np.moveaxis(cost.reshape((1,) * (rank - cost.ndim) + cost.shape), axis, 0)
    return cost[here] if cost.shape[0] > 1 else cost


def _term(source: int, rows: Ints, weights: Array, rank: int) -> _Term:
    weight = weights.astype(np.float32)
    chosen: Any = rows
    if (rows == rows[0]).all():
        chosen = slice(int(rows[0]), int(rows[0]) + 1)
    if (weight == 1).all():
        return _Term(source, chosen, None)
    return _Term(source, chosen, weight.reshape((-1,) + (1,) * (rank - 1)))


def _chosen(rows: Ints) -> tuple[Any, bool]:
    first, last = int(rows[0]), int(rows[-1]) + 1
    if last - first == len(rows):
        return slice(first, last), True
    return rows, False
