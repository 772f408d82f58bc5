"""Layouts: where elements lie, what a whole tensor takes, and that numpy's copies are the same."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.spec.layout import Layout, contiguity, pack, packed, paged, panel, row_major
from morello.spec.memory import from_memory, to_memory
from tests.search.budget import examples


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Layout, tuple[int, ...]]:
    """A layout, with panels or without, with a gap or without, and a shape of its rank."""
    rank = draw(st.integers(0, 3))
    order = tuple(draw(st.permutations(range(rank))))
    width = draw(st.sampled_from((0, 2, 3, 4) if rank else (0,)))
    gap = draw(st.integers(0, 2)) if width else 0
    return Layout(order, width, gap), tuple(draw(st.integers(1, 7)) for _ in range(rank))


def address(layout: Layout, shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    """Where an element lies, written without strides."""
    at = [index[d] for d in layout.order]
    extents = [shape[d] for d in layout.order]
    number = 0
    if layout.panel:
        number, at[-1], extents[-1] = at[-1] // layout.panel, at[-1] % layout.panel, layout.panel
    place = 0
    for i, n in zip(at, extents, strict=True):
        place = place * n + i
    return place + number * (prod(extents) + layout.gap * layout.panel)


@examples(200)
@given(layouts())
def test_copies_put_every_element_in_its_place(made: tuple[Layout, tuple[int, ...]]) -> None:
    layout, shape = made
    array = np.arange(1, prod(shape) + 1).reshape(shape)
    memory = to_memory(layout, array)
    assert memory.shape == (layout.elements(shape),)
    for index in product(*map(range, shape)):
        assert memory[address(layout, shape, index)] == array[index]
    assert (memory > 0).sum() == array.size  # what fills up the last panel is 0
    np.testing.assert_array_equal(from_memory(layout, shape, memory), array)


@examples(200)
@given(layouts())
def test_strides_lead_from_neighbour_to_neighbour(made: tuple[Layout, tuple[int, ...]]) -> None:
    """Within a panel; from one panel to the next it is as many elements as a panel has."""
    layout, shape = made
    strides = layout.strides(shape)
    for index in product(*map(range, shape)):
        inside = [
            i % layout.panel if layout.panel and d == layout.fastest else i
            for d, i in enumerate(index)
        ]
        place = sum(i * s for i, s in zip(inside, strides, strict=True))
        if layout.panel:
            number = index[layout.order[-1]] // layout.panel
            place += number * prod(layout.shape_in_memory(shape)[1:])
        assert address(layout, shape, index) == place


@pytest.mark.parametrize(
    ("rows", "columns", "apart"),
    [
        (64, 40, 9),
        (80, 40, 11),
        (2048, 16, 257),
        (72, 40, 9),
        (56, 40, 7),
        (48, 40, 6),
        (65, 40, 0),
    ],
)
def test_long_panels_are_an_odd_number_of_pages_apart(rows: int, columns: int, apart: int) -> None:
    """Pages of 8 rows: where they were an even number of them apart, a page is left free."""
    layout, page = Layout((0, 1), 16), 8 * 16
    spread = layout.spread((rows, columns), page)
    between = spread.elements((rows, columns)) // -(-columns // 16)
    assert between == (apart * page or rows * 16)
    assert layout.spread((columns, rows), 1 << 20) == layout
    assert row_major(2).spread((rows, columns), page) == row_major(2)


def test_a_tensor_within_one_panel_is_plain() -> None:
    """Its rows are a panel's width apart; where they fill it, it is packed."""
    layout = Layout((0, 1), 4)
    assert packed(2, 4) == layout.packing((3, 5))
    assert packed(2) == layout.packing((3, 4))
    assert pack(1) == layout.packing((3, 3))


@given(st.integers(0, 9), st.booleans(), st.integers(0, 1024))
def test_a_packing_is_its_parts(inner: int, aliased: bool, width: int) -> None:
    number = pack(inner, int(aliased), width)
    assert (inner, int(aliased), width) == (contiguity(number), paged(number), panel(number))


def test_text() -> None:
    assert "(0, 1)" == str(row_major(2))
    assert "(1, 0) panels 16" == str(Layout((1, 0), 16))
