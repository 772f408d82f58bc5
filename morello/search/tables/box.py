"""Boxes of coordinates: which sizes and how much used memory a family is solved for.

A coordinate is a rank in a sorted list. The list of a dimension holds every size that some Spec
below the goal has there, closed under tiling: the tile sizes below a size, and the remainders that
they leave. The list of a bounded level holds the capacity units in use that can occur; a level that
nothing below the family asks for has a list of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from morello.ir.numeric import Array, Ints, Size
from morello.ir.spec import Spec

IRRELEVANT = -1
"""The one value in the list of a level that is no coordinate of the family."""


@lru_cache(maxsize=4096)
def tiling_closure(sizes: frozenset[int], tiles: tuple[int, ...]) -> frozenset[int]:
    """The sizes, every tile size below them, and every remainder of those, closed."""
    result: set[int] = set()
    pending = list(sizes)
    while pending:
        size = pending.pop()
        if size in result:
            continue
        result.add(size)
        # Whatever is added is smaller than the size that it comes from, so that this ends.
        below = [t for t in tiles if t < size]
        pending += below
        pending += [size % t for t in below if size % t]
    return frozenset(result)


@dataclass(frozen=True, eq=False)
class Box:
    """Lists of one variant, sorted, in the order of `Spec.coordinates`: sizes, then used.

    ``dimensions`` is the number of iteration dimensions. Boxes are compared by identity: those of
    one search with equal lists are one object.
    """

    axes: tuple[Ints, ...]
    dimensions: int

    @property
    def sizes(self) -> tuple[Ints, ...]:
        """Lists of the iteration dimensions."""
        return self.axes[: self.dimensions]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the family's table."""
        return tuple(len(a) for a in self.axes)

    @property
    def cells(self) -> int:
        """Number of Specs."""
        return prod(self.shape)

    @cached_property
    def key(self) -> tuple[bytes, ...]:
        """The lists, to compare boxes by."""
        return tuple(a.tobytes() for a in self.axes)

    @cached_property
    def storage(self) -> tuple[int, ...]:
        """The axes in the order of memory: used before sizes.

        Costs of tilings depend on sizes alone, so that what is the same along an axis is so for
        long stretches of a table.
        """
        return (*range(self.dimensions, len(self.axes)), *range(self.dimensions))

    @cached_property
    def _storage_behind_one(self) -> tuple[int, ...]:
        return (0, *(1 + axis for axis in self.storage))

    def stored(self, array: npt.ArrayLike) -> Array:
        """An array over the box, with its axes in the order of memory.

        An axis before those of the box stays where it is.
        """
        array = np.asarray(array)
        rank = len(self.axes)
        if array.ndim < rank:
            array = array.reshape((1,) * (rank - array.ndim) + array.shape)
        front = array.ndim - rank
        return array.transpose(self._storage_behind_one if front else self.storage)

    def in_memory(self, memory: Array) -> Array:
        """A vector of as many cells as an array with the axes in the order of memory."""
        return memory.reshape([len(self.axes[a]) for a in self.storage])

    def table(self, stored: Array) -> Array:
        """Such an array with the axes in the order of coordinates."""
        return stored.transpose(np.argsort(self.storage))

    @cached_property
    def open_grid(self) -> tuple[Ints, ...]:
        """The lists, each along its own axis, so that they broadcast to the box."""
        rank = len(self.axes)
        return tuple(
            a.reshape([-1 if i == axis else 1 for i in range(rank)])
            for axis, a in enumerate(self.axes)
        )

    @cached_property
    def volume(self) -> npt.NDArray[np.float64]:
        """Iterations of every Spec, on the open grid."""
        return np.asarray(prod(self.open_grid[: self.dimensions], start=np.float64(1)))

    @cached_property
    def ranks(self) -> tuple[Ints | None, ...]:
        """For each axis the index of every value up to the last; none if it is no coordinate."""
        return tuple(None if a[0] == IRRELEVANT else _rank_table(a) for a in self.axes)

    def rank(self, axis: int, values: Size) -> Ints:
        """Index of values in an axis' list; values that are not in it have that of some other.

        The caller masks those: they belong to Specs that do not exist.
        """
        table = self.ranks[axis]
        if table is None:
            return np.asarray(0)
        ranks: Ints = table.take(values, mode="clip")
        return ranks


def one_cell(spec: Spec) -> Box:
    """The box of a single Spec."""
    axes = tuple(np.asarray([value]) for value in spec.coordinates)
    return Box(axes, len(spec.sizes))


def _rank_table(values: Ints) -> Ints:
    table = np.zeros(int(values[-1]) + 1, dtype=np.int64)
    table[values] = np.arange(len(values))
    return table
