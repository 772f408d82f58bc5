"""Pages of one family that overlap become one, where their union is a grid, too.

That is where they differ along one axis. Both were solved with the same definitions, so that they
say the same where they overlap; should they not, both stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from math import prod

import numpy as np

from morello.memo.boxes import Table
from morello.memo.codec import axes_said
from morello.memo.page import Axes, Choice, Page, page_of
from morello.memo.records import Record
from morello.memo.store import Store

MOST_CELLS = 1 << 22
"""Of a union: its table is made in memory."""


def unite(store: Store, families: Iterable[tuple[bytes, str]]) -> int:
    """Unite pages of families, each named with its fingerprint.

    Returns:
        How many pages are new, each in place of two or more.
    """
    found = 0

    def records() -> Iterator[Record]:
        nonlocal found
        for fingerprint, family in families:
            known = [axes for axes in map(axes_said, store.axes(fingerprint, family)) if axes]
            if not any(_united_axes(a, b) for a, b in combinations(known, 2)):
                continue
            for page in united(list(store.pages(fingerprint, family))):
                found += 1
                yield Record(fingerprint, family, page)

    store.write_all(records())
    return found


def united(pages: list[Page]) -> list[Page]:
    """Unions of pages of one family, each as large as it becomes; they cover what they are of."""
    new: list[Page] = []
    while (found := _first_union(pages)) is not None:
        pages = [page for page in pages if not found.covers(page.axes)]
        new = [page for page in new if not found.covers(page.axes)]
        pages.append(found)
        new.append(found)
    return new


def _first_union(pages: list[Page]) -> Page | None:
    return next(
        (found for one, two in combinations(pages, 2) if (found := _union(one, two)) is not None),
        None,
    )


def _union(one: Page, two: Page) -> Page | None:
    """Both as one page, where that is possible, and they agree."""
    axes = _united_axes(one.axes, two.axes)
    if axes is None:
        return None
    choices: dict[Choice, int] = {}
    table = np.empty([len(axis) for axis in axes], np.int32)
    _fill(table, axes, two, choices)
    _fill(table, axes, one, choices)
    found = page_of(axes, tuple(choices), table)
    return found if _agrees(found, two) else None


def _united_axes(one: Axes, two: Axes) -> Axes | None:
    """Axes of a union: all are equal but one, where they overlap; none covers the other."""
    if len(one) != len(two):
        return None
    differ = [n for n, (own, other) in enumerate(zip(one, two, strict=True)) if own != other]
    if len(differ) != 1:
        return None
    (place,) = differ
    own, other = set(one[place]), set(two[place])
    if not own & other or own <= other or other <= own:
        return None
    axes = (*one[:place], tuple(sorted(own | other)), *one[place + 1 :])
    return axes if prod(map(len, axes)) <= MOST_CELLS else None


def _fill(table: Table, axes: Axes, page: Page, choices: dict[Choice, int]) -> None:
    """Write what a page says into the table of a union, its choices numbered anew."""
    numbers = [choices.setdefault(choice, len(choices)) for choice in page.choices]
    places = [np.searchsorted(axis, own) for axis, own in zip(axes, page.axes, strict=True)]
    renumbered = np.array([*numbers, -1], np.int32)  # what is unsolvable is the last one
    table[np.ix_(*places)] = renumbered[page.table()]


def _agrees(union: Page, page: Page) -> bool:
    """Whether a union says what a page says."""
    own, theirs = union.table(page.axes), page.table()
    names = {choice: number for number, choice in enumerate(page.choices)}
    renumbered = np.array([*(names.get(c, -2) for c in union.choices), -1], np.int32)
    return bool((renumbered[own] == theirs).all())
