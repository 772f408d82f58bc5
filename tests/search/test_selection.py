"""Parts of arrays over a box are what the arrays of a smaller box would be."""

from __future__ import annotations

import numpy as np
import pytest

from morello.ir.numeric import Array
from morello.search.planning.selection import Selection, places_in, with_more
from morello.search.tables.box import Box


def _box(*axes: list[int]) -> Box:
    return Box(tuple(np.asarray(axis, dtype=np.int64) for axis in axes), 2)


LARGE = _box([1, 2, 3, 4, 6], [1, 5, 9], [0, 1, 2])


def _arrays(box: Box, tiles: list[int]) -> list[Array]:
    m, n, used = box.open_grid
    tile = np.asarray(tiles).reshape(-1, 1, 1, 1)
    return [m, np.asarray(7), m * n, n + used, (m % tile) * np.ones_like(used), tile]


@pytest.mark.parametrize(
    "axes",
    [
        pytest.param(([1, 2, 3, 4, 6], [1, 5, 9], [0, 1, 2]), id="whole"),
        pytest.param(([2, 3, 4], [9], [0]), id="one after the other"),
        pytest.param(([1, 6], [1, 9], [0, 2]), id="apart"),
    ],
)
def test_a_part_is_what_a_smaller_box_has(axes: tuple[list[int], ...]) -> None:
    """Whichever axes an array has, and with the first of the tile sizes."""
    box = _box(*axes)
    places = places_in(box, LARGE, range(3))
    assert places is not None
    selection = Selection([*places, (-4, slice(2))], {})
    for array, expected in zip(_arrays(LARGE, [1, 2, 3]), _arrays(box, [1, 2]), strict=True):
        part = selection.part(array)
        assert part.shape == expected.shape
        assert np.array_equal(part, expected)


def test_what_is_missing_has_no_place() -> None:
    """Below, between and above the values that are there; other axes do not matter."""
    for missing in (0, 5, 7):
        assert places_in(_box([1, missing], [1], [0]), LARGE, range(3)) is None
        assert places_in(_box([1, missing], [1], [0]), LARGE, (1, 2)) is not None


def test_a_coordinate_is_taken_once() -> None:
    """A number is none of a box; what is known is taken from there."""
    m, n, _ = LARGE.open_grid
    known = np.asarray([3])
    selection = Selection([(-3, slice(1, 3))], {id(n): known})
    assert selection.coordinate(m) is selection.coordinate(m)
    assert selection.coordinate(n) is known
    assert selection.coordinate(4) == 4


def test_a_box_grows_along_the_axes_that_count() -> None:
    """Values of both, in order."""
    found = with_more(LARGE, _box([5], [9], [7]), (0, 1))
    assert [axis.tolist() for axis in found.axes] == [[1, 2, 3, 4, 5, 6], [1, 5, 9], [0, 1, 2]]
