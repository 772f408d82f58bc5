"""Boxes of equal cells, painted in order: the last one that contains a cell says its value.

The memo stores *choices*, not costs. Costs hold terms like ``1 / k`` and hardly ever repeat between
neighbours (about 7 cells an entry were measured), choices do (60 to 78 cells an entry, see
``docs/memo.md``), and costs follow from the choices exactly by evaluating the recurrence again.

A table becomes boxes in ``compression.py``. This module reads them. It knows nothing of what a
value means (``page.py``) or of bytes (``codec.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from morello.ir.numeric import Ints

Table = npt.NDArray[np.signedinteger]
Bounds = npt.NDArray[np.unsignedinteger]

_TESTS_AT_ONCE = 1 << 20
"""Containment tests of a vectorised look-up that are held in memory at a time."""


class Boxes(Struct, frozen=True, eq=False):
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


def whole(shape: Sequence[int]) -> tuple[Bounds, Bounds]:
    """Bounds of one box, in the smallest type that holds those of any box in the table."""
    kind = np.min_scalar_type(max(shape, default=1))
    return np.zeros((1, len(shape)), kind), np.array([shape], kind).reshape(1, -1)


def decompress(boxes: Boxes, shape: Sequence[int]) -> Table:
    """The dense table of that shape, in the type of the boxes' values, in O(N d) time.

    The first box has to be the whole table. The others are expanded to their cells one axis after
    the other.
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
