"""Pages: which coordinates they answer for, and what they answer."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.memo.boxes import Boxes
from morello.memo.compression import compress
from morello.memo.page import ANY, UNSOLVABLE, Choice, Page, check_boxes, page_of
from morello.records import replace
from tests.memo.tables import Table, axes_like, axes_of, page_like, tables

CHOICES = [Choice(f"rule_{i}", (("t", str(i)),)) for i in range(4)]


@given(st.data(), tables())
def test_the_choice_at_each_coordinate_is_that_of_the_table(
    data: st.DataObject, table: Table
) -> None:
    page = page_of(data.draw(axes_of(table.shape)), CHOICES, table)
    assert table.shape == page.shape
    assert table.size == page.cells
    coordinates = list(product(*page.axes))
    expected = [None if at == UNSOLVABLE else CHOICES[at] for at in table.reshape(-1)]
    assert expected == [page.choice_at(at) for at in coordinates]
    assert expected == [None if at < 0 else page.choices[at] for at in page.table().reshape(-1)]


def test_choices_that_no_cell_has_are_dropped() -> None:
    page = page_of(((1, 2, 4),), CHOICES, np.array([3, 1, -1]))
    assert (CHOICES[1], CHOICES[3]) == page.choices
    assert [1, 0, UNSOLVABLE] == page.table().tolist()


def test_a_page_does_not_depend_on_the_enumeration_of_choices() -> None:
    """Nor does it keep two choices that are the same."""
    axes = axes_like((2, 3))
    table = np.array([[0, 1, 2], [2, 1, 0]])
    expected = page_of(axes, CHOICES[:3], table)
    for found in (
        page_of(axes, CHOICES[2::-1], 2 - table),
        page_of(axes, CHOICES[:2] + CHOICES[:3], table + 2 * (table == 2) + 2 * (table == 0)),
    ):
        assert expected.choices == found.choices
        np.testing.assert_array_equal(expected.table(), found.table())


def test_a_page_covers_what_is_among_its_values() -> None:
    page = page_like(0, (4, 3))
    assert page.covers(((1, 2, 4, 8), (1, 2, 4)))
    assert page.covers(((2, 8), (4,)))
    assert not page.covers(((2, 3), (4,)))
    assert not page.covers(((2, 8), (16,)))
    assert not page.covers(((2, 8),))
    assert not page.covers(((2, 8), (4,), (1,)))


def test_a_part_of_the_table_is_that_over_the_axes_asked_for() -> None:
    page = page_like(3, (6, 5, 4))
    part = page.table(((2, 8), (16,), (1, 2, 8)))
    np.testing.assert_array_equal(page.table()[np.ix_([1, 3], [4], [0, 1, 3])], part)
    with pytest.raises(KeyError):
        page.table(((2, 9), (16,), (1, 2, 8)))


@given(st.data(), tables())
def test_any_part_of_a_table_is_that_over_its_axes(data: st.DataObject, table: Table) -> None:
    page = page_of(axes_like(table.shape), CHOICES, table)
    ranks = [sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))) for n in table.shape]
    axes = tuple(tuple(1 << rank for rank in own) for own in ranks)
    np.testing.assert_array_equal(page.table()[np.ix_(*ranks)], page.table(axes))


def test_an_axis_that_does_not_matter_is_the_same_everywhere() -> None:
    page = page_of(((1, 2), (ANY,)), CHOICES, np.array([[1], [0]]))
    np.testing.assert_array_equal([[1, 1, 1]], page.table(((1,), (0, 4, 9))))
    assert page.choice_at((2, 7)) == page.choice_at((2, ANY)) == CHOICES[0]


def test_a_part_of_a_page_takes_no_more_memory_than_the_part() -> None:
    """Of a page whose table would take 4 GiB."""
    axes = (tuple(range(1 << 15)), tuple(range(1 << 15)))
    whole = np.array([[1 << 15, 1 << 15]], np.uint16)
    page = Page(axes, (CHOICES[0],), Boxes(0 * whole, whole, np.zeros(1, np.int32)))
    tracemalloc.start()
    assert page.table(((3, 5), (1, 1 << 14))).tolist() == [[0, 0], [0, 0]]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24


@pytest.mark.parametrize("coordinates", [(3, 1), (64, 1), (1,), (1, 1, 1)])
def test_other_coordinates_are_refused(coordinates: tuple[int, ...]) -> None:
    with pytest.raises(KeyError):
        page_like(0, (4, 3)).choice_at(coordinates)


@pytest.mark.parametrize(
    ("axes", "table", "reason"),
    [
        (((1, 2),), np.zeros(3, int), "expected a table of shape"),
        (((1, 2, 3),), np.array([0, 4, 0]), "none of 4 choices"),
        (((1, 2, 3),), np.array([0, -2, 0]), "none of 4 choices"),
        (((1, 3, 2),), np.zeros(3, int), "do not increase"),
        (((1, 1),), np.zeros(2, int), "do not increase"),
        (((1, 1 << 62),), np.zeros(2, int), "too large"),
        (((1,),) * 33, np.zeros((1,) * 33, int), "at most 32"),
    ],
)
def test_tables_that_are_no_page_are_refused(
    axes: tuple[tuple[int, ...], ...], table: Table, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        page_of(axes, CHOICES, table)


def test_boxes_that_are_none_of_the_page_are_refused() -> None:
    page = page_like(0, (4, 3))
    boxes = page.boxes
    three = np.repeat(boxes.low[:1], 3, axis=0), np.repeat(boxes.high[:1], 3, axis=0)
    for wrong, reason in (
        (replace(boxes, value=boxes.value + 6), "no choice"),
        (replace(boxes, value=boxes.value - 6), "no choice"),
        (replace(boxes, value=boxes.value[1:]), "in number"),
        (replace(boxes, low=boxes.low + 1), "not the whole page"),
        (replace(boxes, high=boxes.high[[0] * len(boxes)] + (boxes.low > 0)), "not within"),
        (replace(boxes, low=boxes.low + 9 * (boxes.low > 0)), "not within"),
        (compress(np.zeros((3, 4), int)), "not the whole page"),
        (Boxes(*three, boxes.value[:3]), "overlap"),
    ):
        with pytest.raises(ValueError, match=reason):
            check_boxes(Page(page.axes, page.choices, wrong))
