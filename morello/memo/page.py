"""Pages: the choices of one solved family over a box of coordinates, as boxes of equal choices.

A page knows the values along its axes, so that it answers for every family's box that lies within
its own. It names rules and kernels with their parameters, never an index into an enumeration of
them. It holds no costs (``boxes.py`` says why), and neither family nor fingerprint: those are the
key under which the store keeps it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from morello.ir.numeric import Ints
from morello.memo.boxes import Boxes, Table, decompress, part, value_at
from morello.memo.compression import compress

Axes = tuple[tuple[int, ...], ...]

ANY = -1
"""The only value of an axis that does not matter: it stands for all values."""

UNSOLVABLE = -1
"""In a table: nothing implements this cell."""

MAX_CELLS = 1 << 31
"""No page is larger; one that says so is damaged."""

MAX_RANK = 32

MAX_LENGTH = 1 << 16
"""Values of an axis: a dimension of 2^30 elements gives less than a hundred."""

MAX_VALUE = 1 << 62
"""Beyond every value of an axis."""


class Choice(Struct, frozen=True, order=True):
    """What wins in a cell: a rule or kernel by name, and its parameters as text."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()


class Page(Struct, frozen=True, eq=False):
    """The choices of one family over the grid of its axes.

    Attributes:
        axes: The coordinates along each axis, strictly increasing.
        choices: What the boxes' values stand for; `UNSOLVABLE` stands for nothing.
        boxes: Disjoint boxes over a first one that is the whole page; see `check_boxes`.

    Raises:
        ValueError: These cannot be axes.
    """

    axes: Axes
    choices: tuple[Choice, ...]
    boxes: Boxes

    def __post_init__(self) -> None:
        _check_axes(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def cells(self) -> int:
        """Number of Specs that the page answers for."""
        return prod(self.shape)

    @property
    def entries(self) -> int:
        """Number of boxes that they take."""
        return len(self.boxes)

    @property
    def bytes(self) -> int:
        """About what it takes in memory."""
        texts = sum(
            len(c.name) + sum(len(k) + len(v) for k, v in c.parameters) for c in self.choices
        )
        return self.boxes.bytes + 36 * sum(self.shape) + 2 * texts + 200 * len(self.choices)

    def covers(self, axes: Axes) -> bool:
        """Whether every value of every given axis is in this page's."""
        return covers(self.axes, axes)

    def choice_at(self, coordinates: Sequence[int]) -> Choice | None:
        """What wins at these values of the axes; None where nothing implements the Spec.

        Takes one comparison with every box; the page is not decompressed.

        Raises:
            KeyError: The page does not answer for these coordinates.
        """
        if len(coordinates) != len(self.axes):
            raise KeyError(tuple(coordinates))
        index = [_place(axis, at) for axis, at in zip(self.axes, coordinates, strict=True)]
        value = value_at(self.boxes, index)
        return None if value == UNSOLVABLE else self.choices[value]

    def table(self, axes: Axes | None = None) -> Table:
        """The dense table over these axes, which the page has to cover, or over its own.

        Returns:
            Indices into ``choices`` or `UNSOLVABLE`, int32, one axis for each of ``axes``.

        Raises:
            KeyError: The page does not cover the axes.
        """
        if axes is None or axes == self.axes:
            return decompress(self.boxes, self.shape)
        if not self.covers(axes):
            raise KeyError(axes)
        pairs = zip(self.axes, axes, strict=True)
        places = [_places(own, np.asarray(wanted, np.int64)) for own, wanted in pairs]
        return decompress(part(self.boxes, places), [len(own) for own in places])


def covers(axes: Axes, wanted: Axes) -> bool:
    """Whether every value of every wanted axis is in the axis of the same place, or any is."""
    pairs = zip(axes, wanted, strict=False)
    return len(axes) == len(wanted) and all(
        own == (ANY,) or set(own).issuperset(other) for own, other in pairs
    )


def page_of(axes: Axes, choices: Sequence[Choice], table: npt.NDArray[np.integer]) -> Page:
    """Compress a table of choices.

    Choices that no cell has are dropped, equal ones become one, and the rest is sorted: so the page
    depends on what the table means only, not on how its choices were enumerated.

    Args:
        axes: The coordinates along each axis of the table, strictly increasing.
        choices: What the values of the table stand for; none is looked at that no cell has.
        table: Indices into ``choices``, or `UNSOLVABLE`; one axis for each of ``axes``.

    Raises:
        ValueError: The table has another shape than the axes, or a value that is no choice.
    """
    shape = tuple(len(axis) for axis in axes)
    if table.shape != shape:
        raise ValueError(f"expected a table of shape {shape}, found {table.shape}")
    cells = np.asarray(table, order="C")
    if cells.size and (cells.min() < UNSOLVABLE or cells.max() >= len(choices)):
        raise ValueError(f"the table has a value that is none of {len(choices)} choices")
    seen = np.zeros(len(choices) + 1, bool)
    seen[cells] = True  # of `UNSOLVABLE`, the last place
    found = {place: choices[place] for place in np.flatnonzero(seen[:-1]).tolist()}
    used = sorted(set(found.values()), key=attrgetter("name", "parameters"))
    numbers = {choice: number for number, choice in enumerate(used)}
    renumbered = np.full(len(seen), UNSOLVABLE, np.int32)
    renumbered[list(found)] = [numbers[choice] for choice in found.values()]
    return Page(axes, tuple(used), compress(renumbered.take(cells, mode="wrap")))


def _place(axis: tuple[int, ...], value: int) -> int:
    if axis == (ANY,):
        return 0
    place = bisect_left(axis, value)
    if place == len(axis) or axis[place] != value:
        raise KeyError(value)
    return place


def _places(axis: tuple[int, ...], values: Ints) -> Ints:
    if axis == (ANY,):
        return np.zeros_like(values)
    return np.searchsorted(np.asarray(axis, np.int64), values)


@lru_cache(maxsize=1024)  # the variants of a search share boxes
def _check_axes(axes: Axes) -> None:
    if len(axes) > MAX_RANK or prod(len(axis) for axis in axes) > MAX_CELLS:
        raise ValueError(f"a page has at most {MAX_RANK} axes and {MAX_CELLS} cells")
    for axis in axes:
        if not axis or any(a >= b for a, b in pairwise(axis)):
            raise ValueError("the values of an axis do not increase")
        if len(axis) > MAX_LENGTH:
            raise ValueError(f"an axis has at most {MAX_LENGTH} values")
        if max(-axis[0], axis[-1]) >= MAX_VALUE:
            raise ValueError("a value of an axis is too large")


def check_boxes(page: Page) -> None:
    """Check that boxes lie in the page, the first being all of it, and mean something.

    Those that `page_of` makes do.

    Raises:
        ValueError: They do not.
    """
    boxes, shape = page.boxes, page.shape
    low, high, value = boxes.low, boxes.high, boxes.value
    if not (low.shape == high.shape == (len(value), len(shape))) or not len(value):
        raise ValueError("the bounds and the values of boxes differ in number")
    if low[0].any() or tuple(high[0]) != shape:
        raise ValueError("the first box is not the whole page")
    if not ((low < high).all() and (high <= np.array(shape, np.int64)).all()):
        raise ValueError("a box is not within the page")
    if np.prod((high - low)[1:], axis=1, dtype=np.float64).sum() > prod(shape):
        raise ValueError("boxes overlap")
    if value.min() < UNSOLVABLE or value.max() >= len(page.choices):
        raise ValueError("a box has a value that is no choice")
