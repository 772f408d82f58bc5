"""Pages cut along two axes: painted in order, the rectangles are the page's table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from morello.errors import UsageError
from morello.memo.page import ANY, UNSOLVABLE, Choice, Page, page_of
from morello.memo.slice import Axis, Slice, axes_of, cut, default_axes
from tests.memo.tables import page_like, pages
from tests.search.goals import matmul
from tests.search.machines import context

KNOWN = context("tiny.cached")
FAMILY = matmul(5, 4, 3).spec(KNOWN.target).family


def _named(page: Page) -> tuple[Axis, ...]:
    return tuple(Axis(f"x{i}", tuple(map(str, axis))) for i, axis in enumerate(page.axes))


def _painted(of: Slice) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    table = np.full((len(of.x.labels), len(of.y.labels)), "never painted", object)
    for each in of.rectangles:
        for x in range(each.x, each.x + each.width):
            for y in range(each.y, each.y + each.height):
                table[x, y] = each.choice
    return table


@given(pages(), st.data())
def test_rectangles_are_the_table(page: Page, data: st.DataObject) -> None:
    """Wherever the other axes are fixed; shares count its cells."""
    assume(len(page.axes) >= 2)
    axes = _named(page)
    x, y = data.draw(st.permutations(range(len(axes))))[:2]
    index = tuple(data.draw(st.integers(0, n - 1)) for n in page.shape)
    at = {f"x{i}": axes[i].labels[rank] for i, rank in enumerate(index) if i not in (x, y)}
    found = cut(page, axes, (f"x{x}", f"x{y}"), at)
    table = page.table()[tuple(slice(None) if i in (x, y) else r for i, r in enumerate(index))]
    expected = [None if v == UNSOLVABLE else page.choices[v] for v in table.reshape(-1).tolist()]
    painted = _painted(found)
    assert expected == (painted if x < y else painted.T).reshape(-1).tolist()
    assert dict(found.shares) == {choice: expected.count(choice) for choice in set(expected)}
    assert found.cells == len(expected)
    counts = [count for _, count in found.shares]
    assert counts == sorted(counts, reverse=True)


def _page() -> Page:
    """Of a product: sizes m, n and k, vectors in reg and units of near in use."""
    axes = ((1, 2, 5), (1, 4), (1, 3), (ANY,), (0, 1, 2))
    shape = tuple(map(len, axes))
    return page_of(axes, [Choice("only")], np.zeros(shape, np.int32))


def test_axes_have_the_names_of_the_family() -> None:
    axes = axes_of(KNOWN, FAMILY, _page())
    assert ["m", "n", "k", "reg", "near"] == [axis.name for axis in axes]
    assert [("1", "2", "5"), ("any",), ("0", "1", "2")] == [axes[i].labels for i in (0, 3, 4)]
    assert ["m", "reg (vectors in use)"] == [axes[i].title for i in (0, 3)]
    assert "near (units of 16 bytes in use)" == axes[4].title
    assert ("m", "n") == default_axes(axes)
    assert ("n", "near") == default_axes([axes[3], axes[1], axes[4]])
    with pytest.raises(UsageError, match="only one coordinate"):
        default_axes(axes[:1])


def test_what_is_not_said_is_largest_and_free() -> None:
    """An axis of one value is not mentioned."""
    page = _page()
    axes = axes_of(KNOWN, FAMILY, page)
    assert {"k": "3", "near": "0"} == dict(cut(page, axes, ("m", "n"), {}).fixed)
    assert {"k": "1", "n": "4"} == dict(cut(page, axes, ("near", "m"), {"k": "1"}).fixed)


@pytest.mark.parametrize(
    ("shown", "at", "message"),
    [
        (("m", "z"), {}, "there is no axis 'z'"),
        (("m", "n"), {"near2": "1"}, "there is no axis 'near2'"),
        (("m", "n"), {"near": "7"}, "near = 7 is not in the page"),
        (("m", "m"), {}, "an axis is named twice"),
        (("m", "n"), {"m": "1"}, "an axis is named twice"),
    ],
)
def test_what_a_page_does_not_have_is_an_error(
    shown: tuple[str, str], at: dict[str, str], message: str
) -> None:
    page = _page()
    with pytest.raises(UsageError, match=message) as raised:
        cut(page, axes_of(KNOWN, FAMILY, page), shown, at)
    assert raised.value.help


def test_long_axes_are_not_listed_whole() -> None:
    page = page_like(1, (30, 2, 2))
    with pytest.raises(UsageError) as raised:
        cut(page, _named(page), ("x1", "x2"), {"x0": "7"})
    assert raised.value.help.startswith("it has: 1, 2, 4")
    assert raised.value.help.endswith("...")
