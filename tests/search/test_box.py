"""Lists of sizes, and ranks in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.search.tables.box import IRRELEVANT, Box, tiling_closure
from tests.search.budget import examples

SIZES = st.sets(st.integers(1, 300), min_size=1, max_size=4)
TILES = st.sets(st.integers(2, 64), max_size=6).map(lambda tiles: (1, *sorted(tiles)))


@examples(100)
@given(sizes=SIZES, tiles=TILES)
def test_sizes_are_closed_under_tiling(sizes: set[int], tiles: tuple[int, ...]) -> None:
    """Every tile below a size, and every remainder that it leaves, is there too."""
    closure = tiling_closure(frozenset(sizes), tiles)
    assert sizes <= closure
    for size in closure:
        below = {tile for tile in tiles if tile < size}
        remainders = {size % tile for tile in below} - {0}
        assert below | remainders <= closure


@examples(100)
@given(sizes=SIZES, tiles=TILES)
def test_nothing_else_is_among_them(sizes: set[int], tiles: tuple[int, ...]) -> None:
    """A size is a goal's, a tile, or the remainder of another one: cells cost time."""
    closure = tiling_closure(frozenset(sizes), tiles)
    for size in closure - sizes - set(tiles):
        assert any(size == other % tile for other in closure for tile in tiles if tile < other)
    assert max(closure) == max(sizes)


@pytest.mark.parametrize(
    ("sizes", "tiles", "expected"),
    [
        ({1}, (1, 2, 4), {1}),
        ({7}, (1, 2, 4), {7, 1, 2, 4, 3}),
        ({100}, (1, 8, 64), {100, 1, 8, 64, 4, 36}),
        ({5, 3}, (1, 4), {5, 3, 1, 4}),
    ],
)
def test_closures(sizes: set[int], tiles: tuple[int, ...], expected: set[int]) -> None:
    assert expected == tiling_closure(frozenset(sizes), tiles)


@examples(100)
@given(st.sets(st.integers(0, 5000), min_size=1, max_size=20), st.integers(0, 6000))
def test_ranks_are_places_in_the_list(values: set[int], absent: int) -> None:
    """Of values that are not in the list, within its range or beyond it, the rank is some place."""
    axis = np.asarray(sorted(values))
    box = Box((axis,), 1)
    np.testing.assert_array_equal(np.arange(len(axis)), box.rank(0, axis))
    np.testing.assert_array_equal(np.arange(len(axis))[:, None], box.rank(0, axis[:, None]))
    assert 0 <= int(box.rank(0, np.asarray(absent))) < len(axis)


def test_a_level_that_is_no_coordinate_has_rank_zero() -> None:
    box = Box((np.asarray([1, 2]), np.asarray([IRRELEVANT])), 1)
    assert np.asarray(box.rank(1, np.asarray([3, 5]))).max() == 0
    assert (2, 1) == box.shape
    assert 2 == box.cells


def test_the_open_grid_broadcasts_to_the_box() -> None:
    box = Box((np.asarray([1, 2, 5]), np.asarray([1, 3]), np.asarray([0, 4, 7, 8])), 2)
    grid = box.open_grid
    assert [(3, 1, 1), (1, 2, 1), (1, 1, 4)] == [a.shape for a in grid]
    assert box.shape == np.broadcast_shapes(*(a.shape for a in grid))
    assert 24 == box.cells
    assert [[1, 3], [2, 6], [5, 15]] == box.volume[..., 0].tolist()


def test_tables_lie_in_memory_with_memory_in_use_first() -> None:
    """Arrays over the box follow, and what stands before their axes stays there."""
    box = Box((np.array([1, 2, 3]), np.array([4, 5]), np.array([0, 1, 2, 3])), 2)
    memory = box.in_memory(np.arange(box.cells))
    assert memory.shape == (4, 3, 2)
    assert box.table(memory).shape == box.shape
    cells = np.arange(7 * box.cells).reshape(7, *box.shape)
    assert box.stored(cells).shape == (7, 4, 3, 2)
    assert np.array_equal(box.table(box.stored(cells)[5]), cells[5])
    assert box.stored(box.open_grid[1]).shape == (1, 1, 2)
