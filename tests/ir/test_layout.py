"""Layouts: where elements lie, what a whole tensor takes, and that numpy's copies are the same."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.arrays import from_memory, to_memory
from morello.ir.layout import (
    Layout,
    contiguity,
    height_of,
    pack,
    packed,
    paged,
    panel,
    panel_of,
    row_major,
    strided,
    width_of,
)
from tests.search.budget import examples


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Layout, tuple[int, ...]]:
    """A layout, with panels or without, with a gap or without, and a shape of its rank."""
    rank = draw(st.integers(0, 3))
    order = tuple(draw(st.permutations(range(rank))))
    width = draw(st.sampled_from((0, 2, 3, 4) if rank else (0,)))
    height = draw(st.sampled_from((0, 2, 3, 5) if rank > 1 else (0,)))
    gap = draw(st.integers(0, 2)) if width else 0
    return Layout(order, panel_of((height, width)), gap), tuple(
        draw(st.integers(1, 7)) for _ in range(rank)
    )


def address(layout: Layout, shape: tuple[int, ...], index: tuple[int, ...]) -> int:
    """Where an element lies, written without strides."""
    at = [index[d] for d in layout.order]
    extents = [shape[d] for d in layout.order]
    grid = [(0, 1)] * len(at)  # which panel, of how many, in the layout's order
    for place, size in ((-1, width_of(layout.panel)), (-2, height_of(layout.panel))):
        if size:
            grid[place] = at[place] // size, -(-extents[place] // size)
            at[place], extents[place] = at[place] % size, size
    slowest = len(at) - (2 if height_of(layout.panel) else 1)
    place = 0
    for i, n in [(i, n) for i, n in grid] + list(zip(at, extents, strict=True)):
        place = place * n + i
    if not layout.panel:
        return place
    gap: int = layout.gap * width_of(layout.panel) * max(height_of(layout.panel), 1)
    return place + grid[slowest][0] * gap


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
    """Within a panel; and from one panel to the next."""
    layout, shape = made
    strides, apart, cuts = layout.strides(shape), layout.apart(shape), layout.cuts
    assert apart.keys() == cuts.keys()
    for index in product(*map(range, shape)):
        inside = [i % cuts.get(d, i + 1) for d, i in enumerate(index)]
        place = sum(i * s for i, s in zip(inside, strides, strict=True))
        place += sum(index[d] // n * apart[d] for d, n in cuts.items())
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


def test_columns_of_panels_are_an_odd_number_of_pages_apart() -> None:
    """Of 64 rows of 4, 16 of a page's 128 elements in a panel: 8 panels behind each column."""
    layout = Layout((1, 0), panel_of((16, 4)))
    spread = layout.spread((32 * 16, 40), 128)
    assert spread.gap == 2
    assert spread.shape_in_memory((32 * 16, 40)) == (3, 128 * 16 + 32, 4)
    assert spread.apart((32 * 16, 40)) == {0: 64, 1: (64 + 1) * 128}


def test_a_tensor_within_one_panel_is_plain() -> None:
    """Its rows are a panel's width apart; where they fill it, it is packed."""
    layout = Layout((0, 1), 4)
    assert packed(2, 4) == layout.packing((3, 5))
    assert packed(2) == layout.packing((3, 4))
    assert pack(1) == layout.packing((3, 3))


def test_what_lies_within_panels_along_one_dimension_is_cut_along_the_other() -> None:
    """Within the height it is as panels without one; the first that are not filled end a piece."""
    layout = Layout((1, 0), panel_of((16, 4)))
    tall, high = panel_of((16, 4)), panel_of((16, 0))
    assert layout.packing((8, 32)) == packed(2, tall) == pack(4, panel=tall)
    assert layout.packing((8, 16)) == packed(2, 4)
    assert layout.packing((8, 15)) == pack(2, panel=4)
    assert layout.packing((4, 32)) == packed(2, high)
    assert layout.packing((3, 32)) == pack(1, panel=high)
    assert layout.packing((4, 16)) == packed(2)
    assert layout.packing((4, 15)) == packed(2)
    assert layout.packing((3, 16)) == pack(1)
    assert layout.shape_in_memory((9, 33)) == (3, 3, 16, 4)


@given(st.integers(0, 9), st.booleans(), st.integers(0, 1024), st.integers(0, 1024))
def test_a_packing_is_its_parts(inner: int, aliased: bool, height: int, width: int) -> None:
    number = pack(inner, int(aliased), panel_of((height, width)))
    assert (inner, int(aliased)) == (contiguity(number), paged(number))
    assert (height, width) == (height_of(panel(number)), width_of(panel(number)))


def test_text() -> None:
    assert "(0, 1)" == str(row_major(2))
    assert "(1, 0) panels 16" == str(Layout((1, 0), 16))
    assert "(1, 0) panels (16, 4)" == str(Layout((1, 0), panel_of((16, 4))))


@pytest.mark.parametrize(
    ("strides", "shape", "expected"),
    [
        ((12, 4, 1), (2, 3, 4), row_major(3)),
        ((1, 2, 6), (2, 3, 4), Layout((2, 1, 0))),
        ((30, 10, 1), (2, 3, 4), Layout((0, 1, 2), stated=(30, 10, 1))),
        ((1, 7), (5, 4), Layout((1, 0), stated=(1, 7))),
        ((99, 4, 1), (1, 3, 4), row_major(3)),  # nobody steps along what has one element
        ((3, 1), (5, 1), Layout((0, 1), stated=(3, 1))),
        ((3, 4, 1), (2, 3, 4), None),  # the second matrix begins within the first one
        ((8, 2), (2, 4), None),
        ((1, 1), (2, 2), None),
        ((), (), row_major(0)),
    ],
)
def test_strides_are_a_layout(
    strides: tuple[int, ...], shape: tuple[int, ...], expected: Layout | None
) -> None:
    """That of the shape where there are no gaps; none where two elements would be in one place."""
    assert strided(strides, shape) == expected


@examples(200)
@given(layouts(), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_copies_with_gaps_put_every_element_in_its_place(
    made: tuple[Layout, tuple[int, ...]], gaps: list[int]
) -> None:
    order, shape = made[0].order, made[1]
    strides, reach = [0] * len(shape), 1
    for d, gap in zip(reversed(order), gaps, strict=False):
        strides[d] = reach
        reach = reach * shape[d] + gap
    layout = strided(strides, shape)
    assert layout is not None
    assert layout.strides(shape) == tuple(strides) or not layout.stated
    array = np.arange(1, prod(shape) + 1).reshape(shape)
    memory = to_memory(layout, array)
    assert memory.shape == (layout.elements(shape),)
    assert (memory > 0).sum() == array.size
    np.testing.assert_array_equal(from_memory(layout, shape, memory), array)
