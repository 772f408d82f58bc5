"""Pages that overlap and differ along one axis become the page of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.memo.codec import encode
from morello.memo.page import Axes, Choice, Page, page_of
from morello.memo.store import Store
from morello.memo.transfer import export_memo, import_memo
from morello.memo.union import MOST_CELLS, unite, united
from tests.memo.tables import pages

KEY = b"print"


def _part(page: Page, place: int, first: int, last: int) -> Page:
    """The same page for some values of one axis, its choices in another order."""
    axes = (*page.axes[:place], page.axes[place][first:last], *page.axes[place + 1 :])
    return page_of(axes, page.choices, page.table(axes))


def _axes(*lengths: int) -> Axes:
    return tuple(tuple(range(n)) for n in lengths)


def _of(axes: Axes, value: int = 0) -> Page:
    choices = [Choice("a"), Choice("b")]
    return page_of(axes, choices, np.full([len(axis) for axis in axes], value, np.int32))


@given(whole=pages(), draw=st.data())
def test_parts_become_the_whole(whole: Page, draw: st.DataObject) -> None:
    long = [place for place, axis in enumerate(whole.axes) if len(axis) >= 3]
    if not long:
        return
    place = draw.draw(st.sampled_from(long))
    length = len(whole.axes[place])
    end = draw.draw(st.integers(2, length - 1))
    begin = draw.draw(st.integers(1, end - 1))
    parts = [_part(whole, place, 0, end), _part(whole, place, begin, length)]
    for order in (parts, parts[::-1]):
        (found,) = united(order)
        assert encode(found) == encode(whole)


@pytest.mark.parametrize(
    "other",
    [
        ((0, 1, 2, 3), (0, 1, 2)),  # both axes are others
        ((4, 5), (0, 1)),  # nothing is common
        ((1, 2), (0, 1)),  # covered
        ((0, 1, 2), (0, 1)),  # the same
        ((0, 1, 2), (0, 1), (0,)),  # another rank
    ],
)
def test_what_is_no_grid_or_has_nothing_in_common_stays(other: Axes) -> None:
    assert not united([_of(_axes(3, 2)), _of(other)])


def test_pages_that_contradict_each_other_stay() -> None:
    one, two = _of(_axes(3, 2), 0), _of(((1, 2, 3), (0, 1)), 1)
    assert not united([one, two])


def test_pages_that_would_be_too_large_stay() -> None:
    near, far, other = range(3000), range(2999, 6000), tuple(range(MOST_CELLS // 5000))
    assert not united([_of((tuple(axis), other)) for axis in (near, far)])


def test_more_than_two_become_one() -> None:
    parts = [_of((tuple(range(n, n + 3)), (0, 1))) for n in (4, 0, 2)]
    (found,) = united(parts)
    assert found.axes == (tuple(range(7)), (0, 1))


def test_an_import_unites_what_was_there_with_what_comes(tmp_path: Path) -> None:
    parts = [_of((tuple(range(n, n + 3)), (0, 1))) for n in (0, 2)]
    shipped = tmp_path / "shipped.sqlite"
    with Store.open(tmp_path / "other.sqlite", warn=pytest.fail) as other:
        other.write(KEY, "f", parts[0])
        other.write(KEY, "alone", parts[0])
        export_memo(other, shipped)
    with Store.open(tmp_path / "memo.sqlite", warn=pytest.fail) as store:
        store.write(KEY, "f", parts[1])
        store.write(KEY + b"!", "f", parts[1])
        store.write(KEY, "g", parts[1])
        found = import_memo(store, shipped, warn=pytest.fail)
        assert (found.copied, found.united) == (2, 1)
        (page,) = store.pages(KEY, "f")
        assert encode(page) == encode(_of(_axes(5, 2)))
        assert len(list(store.records())) == 4
        assert not unite(store, [(KEY, "f"), (KEY, "g"), (KEY, "alone")])
        again = import_memo(store, shipped, warn=pytest.fail)
        assert (again.copied, again.known, again.united) == (0, 2, 0)
    with Store.open(tmp_path / "apart.sqlite", warn=pytest.fail) as store:
        store.write(KEY, "f", parts[1])
        import_memo(store, shipped, warn=pytest.fail, united=False)
        assert len(list(store.pages(KEY, "f"))) == 2
