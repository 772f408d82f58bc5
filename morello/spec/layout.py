"""Layouts: how a tensor's elements lie in memory, and how contiguous a view of them is.

A layout orders the logical dimensions, slowest first: row-major of a matrix is ``(0, 1)``,
column-major ``(1, 0)``. It may cut the fastest dimension into *panels*: ``(0, 1) panels 16`` keeps
columns 0 to 15 of all rows, then columns 16 to 31 of all rows, and so on. The number of the panel
is then one more dimension in memory, the slowest; the last panel is filled up to its full width. A
part that lies within one panel has a plain layout, with rows a panel's width apart. Panels may have
a *gap* behind each, so that parts of several panels do not alias in the caches; it counts as part
of its panel, and packings do not tell.

The *contiguity* of a view is the number of its innermost (fastest) dimensions in memory that are
packed together: a whole row-major matrix has contiguity 2; its left half has contiguity 1, since
only its rows are packed. Where not all of it is packed, what is may be *paged*: a multiple of the
page long and apart, so that it aliases in the caches. The width of the panels (0 where there are
none), contiguity and paging are a view's *packing*: one number, so that an array of them is a
coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

Order = tuple[int, ...]
"""Logical dimensions, the slowest first."""

Packing = Any
"""An int, or an int64 array that broadcasts over a box."""

PANEL_SHIFT = 8
"""A packing is paged + 2 * contiguity + 256 * width of the panels."""

_MANY_PAGES = 8
"""In a panel: one more of nothing is little beside them."""


@dataclass(frozen=True, slots=True, order=True)
class Layout:
    """The layout of a whole tensor.

    ``panel``: width of the panels in elements, 0 for none. ``gap``: rows, a panel's width long,
    that are left free behind each panel.
    """

    order: Order
    panel: int = 0
    gap: int = 0

    @property
    def fastest(self) -> int | None:
        """The dimension along which neighbours lie next to each other; none for a scalar."""
        return self.order[-1] if self.order else None

    def shape_in_memory(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of the dimensions in memory, slowest first, of a tensor of this shape.

        All rows of a panel are one dimension where there is a gap behind them.
        """
        extents = [shape[d] for d in self.order]
        if not self.panel:
            return tuple(extents)
        rows = [prod(extents[:-1]) + self.gap] if self.gap else extents[:-1]
        return (-(-extents[-1] // self.panel), *rows, self.panel)

    def spread(self, shape: Sequence[int], page: int) -> Layout:
        """This layout, with a gap of a page where panels are an even number of pages long.

        What lies an odd number of pages apart is spread over all sets of a cache; at multiples of a
        large power of two it shares few of them, whatever the cache's size. Shorter panels lose
        less by that than such gaps would take.

        Args:
            shape: Of the tensor.
            page: In elements.
        """
        if not self.panel:
            return self
        pages, rest = divmod(prod(self.shape_in_memory(shape)[1:]), page)
        if rest or pages % 2 or pages < _MANY_PAGES:
            return self
        return replace(self, gap=-(-page // self.panel))

    def elements(self, shape: Sequence[int]) -> int:
        """Elements that a tensor of this shape takes in memory."""
        return prod(self.shape_in_memory(shape))

    def strides(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Elements between neighbours along each logical dimension, within a panel."""
        result = [0] * len(shape)
        stride = 1
        for dimension in reversed(self.order):
            result[dimension] = stride
            in_panel = self.panel and dimension == self.fastest
            stride *= self.panel if in_panel else shape[dimension]
        return tuple(result)

    def packing(self, shape: Sequence[int]) -> int:
        """Packing of a whole tensor of this shape."""
        rank = len(self.order)
        if not self.panel or shape[self.order[-1]] == self.panel:
            return packed(rank)
        narrow = shape[self.order[-1]] < self.panel
        return packed(1) if narrow else packed(rank, self.panel)

    def __str__(self) -> str:
        order = f"({', '.join(map(str, self.order))})"
        gap = f" gap {self.gap}" if self.gap else ""
        return f"{order} panels {self.panel}{gap}" if self.panel else order


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a view: every ``step``-th element along a logical dimension of a tensor.

    ``runs_on``: rows follow each other in memory, and it goes from the end of one to the next.
    """

    dimension: int
    step: int = 1
    runs_on: bool = field(default=False, compare=False)

    def of(self, outer: Axis) -> Axis:
        """This axis of what runs along another one."""
        return Axis(outer.dimension, outer.step * self.step, outer.runs_on or self.runs_on)


def order_of(axes: Sequence[Axis], order: Order) -> Order:
    """Memory order of a view's dimensions, by that of the tensor that they run along."""
    places = {dimension: place for place, dimension in enumerate(order)}
    by_place = ((places[axis.dimension], -axis.step, p) for p, axis in enumerate(axes))
    return tuple(p for _, _, p in sorted(by_place))


def row_major(rank: int) -> Layout:
    """The layout of C arrays."""
    return Layout(tuple(range(rank)))


def packed(rank: int, panel: int = 0) -> int:
    """Packing of a whole tensor."""
    return int(pack(rank + (panel > 0), panel=panel))


def pack(contiguity: Any, paged: Any = 0, panel: Any = 0) -> Packing:
    """The packing of these parts."""
    return (panel << PANEL_SHIFT) + 2 * contiguity + paged


def contiguity(packing: Packing) -> Packing:
    """Number of innermost dimensions in memory that are packed together."""
    return (packing >> 1) & ((1 << (PANEL_SHIFT - 1)) - 1)


def in_one_piece(packing: Packing, rank: int) -> Any:
    """Whether all of a view of this rank is packed together."""
    return contiguity(packing) == rank + (panel(packing) > 0)


def paged(packing: Packing) -> Packing:
    """1 where rows are a multiple of the page apart, else 0."""
    return packing & 1


def panel(packing: Packing) -> Packing:
    """Width of the panels, 0 where there are none."""
    return packing >> PANEL_SHIFT
