"""Spatial compression: a dense table of choices as few boxes of equal cells, exactly.

The memo stores *choices*, not costs. Costs hold terms like ``1 / k`` and hardly ever repeat between
neighbours (about 7 cells an entry were measured), choices do (60 to 78 cells an entry, see
``docs/memo.md``), and costs follow from the choices exactly by evaluating the recurrence again.

Boxes are painted in order: the last one that contains a cell says its value. The first is the whole
table, in the value that would need the most boxes; the others are disjoint, and none of them has
that value. They are found by merging runs, one axis after the other:

1. The axes are ordered by their share of equal neighbours, the most first, then by number.
2. Along the first axis, every run of equal cells becomes a box. This reads the dense table.
3. Along each further axis, two boxes merge where one begins at the cell behind the other and they
   agree in value and in their extent on all other axes.
4. The boxes of the value that has most of them (the least such value) become the first box.

With N cells, R runs and rank d this takes O(N d + R d log R) time and O(N + R) memory: a box is two
flat positions, of its first and of its last cell, so that a step is one sort by position (with the
axis to merge moved innermost) and a few comparisons. R is about N / 7 for real tables.

Measured on them, and not worth their time: further passes merge nothing more, the best of all
orders of axes saves 5% of the boxes, growing each box as far as it goes 3%, and painting in as many
layers as there are values 10%.

This module knows nothing of what a value means (``page.py``) or of bytes (``codec.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from morello.ir.numeric import Array, Ints

Table = npt.NDArray[np.signedinteger]
Bounds = npt.NDArray[np.unsignedinteger]

_TESTS_AT_ONCE = 1 << 20
"""Containment tests of a vectorised look-up that are held in memory at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class Boxes:
    """Boxes of equal cells, painted in order: a later one hides what is below it.

    Attributes:
        low: First cell of each box, shape (n, rank), unsigned integers.
        high: The cell behind its last one on every axis, same shape and type.
        value: What its cells hold, shape (n,).
    """

    low: Bounds
    high: Bounds
    value: Table

    def __len__(self) -> int:
        return len(self.value)

    @property
    def bytes(self) -> int:
        """Size of the arrays."""
        return self.low.nbytes + self.high.nbytes + self.value.nbytes


def compress(table: Table) -> Boxes:
    """The table as boxes; ``decompress`` gives it back exactly.

    The result depends on nothing but the table. The boxes behind the first are in the order of
    their values, then of their first cells.

    Args:
        table: Integers, any rank, at least one cell.
    """
    if table.size == 0:
        raise ValueError(f"a table of shape {table.shape} has no cells")
    if (table == table.reshape(-1)[0]).all():
        return Boxes(*_whole(table.shape), table.reshape(-1)[:1].copy())
    if 1 in table.shape:
        return _with_single_cells(compress(table.squeeze()), table.shape)
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


def decompress(boxes: Boxes, shape: Sequence[int]) -> Table:
    """The dense table of that shape, in the type of the boxes' values, in O(N d) time.

    The first box has to be the whole table, as ``compress`` makes it. The others are expanded to
    their cells one axis after the other.
    """
    table = np.full(tuple(shape), boxes.value[0])
    extents = (boxes.high - boxes.low)[1:].astype(np.int64)
    strides = np.array([prod(shape[axis + 1 :]) for axis in range(len(shape))], np.int64)
    cells, box = boxes.low[1:] @ strides, np.arange(len(boxes) - 1)
    # The arrays grow with each axis, so that short ones come first.
    for axis in sorted(range(len(shape)), key=lambda axis: shape[axis]):
        if shape[axis] > 1:
            times = extents[box, axis]
            step = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            cells, box = np.repeat(cells, times) + step * strides[axis], np.repeat(box, times)
    table.reshape(-1)[cells] = boxes.value[1:][box]
    return table


def part(boxes: Boxes, places: Sequence[Ints]) -> Boxes:
    """The boxes of a part of the table, those without a cell in it left out.

    Args:
        boxes: Those of the whole table.
        places: For each axis, which of its cells the part has, not decreasing.
    """
    kind = np.min_scalar_type(max(map(len, places), default=1))
    low, high = np.empty(boxes.low.shape, kind), np.empty(boxes.low.shape, kind)
    for axis, own in enumerate(places):
        low[:, axis] = np.searchsorted(own, boxes.low[:, axis])
        high[:, axis] = np.searchsorted(own, boxes.high[:, axis])
    inside = (low < high).all(axis=1)
    return Boxes(low[inside], high[inside], boxes.value[inside])


def value_at(boxes: Boxes, index: Sequence[int]) -> int:
    """The value of one cell, without decompressing the table: one comparison of all boxes.

    Raises:
        IndexError: No box contains the cell.
    """
    at = np.asarray(index, np.int64)
    found = np.flatnonzero(((boxes.low <= at) & (at < boxes.high)).all(axis=1))
    if not len(found):
        raise IndexError(f"cell {tuple(index)} is in none of the boxes")
    return int(boxes.value[found[-1]])


def values_at(boxes: Boxes, indices: Ints) -> Table:
    """The values of many cells, shape (q, rank) to (q,), in O(q n) comparisons.

    Decompressing is faster once a good part of the cells are asked for.

    Raises:
        IndexError: No box contains one of the cells.
    """
    step = max(1, _TESTS_AT_ONCE // len(boxes))
    parts = [_last_containing(boxes, indices[i : i + step]) for i in range(0, len(indices), step)]
    found: Table = boxes.value[np.concatenate([np.empty(0, np.int64), *parts])]
    return found


def _last_containing(boxes: Boxes, indices: Ints) -> Ints:
    inside = np.ones((len(indices), len(boxes)), bool)
    for axis in range(boxes.low.shape[1]):
        at = indices[:, axis, np.newaxis]
        inside &= (boxes.low[:, axis] <= at) & (at < boxes.high[:, axis])
    if not inside.any(axis=1).all():
        raise IndexError("a cell is in none of the boxes")
    return np.asarray(len(boxes) - 1 - inside[:, ::-1].argmax(axis=1), np.int64)


# ------------------------------------------------------------------------ merging


@dataclass(frozen=True, eq=False, slots=True)
class _Runs:
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


def _whole(shape: Sequence[int]) -> tuple[Bounds, Bounds]:
    """Bounds of one box, in the smallest type that holds those of any box in the table."""
    kind = np.min_scalar_type(max(shape, default=1))
    return np.zeros((1, len(shape)), kind), np.array([shape], kind).reshape(1, -1)


def _painted(low: Ints, high: Ints, value: Table, rest: int, shape: Sequence[int]) -> Boxes:
    """The whole table in the rest's value, then the boxes by value and first cell."""
    order = np.lexsort([*low.T[::-1], value])
    first, behind = _whole(shape)
    return Boxes(
        np.concatenate((first, low[order].astype(first.dtype))),
        np.concatenate((behind, high[order].astype(first.dtype))),
        np.concatenate((np.array([rest], value.dtype), value[order])),
    )
