"""Reading a child's table at the coordinates that a whole region of a parent refers to.

Tables are read with one axis in front that is passed through: some rows of the child. Where each
axis of the child follows at most one axis of the parent, reading is slicing and one `take` an axis.
How an operand is packed follows from its packing and from whether rows alias, so that it depends on
two axes, but takes few forms: those are read one after the other. Only where memory in use depends
on several sizes at once is every cell looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from morello.search.box import Ints

Table = npt.NDArray[np.float32]

FORMS = 4
"""Most forms of an index that are read one by one, rather than cell by cell."""


@dataclass(frozen=True, slots=True)
class Separable:
    """Axis by axis.

    ``indices``: for each axis of the child an int, a slice or a vector. ``order`` and ``shape``
    bring what is left into the parent's axes.
    """

    indices: tuple[Any, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    def read(self, rows: Table) -> Table:
        """Values for the region; a view where possible."""
        for axis in range(len(self.indices) - 1, -1, -1):
            index = self.indices[axis]
            if isinstance(index, np.ndarray):
                rows = rows.take(index, axis=axis + 1)
            elif index is not None:
                rows = rows[(slice(None),) * (axis + 1) + (index,)]
        return rows.transpose(self.order).reshape((len(rows), *self.shape))


@dataclass(frozen=True, slots=True)
class Selected:
    """One way of reading for each part of the region along an axis of the parent.

    ``shape`` is the region's, 1 along axes that nothing follows.
    """

    axis: int
    parts: tuple[tuple[Ints, Gather], ...]
    shape: tuple[int, ...]

    def read(self, rows: Table) -> Table:
        """Values for the region."""
        result = np.empty((len(rows), *self.shape), dtype=rows.dtype)
        for where, gather in self.parts:
            result[(slice(None),) * (self.axis + 1) + (where,)] = gather.read(rows)
        return result


@dataclass(frozen=True, slots=True)
class Scattered:
    """``flat``: index into the child's flattened rows for every cell of the region."""

    flat: Ints

    def read(self, rows: Table) -> Table:
        """Values for the region."""
        return rows.reshape(len(rows), -1).take(self.flat, axis=1)


Gather = Separable | Selected | Scattered


def plan_gather(indices: list[Ints], shape: tuple[int, ...], rank: int) -> Gather:
    """How to read a child.

    Args:
        indices: For each axis of the child, indices that broadcast over the parent's region.
        shape: Shape of the child's table, without the axis in front.
        rank: Number of axes of the parent.
    """
    indices = [i.reshape((1,) * (rank - i.ndim) + i.shape) for i in indices]
    followed = [[a for a, n in enumerate(i.shape) if n > 1] for i in indices]
    wide = [position for position, axes in enumerate(followed) if len(axes) > 1]
    if wide:
        return _selected(indices, shape, rank, wide[0], followed[wide[0]])
    axes = [a[0] for a in followed if a]
    if len(set(axes)) < len(axes):
        return Scattered(_flat(indices, shape))
    order = (0, *(1 + i for i in sorted(range(len(axes)), key=lambda i: axes[i])))
    lengths = {a[0]: i.size for a, i in zip(followed, indices, strict=True) if a}
    parts = tuple(_part(i, bool(a), n) for i, a, n in zip(indices, followed, shape, strict=True))
    return Separable(parts, order, tuple(lengths.get(a, 1) for a in range(rank)))


def _selected(
    indices: list[Ints], shape: tuple[int, ...], rank: int, position: int, axes: list[int]
) -> Gather:
    """One gather for each form that the index at a position takes along one of its axes."""
    if shape[position] > 2 * FORMS:
        return Scattered(_flat(indices, shape))
    forms = {axis: _forms(indices[position], axis) for axis in axes}
    axis = min(axes, key=lambda a: (len(forms[a]), a))
    if len(forms[axis]) > FORMS:
        return Scattered(_flat(indices, shape))
    parts = []
    for where in forms[axis]:
        cut = [i if i.shape[axis] == 1 else i.take(where, axis=axis) for i in indices]
        cut[position] = cut[position].take([0], axis=axis)
        parts.append((where, plan_gather(cut, shape, rank)))
    return Selected(axis, tuple(parts), np.broadcast_shapes(*(i.shape for i in indices)))


def _forms(index: Ints, axis: int) -> list[Ints]:
    """Where along an axis an index is the same."""
    found: dict[bytes, list[int]] = {}
    for place, values in enumerate(np.moveaxis(index, axis, 0)):
        found.setdefault(values.tobytes(), []).append(place)
    return [np.asarray(places) for places in found.values()]


def _part(index: Ints, follows: bool, length: int) -> Any:
    """An int, a slice or a vector; none is the whole axis."""
    if not follows:
        return int(index.reshape(-1)[0])
    vector = index.reshape(-1)
    first, last = int(vector[0]), int(vector[-1])
    if last - first + 1 == vector.size and np.array_equal(vector, np.arange(first, last + 1)):
        return None if vector.size == length else slice(first, last + 1)
    return vector


def _flat(indices: list[Ints], shape: tuple[int, ...]) -> Ints:
    flat: Ints = np.asarray(0, dtype=np.int64)
    for index, length in zip(indices, shape, strict=True):
        flat = flat * length + index
    return flat
