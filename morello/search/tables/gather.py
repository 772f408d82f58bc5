"""Reading a child's table at the coordinates that a whole region of a parent refers to.

Where each axis of the child follows at most one axis of the parent, this is slicing and one `take`
an axis; only where memory in use depends on several sizes at once is every cell looked up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from morello.ir.numeric import Ints

Table = npt.NDArray[np.float32]

Index = int | slice | Ints
"""What numpy takes of one axis."""


class Separable(Struct, frozen=True):
    """Axis by axis.

    ``indices``: for each axis of the child an int, a slice or a vector. ``order`` and ``shape``
    bring what is left into the parent's axes.
    """

    indices: tuple[Index, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Memory that it takes, about."""
        return sum(index.nbytes for index in self.indices if isinstance(index, np.ndarray))

    def read(self, table: Table) -> Table:
        """Values for the region; a view where possible."""
        # From the last one, as an index that drops its axis moves those behind it.
        for axis in range(len(self.indices) - 1, -1, -1):
            index = self.indices[axis]
            if isinstance(index, np.ndarray):
                table = table.take(index, axis=axis)
            elif isinstance(index, int) or index != slice(None):
                table = table[(slice(None),) * axis + (index,)]
        return table.transpose(self.order).reshape(self.shape)


class Scattered(Struct, frozen=True):
    """``flat``: index into the child's flattened table for every cell of the region."""

    flat: Ints

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        return self.flat.nbytes

    def read(self, table: Table) -> Table:
        """Values for the region."""
        return table.reshape(-1).take(self.flat)


Gather = Separable | Scattered


def plan_gather(indices: list[Ints], shape: tuple[int, ...], rank: int) -> Gather:
    """How to read a child.

    Args:
        indices: For each axis of the child, indices that broadcast over the parent's region.
        shape: Shape of the child's table.
        rank: Number of axes of the parent.
    """
    followed: list[int | None] = []
    parts: list[Index] = []
    for index, length in zip(indices, shape, strict=True):
        wide = [a for a, n in enumerate(index.shape) if n > 1]
        if len(wide) > 1:
            return Scattered(_flat(indices, shape))
        axis = None if not wide else wide[0] + rank - index.ndim
        followed.append(axis)
        parts.append(_part(index, axis, length))
    axes = [a for a in followed if a is not None]
    # Two axes of the child that follow the same one are a diagonal: no slices give that.
    if len(set(axes)) < len(axes):
        return Scattered(_flat(indices, shape))
    order = tuple(sorted(range(len(axes)), key=lambda i: axes[i]))
    lengths = {a: i.size for a, i in zip(followed, indices, strict=True) if a is not None}
    return Separable(tuple(parts), order, tuple(lengths.get(a, 1) for a in range(rank)))


def _part(index: Ints, axis: int | None, length: int) -> Index:
    if axis is None:
        return int(index.reshape(-1)[0])
    vector = index.reshape(-1)
    first, last = int(vector[0]), int(vector[-1])
    if last - first + 1 == vector.size and vector.tolist() == list(range(first, last + 1)):
        return slice(None) if vector.size == length else slice(first, last + 1)
    return vector


def _flat(indices: list[Ints], shape: tuple[int, ...]) -> Ints:
    flat: Ints = np.asarray(0, dtype=np.int64)
    for index, length in zip(indices, shape, strict=True):
        flat = flat * length + index
    return flat
