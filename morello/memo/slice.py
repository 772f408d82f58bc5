"""A page cut along two of its axes: the rectangles of equal choice, ready to be drawn.

A page has an axis for each coordinate of its family. Here the axes have names, all but two of them
are fixed at a value, and each box of the page that contains these values leaves a rectangle. How
that looks is up to ``drawing.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from morello.errors import UsageError
from morello.ir.spec import Family, Variant
from morello.ir.target import Level
from morello.language.diagnostics import suggestion
from morello.memo.page import ANY, UNSOLVABLE, Choice, Page
from morello.memo.pages import Pages
from morello.rewriting.context import Context

_SHOWN = 12
"""Values of an axis that a message names."""


class Axis(Struct, frozen=True):
    """An axis of a page: what it is called, and its values as they are shown, by rank.

    ``start`` is the place of the value at which it is fixed if nobody says where.
    """

    name: str
    labels: tuple[str, ...]
    start: int = -1
    unit: str = ""

    @property
    def title(self) -> str:
        """Its name, with what its values count."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def rank(self, label: str) -> int:
        """The place of a value.

        Raises:
            UsageError: The axis does not have it.
        """
        if label not in self.labels:
            known = ", ".join(self.labels[:_SHOWN])
            more = ", ..." if len(self.labels) > _SHOWN else ""
            raise UsageError(
                f"{self.name} = {label} is not in the page", help=f"it has: {known}{more}"
            )
        return self.labels.index(label)


class Rectangle(Struct, frozen=True):
    """Ranks of a rectangle's first cell, its extents in cells, and what is chosen there."""

    x: int
    y: int
    width: int
    height: int
    choice: Choice | None


class Slice(Struct, frozen=True):
    """A page along two axes.

    Attributes:
        x: The horizontal axis.
        y: The vertical one.
        fixed: Names and values of the other axes that have more than one value.
        rectangles: Painted in this order; the first is all of the slice.
        shares: Cells of the slice that each choice has, the most first; None where nothing
            implements the Specs.
    """

    x: Axis
    y: Axis
    fixed: tuple[tuple[str, str], ...]
    rectangles: tuple[Rectangle, ...]
    shares: tuple[tuple[Choice | None, int], ...]

    @property
    def cells(self) -> int:
        """Specs in the slice."""
        return len(self.x.labels) * len(self.y.labels)


def axes_of(context: Context, family: Family, page: Page) -> tuple[Axis, ...]:
    """The axes of a page of a family: sizes, called like their dimensions, and levels in use."""
    texts = [("any",) if axis == (ANY,) else tuple(map(str, axis)) for axis in page.axes]
    dims = family.operation.dims
    sizes = [Axis(name, labels) for name, labels in zip(dims, texts, strict=False)]
    used = [
        Axis(level.name, labels, 0, _unit(level))
        for level, labels in zip(context.target.bounded, texts[len(dims) :], strict=True)
    ]
    return (*sizes, *used)


def _unit(level: Level) -> str:
    units = f"units of {level.capacity_unit} bytes" if level.addressable else "vectors"
    return f"{units} in use"


def default_axes(axes: Sequence[Axis]) -> tuple[str, str]:
    """The two that tell most: the first that have several values, else the first.

    Raises:
        UsageError: There is only one.
    """
    names = [axis.name for axis in sorted(axes, key=lambda axis: len(axis.labels) == 1)]
    if len(names) < 2:
        raise UsageError("the page has only one coordinate", help="choose another with --family")
    return names[0], names[1]


def cut(page: Page, axes: Sequence[Axis], shown: tuple[str, str], at: Mapping[str, str]) -> Slice:
    """Cut a page.

    Args:
        page: The page.
        axes: Its axes, by `axes_of`.
        shown: Names of the horizontal and of the vertical axis.
        at: Values of other axes, by name. Those that are not named are fixed at their last value,
            levels at their first: the largest sizes, and nothing in use.

    Raises:
        UsageError: A name or a value is none of the page's, or an axis is named twice.
    """
    places = {axis.name: place for place, axis in enumerate(axes)}
    for name in (*shown, *at):
        if name not in places:
            raise UsageError(f"there is no axis '{name}'", help=suggestion(name, sorted(places)))
    if len({*shown, *at}) < len(shown) + len(at):
        raise UsageError("an axis is named twice", help="show two axes, and fix others")
    index = [axis.rank(at[axis.name]) if axis.name in at else axis.start for axis in axes]
    index = [rank % len(axis.labels) for rank, axis in zip(index, axes, strict=True)]
    x, y = (places[name] for name in shown)
    rectangles = _rectangles(page, index, x, y)
    fixed = tuple(
        (axis.name, axis.labels[index[place]])
        for place, axis in enumerate(axes)
        if place not in (x, y) and len(axis.labels) > 1
    )
    return Slice(axes[x], axes[y], fixed, rectangles, _shares(rectangles))


def _rectangles(page: Page, index: Sequence[int], x: int, y: int) -> tuple[Rectangle, ...]:
    """One for each box that contains the index on all axes but two."""
    boxes, others = page.boxes, [place for place in range(len(index)) if place not in (x, y)]
    at = np.array(index, np.int64)[others]
    inside = ((boxes.low[:, others] <= at) & (at < boxes.high[:, others])).all(axis=1)
    low = boxes.low[inside][:, [x, y]].astype(int).tolist()
    high = boxes.high[inside][:, [x, y]].astype(int).tolist()
    values = boxes.value[inside].tolist()
    return tuple(
        Rectangle(left, down, right - left, up - down, _choice(page, value))
        for (left, down), (right, up), value in zip(low, high, values, strict=True)
    )


def _choice(page: Page, value: int) -> Choice | None:
    return None if value == UNSOLVABLE else page.choices[value]


def _shares(rectangles: Sequence[Rectangle]) -> tuple[tuple[Choice | None, int], ...]:
    """Cells of each choice. All rectangles but the first are disjoint, and hide it."""
    whole, *others = rectangles
    counts = {whole.choice: whole.width * whole.height}
    for rectangle in others:
        area = rectangle.width * rectangle.height
        counts[rectangle.choice] = counts.get(rectangle.choice, 0) + area
        counts[whole.choice] -= area
    seen = ((choice, count) for choice, count in counts.items() if count)
    return tuple(sorted(seen, key=lambda share: (-share[1], share[0] or Choice(""))))


def pages_below(pages: Pages, context: Context, families: Sequence[Family]) -> dict[Variant, Page]:
    """The pages that a memo holds of these families, in their order, then by packing.

    Of several pages of a variant it is the one with the most Specs.
    """
    order = {family: place for place, family in enumerate(families)}
    variants = [v for v in pages.variants(context) if v.family in order]
    variants.sort(key=lambda v: (order[v.family], tuple(-packing for packing in v.packing)))
    return {variant: page for variant in variants for page in pages.all(context, variant)}
