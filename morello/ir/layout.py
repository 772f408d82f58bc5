"""Layouts: how a tensor's elements lie in memory, and how contiguous a view of them is.

A layout orders the logical dimensions, slowest first: row-major of a matrix is ``(0, 1)``,
column-major ``(1, 0)``. It may cut the fastest dimension into *panels*: ``(0, 1) panels 16`` keeps
columns 0 to 15 of all rows, then columns 16 to 31 of all rows, and so on. The number of the panel
is then one more dimension in memory, the slowest; the last panel is filled up to its full width. A
part that lies within one panel has a plain layout, with rows a panel's width apart.

Panels may have a *height* too, along the dimension that is next to the fastest: ``panels (8, 16)``
is a grid of panels in the layout's order, each with 8 rows of 16. What lies within 8 rows is then
as in ``panels 16``, and in one piece. What lies within 16 columns, but not within 8 rows, is cut
along the rows only. Behind all that is one step of the slowest dimension there may be a *gap*, so
that parts of several do not alias in the caches; it counts as part of a panel, and packings do not
tell.

Without panels there may be gaps along any dimension but the fastest, as in rows of a larger array.
Then the layout states all *strides*, in elements.

The *contiguity* of a view is the number of its innermost (fastest) dimensions in memory that are
packed together: a whole row-major matrix has contiguity 2; its left half has contiguity 1, since
only its rows are packed. Where not all of it is packed, what is may be *paged*: a multiple of the
page long and apart, so that it aliases in the caches. The panels (0 where there are none),
contiguity and paging are a view's *packing*: one number, so that an array of them is a coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.numeric import AnySize, Size, Truth
from morello.records import replace

Order = tuple[int, ...]
"""Logical dimensions, the slowest first."""

Packing = Size
"""See `pack`: paged in bit 0, contiguity in bits 1 to 7, the panel in those above."""

Panel = Size
"""Width and height of panels as one number: width + 4096 * height; 0 for what is not cut."""

PANEL_SHIFT = 8
"""A packing is paged + 2 * contiguity + 256 * panel."""

PANELS = range(2, 1025)
"""Widths and heights of panels."""

_HEIGHT_SHIFT = 12

_MANY_PAGES = 8
"""In what is between gaps: one more of nothing is little beside them."""


def panel_of(written: int | tuple[int, int]) -> int:
    """Panels as they are written: a width, or height and width."""
    height, width = (0, written) if isinstance(written, int) else written
    return width + (height << _HEIGHT_SHIFT)


def width_of(panel: AnySize) -> AnySize:
    """Extent along the fastest dimension; 0 if that is not cut."""
    return panel & ((1 << _HEIGHT_SHIFT) - 1)


def height_of(panel: AnySize) -> AnySize:
    """Extent along the dimension next to the fastest; 0 if that is not cut."""
    return panel >> _HEIGHT_SHIFT


def cuts(panel: AnySize) -> tuple[AnySize, AnySize]:
    """Extents of a panel, from the fastest dimension on; 0 along what is not cut."""
    return width_of(panel), height_of(panel)


def panel_text(panel: int) -> str:
    """As it is written: ``16`` or ``(8, 16)``."""
    return f"({height_of(panel)}, {width_of(panel)})" if height_of(panel) else str(panel)


def _layers(panel: Panel) -> Size:
    """How many dimensions there are more in memory."""
    return (width_of(panel) > 0) + 0 + (height_of(panel) > 0)


class Layout(Struct, frozen=True, order=True):
    """The layout of a whole tensor.

    ``panel``: 0 for none. ``gap``: how many rows, a panel's width long, are left free behind all
    that is one step of the slowest dimension in memory; pieces of panels where these have a height.
    ``stated``: strides where there are gaps and no panels; else none, as the shape tells them.
    """

    order: Order
    panel: int = 0
    gap: int = 0
    stated: tuple[int, ...] = ()

    @property
    def fastest(self) -> int | None:
        """The dimension along which neighbours lie next to each other; none for a scalar."""
        return self.order[-1] if self.order else None

    def shape_in_memory(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of the dimensions in memory, slowest first, of a tensor of this shape.

        Where there are gaps behind panels, all rows between two of them are one dimension. There is
        no such shape where strides are stated.
        """
        extents = self._in_panels(shape)
        if not self.panel:
            return extents
        counts = [-(-shape[d] // n) for d, n in self.cuts.items()][::-1]
        first, *rows = (*counts, *extents[:-1])
        if self.gap:
            rows = [prod(rows) + self.gap * (height_of(self.panel) or 1)]
        return (first, *rows, extents[-1])

    def _in_panels(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Extents of one panel, slowest first."""
        return tuple(self.cuts.get(d, shape[d]) for d in self.order)

    @property
    def cuts(self) -> dict[int, int]:
        """The logical dimensions that are cut, the fastest first, into pieces of how many."""
        return {d: n for d, n in zip(self.order[::-1], cuts(self.panel), strict=False) if n}

    def apart(self, shape: Sequence[int]) -> dict[int, int]:
        """Elements from one panel to the next, along each dimension that is cut."""
        result, distance = {}, prod(self._in_panels(shape))
        for dimension, extent in self.cuts.items():
            result[dimension] = distance
            distance *= -(-shape[dimension] // extent)
        if result and self.gap:
            *_, slowest = result
            result[slowest] = prod(self.shape_in_memory(shape)[1:])
        return result

    def spread(self, shape: Sequence[int], page: int) -> Layout:
        """This layout, with a gap of a page where there would be an even number of pages between.

        What lies an odd number of pages apart is spread over all sets of a cache; at multiples of a
        large power of two it shares few of them, whatever the cache's size. What is shorter loses
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
        width, height = cuts(self.panel)
        return replace(self, gap=-(-page // (width * max(height, 1))))

    def elements(self, shape: Sequence[int]) -> int:
        """Elements that a tensor of this shape takes in memory, with gaps between them."""
        if self.stated:
            return 1 + sum((n - 1) * stride for n, stride in zip(shape, self.stated, strict=True))
        return prod(self.shape_in_memory(shape))

    def strides(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Elements between neighbours along each logical dimension, within a panel."""
        if self.stated:
            return self.stated
        result = [0] * len(shape)
        stride = 1
        extents = self._in_panels(shape)
        for dimension, extent in zip(reversed(self.order), reversed(extents), strict=True):
            result[dimension] = stride
            stride *= extent
        return tuple(result)

    def packing(self, shape: Sequence[int]) -> int:
        """Packing of a whole tensor of this shape without stated strides."""
        extents = [shape[d] for d in self.order]
        return int(narrowed(packed(len(extents), self.panel), extents))

    def __str__(self) -> str:
        if self.stated:
            return f"stride ({', '.join(map(str, self.stated))})"
        order = f"({', '.join(map(str, self.order))})"
        gap = f" gap {self.gap}" if self.gap else ""
        return f"{order} panels {panel_text(self.panel)}{gap}" if self.panel else order


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of a view: every ``step``-th element along a logical dimension of a tensor.

    Where the step is 0, one element is every one.
    ``runs_on``: rows follow each other in memory, and it goes from the end of one to the next.
    """

    dimension: int
    step: int = 1
    runs_on: bool = field(default=False, compare=False)

    def of(self, outer: Axis) -> Axis:
        """This axis of what runs along another one."""
        return Axis(outer.dimension, outer.step * self.step, outer.runs_on or self.runs_on)


def strided(strides: Sequence[int], shape: Sequence[int]) -> Layout | None:
    """The layout of a tensor with these strides; none if it has none.

    Each step of a dimension goes beyond all that lies within one, and neighbours along the fastest
    are next to each other. Where there are no gaps, the shape tells the strides.
    """
    order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d)))
    reach = 1
    for d in reversed(order):
        if shape[d] > 1 and (strides[d] < reach or (d == order[-1] and strides[d] > 1)):
            return None
        reach += (shape[d] - 1) * strides[d]
    if reach > prod(shape):
        return Layout(order, stated=tuple(strides))
    plain = row_major(len(shape))
    own = zip(plain.strides(shape), strides, shape, strict=True)
    as_plain = all(expected == stride for expected, stride, size in own if size > 1)
    return plain if as_plain else Layout(order)


def order_of(axes: Sequence[Axis], order: Order) -> Order:
    """Memory order of a view's dimensions, by that of the tensor that they run along.

    Along what repeats its elements nothing lies in memory: that is as slow as can be.
    """
    places = {dimension: place for place, dimension in enumerate(order)}
    by_place = (
        (axis.step > 0, places[axis.dimension], -axis.step, p) for p, axis in enumerate(axes)
    )
    return tuple(p for *_, p in sorted(by_place))


def row_major(rank: int) -> Layout:
    """The layout of C arrays."""
    return Layout(tuple(range(rank)))


def column_major(rank: int) -> Layout:
    """The layout of C arrays of which each matrix is transposed."""
    return Layout((*range(rank - 2), *range(rank)[-2:][::-1]))


def packed(rank: int, panel: int = 0) -> int:
    """Packing of a whole tensor."""
    return int(packed_whole(rank, panel))


def packed_whole(rank: int, panel: Panel) -> Packing:
    """Packing of a whole tensor in panels."""
    return pack(rank + _layers(panel), panel=panel)


def packing_by_strides(
    order: Order, shape: Sequence[int], strides: Sequence[int], page: int
) -> int:
    """Packing of what lies in memory with so many elements between neighbours, in no panels.

    ``page``: in elements.
    """
    inner, reach = 0, 1
    for d in reversed(order):
        if shape[d] > 1 and strides[d] != reach:
            return int(pack(inner, strides[d] > 0 and strides[d] % page == 0))
        inner, reach = inner + 1, reach * shape[d]
    return packed(inner)


def pack(contiguity: AnySize, paged: AnySize = 0, panel: AnySize = 0) -> AnySize:
    """The packing of these parts."""
    return (panel << PANEL_SHIFT) + 2 * contiguity + paged


def contiguity(packing: AnySize) -> AnySize:
    """Number of innermost dimensions in memory that are packed together."""
    return (packing >> 1) & ((1 << (PANEL_SHIFT - 1)) - 1)


def in_one_piece(packing: Packing, rank: int) -> Truth:
    """Whether all of a view of this rank is packed together."""
    return contiguity(packing) == rank + _layers(panel(packing))


def paged(packing: AnySize) -> AnySize:
    """1 where rows are a multiple of the page apart, else 0."""
    return packing & 1


def panel(packing: AnySize) -> AnySize:
    """The panels, 0 where there are none."""
    return packing >> PANEL_SHIFT


def shortened(layout: Layout, extents: Sequence[Size]) -> Panel:
    """Panels of a whole tensor of this shape: without a height that it does not go beyond."""
    width, height = cuts(layout.panel)
    if not height:
        return layout.panel
    return np.where(np.greater(extents[layout.order[-2]], height), layout.panel, width)


def cut_at(order: Order, packing: Packing, dimension: int) -> Packing:
    """How many innermost dimensions of a strict part along this one can be packed at most.

    Of what is cut a part is whole panels, which stay packed.
    """
    place, rank = len(order) - order.index(dimension), len(order)
    if place > 2 or not np.any(panel(packing)):
        return place
    width, height = cuts(panel(packing))
    if place == 1:
        return np.where(width > 0, rank + 1, 1)
    return np.where(height > 0, rank + 1 + (width > 0), 2)


def narrowed(packing: Packing, extents: Sequence[Size], page: int = 0) -> Packing:
    """Packing of a part: along what does not go beyond a panel, it is not cut any more.

    Its rows are then as far apart as the panel is wide.

    Args:
        packing: As if no dimension were shorter than a panel.
        extents: Of the part, slowest first.
        page: In elements; 0 where it does not matter whether rows alias.
    """
    rank = len(extents)
    for place, extent in enumerate(reversed(extents[-2:]), start=1):
        width, height = cuts(panel(packing))
        size = (width, height)[place - 1]
        if not np.any(size):
            continue
        before = contiguity(packing)
        number = rank + 1 if place == 1 else rank + 1 + (width > 0)  # of the panel, in memory
        inner = np.where(before >= number, before - 1, before)
        cut = (extent < size) & (inner > place)
        inner = np.where(cut, place, inner)
        length = size if place == 1 else size * np.where(width > 0, width, extents[-1])
        aliasing = length % page == 0 if page else np.False_
        rows = np.where(cut & (before >= rank), aliasing, paged(packing))
        rest = height << _HEIGHT_SHIFT if place == 1 else width
        whole = rank + _layers(rest)
        within = pack(inner, np.where(inner < whole, rows, 0), rest)
        packing = np.where((size > 0) & (extent <= size), within, packing)
    return packing
