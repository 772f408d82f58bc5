"""Spatial compression: a dense table of choices as few boxes of equal cells, exactly.

The first box is the whole table, in the value that would need the most boxes. The others are
disjoint, and none of them has that value. They are found by merging runs, one axis after the other:

1. The axes are ordered by their share of equal neighbours, the most first, then by number.
2. Along the first axis, every run of equal cells becomes a box. This reads the dense table.
3. Along each further axis, two boxes merge where one begins at the cell behind the other and they
   agree in value and in their extent on all other axes.
4. The boxes of the value that has most of them (the least such value) become the first box.

With N cells, R runs and rank d this takes O(N d + R d log R) time and O(N + R) memory: a box is two
flat positions, of its first and of its last cell, so that a step is one sort by position (with the
axis to merge moved innermost) and a few comparisons. R is about N / 7 for real tables.

It is done in C (``runs.c``), where it needs no sort: a table of all cells says which run begins
at one. A small page takes a seventh of the time. Where there is no compiler, numpy does the same.

Measured on real tables, and not worth their time: further passes merge nothing more, the best of
all orders of axes saves 5% of the boxes, growing each box as far as it goes 3%, and painting in as
many layers as there are values 10%.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array, Ints
from morello.memo.boxes import Boxes, Table, whole
from morello.memo.merging import compiled_merging, fits


def compress(table: Table) -> Boxes:
    """The table as boxes; ``decompress`` gives it back exactly.

    The result depends on nothing but the table. The boxes behind the first are in the order of
    their values, then of their first cells.

    Args:
        table: Integers, any rank, at least one cell.

    Raises:
        ValueError: There is no cell.
    """
    if table.size == 0:
        raise ValueError(f"a table of shape {table.shape} has no cells")
    merging = compiled_merging() if fits(table) else None
    return merged_by_numpy(table) if merging is None else merging.merged(table)


def merged_by_numpy(table: Table) -> Boxes:
    """What `compress` gives, with numpy."""
    if (table == table.reshape(-1)[0]).all():
        return Boxes(*whole(table.shape), table.reshape(-1)[:1].copy())
    if 1 in table.shape:
        return _with_single_cells(merged_by_numpy(table.squeeze()), table.shape)
    order = _merge_order(table)[::-1]
    runs = _runs(table.transpose(order))
    shape = [table.shape[axis] for axis in order]
    for axis in reversed(range(table.ndim - 1)):
        runs = _merge(runs, shape, axis)
    runs, rest = _without_rest(runs)
    axes = np.argsort(order)
    low = np.stack(np.unravel_index(runs.first, shape), axis=1)[:, axes]
    last = np.stack(np.unravel_index(runs.last, shape), axis=1)[:, axes]
    return _painted(low, last + 1, runs.value, rest, table.shape)


class _Runs(Struct, frozen=True, eq=False):
    """Boxes while they are merged: flat positions of their first and last cells, and values."""

    first: Ints
    last: Ints
    value: Table

    def __getitem__(self, chosen: Array) -> _Runs:
        return _Runs(self.first[chosen], self.last[chosen], self.value[chosen])


def _merge_order(table: Table) -> list[int]:
    """The axes, those with the greatest share of equal neighbours first; of one cell: last."""

    def equal(axis: int) -> float:
        cells = np.moveaxis(table, axis, 0)
        pairs = cells[1:].size
        return np.count_nonzero(cells[1:] == cells[:-1]) / pairs if pairs else -1.0

    return sorted(range(table.ndim), key=lambda axis: (-equal(axis), axis))


def _runs(table: Table) -> _Runs:
    """Runs of equal cells along the last axis."""
    flat = table.reshape(-1)
    begins = np.empty(flat.size, bool)
    np.not_equal(flat[1:], flat[:-1], out=begins[1:])
    # A run ends with its row, or it would be no box.
    begins[:: table.shape[-1] if table.ndim else 1] = True
    first = np.flatnonzero(begins)
    return _Runs(first, np.append(first[1:] - 1, flat.size - 1), flat[first])


def _merge(runs: _Runs, shape: Sequence[int], axis: int) -> _Runs:
    """Merge along one axis what is adjacent on it and agrees in all else.

    Between two boxes in the order with this axis innermost there is room for no third one that is
    nearer on the axis: so neighbours in the order are all that has to be looked at. Where the next
    box begins at the cell behind this one and is not in another row, its first cell's flat position
    differs by this one's extent exactly if they begin alike on all other axes; and its last cell's
    by its own extent exactly if they end alike.
    """
    size, stride = shape[axis], prod(shape[axis + 1 :])
    if size == 1:
        return runs
    low = runs.first // stride % size
    rows = runs.first - low * stride
    outer = rows // (stride * size) * stride
    order = np.argsort((outer + rows % stride) * size + low)
    runs, low = runs[order], low[order]
    behind = runs.last // stride % size + 1
    extent = (behind - low) * stride
    merges = (
        (runs.value[1:] == runs.value[:-1])
        & (low[1:] == behind[:-1])
        & (np.diff(runs.first) == extent[:-1])
        & (np.diff(runs.last) == extent[1:])
    )
    heads = np.flatnonzero(np.concatenate(([True], ~merges)))
    tails = np.append(heads[1:], len(low)) - 1
    return _Runs(runs.first[heads], runs.last[tails], runs.value[heads])


def _without_rest(runs: _Runs) -> tuple[_Runs, int]:
    """The value with most boxes, and the boxes of all the others."""
    values, counts = np.unique(runs.value, return_counts=True)
    rest = values[counts.argmax()]
    return runs[runs.value != rest], int(rest)


def _with_single_cells(boxes: Boxes, shape: Sequence[int]) -> Boxes:
    """The same boxes in a table that has axes of one cell, too; most small tables have several."""
    longer = [axis for axis, size in enumerate(shape) if size > 1]
    low = np.zeros((len(boxes), len(shape)), boxes.low.dtype)
    high = np.ones_like(low)
    low[:, longer], high[:, longer] = boxes.low, boxes.high
    return Boxes(low, high, boxes.value)


def _painted(low: Ints, high: Ints, value: Table, rest: int, shape: Sequence[int]) -> Boxes:
    """The whole table in the rest's value, then the boxes by value and first cell."""
    order = np.lexsort([*low.T[::-1], value])
    first, behind = whole(shape)
    return Boxes(
        np.concatenate((first, low[order].astype(first.dtype))),
        np.concatenate((behind, high[order].astype(first.dtype))),
        np.concatenate((np.array([rest], value.dtype), value[order])),
    )
