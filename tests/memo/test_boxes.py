"""Compression is exact, finds what there is to merge, and depends on nothing but the table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from morello.memo.boxes import Boxes, decompress, value_at
from morello.memo.compression import compress
from tests.memo.tables import Table, tables, tiled


@given(tables())
def test_decompressing_gives_the_table_back(table: Table) -> None:
    found = decompress(compress(table), table.shape)
    assert found.dtype == table.dtype
    np.testing.assert_array_equal(table, found)


@given(tables())
def test_every_cell_can_be_looked_up(table: Table) -> None:
    boxes = compress(table)
    indices = np.argwhere(np.ones(table.shape, bool)).reshape(table.size, table.ndim)
    assert table.reshape(-1).tolist() == [value_at(boxes, index) for index in indices.tolist()]


@given(tables())
def test_boxes_are_disjoint_over_the_first_and_within_the_table(table: Table) -> None:
    boxes = compress(table)
    painted = np.zeros(table.shape, int)
    for low, high in zip(boxes.low[1:].tolist(), boxes.high[1:].tolist(), strict=True):
        painted[tuple(slice(*ends) for ends in zip(low, high, strict=True))] += 1
    np.testing.assert_array_equal(painted, table != boxes.value[0])
    assert not boxes.low[0].any()
    assert table.shape == tuple(boxes.high[0])


@given(tables())
def test_there_are_never_more_boxes_than_cells(table: Table) -> None:
    assert 1 <= len(compress(table)) <= table.size


def test_one_value_is_one_box() -> None:
    boxes = compress(np.full((5, 1, 7, 300), 4, np.int32))
    assert (1, 4) == (len(boxes), value_at(boxes, (4, 0, 6, 299)))
    assert np.uint16 == boxes.low.dtype


def test_a_single_cell_has_no_axes() -> None:
    boxes = compress(np.array(7))
    assert (1, 7, ()) == (len(boxes), value_at(boxes, ()), decompress(boxes, ()).shape)


def test_a_box_in_a_box_is_two_entries() -> None:
    """What lies around something else is one entry, not the pieces around it."""
    table = np.zeros((9, 9, 9), np.int32)
    table[2:5, 3:8, 4:6] = 1
    boxes = compress(table)
    assert [0, 1] == boxes.value.tolist()
    assert ([2, 3, 4], [5, 8, 6]) == (boxes.low[1].tolist(), boxes.high[1].tolist())


@pytest.mark.parametrize("axis", range(3))
def test_slabs_are_merged_across_every_axis(axis: int) -> None:
    table = np.moveaxis(np.broadcast_to(np.arange(6) // 2, (8, 7, 6)), -1, axis)
    assert 3 == len(compress(table))


def test_boxes_do_not_depend_on_how_the_table_lies_in_memory() -> None:
    table = tiled(9, 5, 8)
    expected = compress(table)
    for same in (np.asfortranarray(table), table[::-1][::-1], table.astype(np.int8)):
        found = compress(same)
        np.testing.assert_array_equal(expected.low, found.low)
        np.testing.assert_array_equal(expected.high, found.high)
        np.testing.assert_array_equal(expected.value, found.value)


def test_a_staircase_takes_a_box_for_each_step() -> None:
    """Two values along a diagonal, constant along the other axes: a box for each row of one."""
    rows, columns = np.indices((8, 8))
    table = np.broadcast_to((rows > columns)[:, :, np.newaxis, np.newaxis], (8, 8, 5, 4))
    assert 8 == len(compress(table.astype(np.int16)))


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(ValueError, match="has no cells"):
        compress(np.empty((3, 0), np.int32))


def test_a_cell_outside_is_refused() -> None:
    boxes = compress(tiled(4, 5))
    with pytest.raises(IndexError, match="in none of the boxes"):
        value_at(boxes, (4, 0))


def test_later_boxes_hide_earlier_ones() -> None:
    boxes = Boxes(
        np.array([[0], [1], [2]], np.uint8),
        np.array([[5], [4], [3]], np.uint8),
        np.array([7, 8, 9], np.int32),
    )
    assert [7, 8, 9, 8, 7] == decompress(boxes, (5,)).tolist()
    assert [7, 8, 9, 8, 7] == [value_at(boxes, (place,)) for place in range(5)]
