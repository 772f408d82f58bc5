"""Memory for intermediate results, and what is done with each result: take what is cheaper."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from morello.ir.numeric import Array
from morello.search.tables.gather import Index, Table

_VIEWS = 4096
"""Shapes to remember of what was asked for."""

Choices = npt.NDArray[np.int16]


class Scratch:
    """Memory that is used again and again rather than asked of the system."""

    def __init__(self) -> None:
        self._slots: list[Array] = [
            np.empty(0, np.float32),
            np.empty(0, np.float32),
            np.empty(0, np.bool_),
        ]
        self._views: dict[tuple[object, ...], Array] = {}

    def apply(self, function: np.ufunc, left: Table, right: Table, slot: int) -> Table:
        """A function of two arrays, in one of two slots; an argument may be what is there."""
        result: Table = function(left, right, out=self._memory(left, right, slot))
        return result

    def less(self, left: Table, right: Table) -> npt.NDArray[np.bool_]:
        """Where the left one is less, in a slot of its own."""
        result: npt.NDArray[np.bool_] = np.less(left, right, out=self._memory(left, right, 2))
        return result

    def _memory(self, left: Table, right: Table, slot: int) -> Array:
        key = (slot, left.shape, right.shape)
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = self._view(np.broadcast_shapes(left.shape, right.shape), slot)
        return view

    def _view(self, shape: tuple[int, ...], slot: int) -> Array:
        size = prod(shape)
        if size > len(self._slots[slot]) or len(self._views) > _VIEWS:
            self._views.clear()  # they would keep the smaller memory
        if size > len(self._slots[slot]):
            self._slots[slot] = np.empty(size, dtype=self._slots[slot].dtype)
        return self._slots[slot][:size].reshape(shape)


class Part(Struct, frozen=True):
    """A part of a table: an index of slices, or (not ``sliced``) with one list among them."""

    index: Index | tuple[Index, ...]
    sliced: bool


def take_cheaper(
    costs: Table,
    choices: Choices,
    part: Part,
    result: Table,
    option: int,
    ties: bool,
    scratch: Scratch,
) -> bool:
    """Take an option where it is cheaper than what was chosen before.

    Args:
        costs: Least costs so far.
        choices: The options that attain them.
        part: Where the option applies.
        result: What it costs there; this broadcasts.
        option: The option.
        ties: Take it also where it costs the same and comes before what was chosen. Need not be
            asked while options are taken in their order.
        scratch: For intermediate results.

    Returns:
        Whether it was taken anywhere.
    """
    there = costs[part.index]
    better = scratch.less(result, there)
    if ties:
        better |= (result == there) & (choices[part.index] > option)
    if not np.count_nonzero(better):
        return False
    chosen = choices[part.index]
    np.minimum(there, result, out=there)
    np.copyto(chosen, option, where=better)
    # An index with a list gives copies, not views.
    if not part.sliced:
        costs[part.index], choices[part.index] = there, chosen
    return True
