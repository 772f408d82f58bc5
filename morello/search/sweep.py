"""Tilings of one dimension, all tile sizes of an alternative together.

For an alternative that splits one axis of the box and leaves the other coordinates alone, what has
to be looked up is a few rows of the child's table along that axis: the tile's, and the remainders'.
How operands are packed may change with it, in few ways. The rows and weights of all tile sizes are
worked out once; a sweep is then a handful of array operations for each tile size. What does not
have this form is left to `morello.search.updates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from morello.rewriting.bind import Array, Bound, BoundUse
from morello.search.box import Box, Ints
from morello.search.gather import Gather, Table, plan_gather
from morello.spec.spec import Family


@dataclass(frozen=True, slots=True)
class _Source:
    """A child's table, read by rows of one of its axes: one gather for each form of the rest."""

    family: Family
    axis: int
    gathers: tuple[Gather, ...]


@dataclass(frozen=True, slots=True)
class _Term:
    """Rows of a source, read in one form, with a weight for each; no weight is 1."""

    source: int
    form: int
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
        shape = np.broadcast_shapes(left.shape, right.shape)
        size = prod(shape)
        if size > len(self._slots[slot]):
            self._slots[slot] = np.empty(size, dtype=np.float32)
        result: Table = function(left, right, out=self._slots[slot][:size].reshape(shape))
        return result


@dataclass(frozen=True, slots=True)
class Sweep:
    """One alternative on a whole box."""

    bound: Bound
    axis: int
    sources: tuple[_Source, ...]
    groups: tuple[_Group, ...]

    def leads_to(self, family: Family) -> bool:
        """Whether a family is among the children."""
        return any(source.family == family for source in self.sources)

    def view(self, table: Array) -> Array:
        """A table of the family with its axes where the results have them."""
        return table.swapaxes(0, self.axis)

    def results(
        self, tables: Mapping[Family, Table], scratch: Scratch
    ) -> Iterator[tuple[int, Any, bool, Table]]:
        """For each tile size in increasing order: its position, where, if sliced, and the costs.

        What is written into the tables between two results is seen by the later one, which may
        overwrite the costs of the earlier one.
        """
        sources = [tables[s.family].swapaxes(0, s.axis) for s in self.sources]
        for group in self.groups:
            total: Table | None = None
            for term in group.terms:
                gather = self.sources[term.source].gathers[term.form]
                value = gather.read(sources[term.source][term.rows])
                if term.weight is not None:
                    value = scratch.apply(np.multiply, value, term.weight, int(total is not None))
                total = value if total is None else scratch.apply(np.add, total, value, 0)
            result = group.base
            if total is not None:
                result = scratch.apply(np.add, total, group.base, 0)
            yield group.position, group.rows, group.sliced, result


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is known of a use: its rows for (tile, row), and the forms of its other coordinates."""

    source: _Source
    rows: Ints
    forms: Ints


class SweepPlanner:
    """Plans sweeps for one search. Families with the same sizes share what they look up."""

    def __init__(self) -> None:
        self._groups: dict[tuple[object, ...], tuple[_Group, ...]] = {}

    def plan(self, bound: Bound, box: Box, children: Mapping[Family, Box]) -> Sweep | None:
        """The sweep of an alternative, or none where it does not have that form."""
        uses = [use for use in bound.uses if use.family in children]
        if not bound.tiles or len(uses) < len(bound.uses):
            return None
        rank = len(box.axes)
        axes = _axes([bound.mask, *(use.weight for use in uses)], rank)
        if len(axes) != 1:
            return None
        axis = axes.pop()
        found = [_reading(use, axis, box, children[use.family]) for use in uses]
        readings = [reading for reading in found if reading is not None]
        if len(readings) < len(uses):
            return None
        groups = self._shared(bound, readings, axis, box)
        return Sweep(bound, axis, tuple(r.source for r in readings), groups)

    def _shared(
        self, bound: Bound, readings: list[_Reading], axis: int, box: Box
    ) -> tuple[_Group, ...]:
        arrays = [bound.mask, bound.cost, *(use.weight for use in bound.uses), *box.axes]
        arrays += [array for r in readings for array in (r.rows, r.forms)]
        key = (axis, len(readings), *((a.shape, a.tobytes()) for a in arrays))
        if key not in self._groups:
            volume = box.volume.swapaxes(0, axis)
            self._groups[key] = tuple(
                group
                for position in range(len(bound.tiles))
                for group in _groups(bound, readings, position, axis, volume)
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


def _reading(use: BoundUse, axis: int, box: Box, child: Box) -> _Reading | None:
    """How to read a child. None if more than one of its coordinates varies with the tile."""
    rank = len(box.axes)
    indices: list[Ints] = []
    moving: tuple[int, Ints] | None = None
    for position, values in enumerate(use.coordinates):
        array = np.asarray(values)
        follows = _axes([array], rank)
        ranks = child.rank(position, array)
        if array.ndim <= rank and (axis not in follows or position < child.operands):
            indices.append(ranks.reshape((1,) * (rank - ranks.ndim) + ranks.shape))
            continue
        if moving is not None or follows - {axis}:
            return None
        moving = (position, ranks)
    if moving is None:
        return None
    return _read_by_rows(use.family, moving, indices, axis, box, child)


def _read_by_rows(
    family: Family,
    moving: tuple[int, Ints],
    indices: list[Ints],
    axis: int,
    box: Box,
    child: Box,
) -> _Reading:
    """Gathers for the coordinates that do not move, one for each form they take along the axis."""
    position, rows = moving
    order = list(range(len(child.shape)))
    order[0], order[position] = order[position], order[0]
    others = [p for p in range(len(child.shape)) if p != position]
    columns = {p: i.swapaxes(0, axis) for p, i in zip(others, indices, strict=True)}
    shape = tuple(child.shape[p] for p in order[1:])
    varying = [c for c in columns.values() if len(c) > 1]
    forms = np.zeros(box.shape[axis], dtype=np.int64)
    known: dict[bytes, int] = {}
    gathers: list[Gather] = []
    for row in range(len(forms)) if varying else (0,):
        key = b"".join(c[row].tobytes() for c in varying)
        if key not in known:
            known[key] = len(gathers)
            rest = [columns[p][row if len(columns[p]) > 1 else 0] for p in order[1:]]
            gathers.append(plan_gather(rest, shape, len(box.shape) - 1))
        forms[row] = known[key]
    return _Reading(_Source(family, position, tuple(gathers)), rows, forms)


def _row(array: Array, position: int, axis: int, rank: int, length: int) -> Array:
    """A (tile, axis) array at one tile size, along the axis."""
    if array.ndim > rank:
        array = array[position if array.shape[0] > 1 else 0]
    return np.broadcast_to(array.reshape(-1), (length,))


def _groups(
    bound: Bound, readings: list[_Reading], position: int, axis: int, volume: Array
) -> list[_Group]:
    rank, length = volume.ndim, volume.shape[0]
    mask = _row(bound.mask, position, axis, rank, length)
    weights = [_row(use.weight, position, axis, rank, length) for use in bound.uses]
    code = np.zeros(length, dtype=np.int64)
    for reading, weight in zip(readings, weights, strict=True):
        exists = weight > 0
        code = code * (1 + len(reading.source.gathers)) + np.where(exists, 1 + reading.forms, 0)
    groups = []
    for pattern in sorted(set(code[mask].tolist())):
        here = np.flatnonzero(mask & (code == pattern))
        chosen, sliced = _chosen(here)
        terms = tuple(
            _term(
                source,
                int(reading.forms[here[0]]),
                _row(reading.rows, position, axis, rank, length)[here],
                weight[here],
                rank,
            )
            for source, (reading, weight) in enumerate(zip(readings, weights, strict=True))
            if weight[here[0]] > 0
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
    cost = cost.reshape((1,) * (rank - cost.ndim) + cost.shape).swapaxes(0, axis)
    return cost[here] if cost.shape[0] > 1 else cost


def _term(source: int, form: int, rows: Ints, weights: Array, rank: int) -> _Term:
    weight = weights.astype(np.float32)
    chosen: Any = rows
    if (rows == rows[0]).all():
        chosen = slice(int(rows[0]), int(rows[0]) + 1)
    if (weight == 1).all():
        return _Term(source, form, chosen, None)
    return _Term(source, form, chosen, weight.reshape((-1,) + (1,) * (rank - 1)))


def _chosen(rows: Ints) -> tuple[Any, bool]:
    first, last = int(rows[0]), int(rows[-1]) + 1
    if last - first == len(rows):
        return slice(first, last), True
    return rows, False
