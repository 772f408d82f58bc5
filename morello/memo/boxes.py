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
