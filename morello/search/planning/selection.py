"""Parts of arrays that were computed on a larger box: the same for fewer coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from morello.ir.numeric import Array, Ints, Size
from morello.search.tables.box import Box

Place = slice | Ints
"""Where values are in a list."""

Places = Sequence[tuple[int, Place]]
"""Where values are along some axes, which are counted from the last: arrays may lack the first."""


class Selection:
    """Some of the coordinates of a box, for arrays that broadcast over it and outlive this.

    Args:
        places: Which, along the axes of which not all are taken.
        known: What becomes of some arrays, by identity.
    """

    def __init__(self, places: Places, known: Mapping[int, Size]) -> None:
        self._places = places
        self._known = dict(known)

    def part(self, array: Array) -> Array:
        """The part of an array."""
        for axis, place in self._places:
            # Along an axis that an array does not depend on, there is nothing to choose from.
            if -axis <= array.ndim and array.shape[axis] > 1:
                if isinstance(place, slice):
                    index = [slice(None)] * array.ndim
                    index[axis] = place
                    array = array[tuple(index)]
                else:
                    array = array.take(place, axis)
        return array

    def coordinate(self, values: Size) -> Size:
        """The same of a coordinate, once: sub-Specs have most in common. A number stays one."""
        if not isinstance(values, np.ndarray):
            return values
        found = self._known.get(id(values))
        if found is None:
            found = self._known[id(values)] = self.part(values)
        return found


def places_in(box: Box, other: Box, axes: Sequence[int]) -> Places | None:
    """Where the lists of a box are in those of another one; none if some value is not there.

    Args:
        box: The smaller one.
        other: The larger one.
        axes: Those to look at.
    """
    rank, found = len(box.axes), []
    for axis in axes:
        place = _place_in(box.key[axis], other.key[axis])
        if place is None:
            return None
        if len(box.axes[axis]) < len(other.axes[axis]):
            found.append((axis - rank, place))
    return found


@lru_cache(maxsize=4096)
def _place_in(values: bytes, others: bytes) -> Place | None:
    """Where sorted int64 numbers are among others; none if some are not there."""
    own, all_ = np.frombuffer(values, np.int64), np.frombuffer(others, np.int64)
    places = np.searchsorted(all_, own)
    if not np.array_equal(all_.take(places, mode="clip"), own):
        return None
    first = int(places[0])
    if places[-1] - first == len(own) - 1:
        return slice(first, first + len(own))
    return places


def with_more(box: Box, other: Box, axes: Sequence[int]) -> Box:
    """A box that has the values of another one, too, along these axes."""
    lists = list(box.axes)
    for axis in axes:
        if _place_in(other.key[axis], box.key[axis]) is None:
            lists[axis] = np.union1d(lists[axis], other.axes[axis])
    return Box(tuple(lists), box.dimensions)
