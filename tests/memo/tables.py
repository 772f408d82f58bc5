"""Tables and pages for the tests of the memo: random ones, and such as a search leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from morello.memo.page import Choice, Page, page_of

Table = npt.NDArray[np.signedinteger[Any]]

TYPES = (np.int8, np.int16, np.int32, np.int64)


@st.composite
def tables(draw: st.DrawFn, types: tuple[type, ...] = TYPES) -> Table:
    """Random boxes painted over each other, so that there is something to merge."""
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=5)))
    table: Table = np.full(shape, draw(st.integers(-1, 3)), draw(st.sampled_from(types)))
    for _ in range(draw(st.integers(0, 8))):
        ends = [sorted(draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
        table[tuple(slice(*pair) for pair in ends)] = draw(st.integers(-1, 3))
    return table


@st.composite
def axes_of(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Increasing values for each axis."""
    sizes = st.integers(-1, 1 << 40)
    return tuple(
        tuple(sorted(draw(st.lists(sizes, min_size=n, max_size=n, unique=True)))) for n in shape
    )


CHOICES = st.builds(
    Choice,
    st.text(max_size=12),
    st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), max_size=3).map(tuple),
)


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Pages of random tables."""
    table = draw(tables((np.int32,)))
    choices = draw(st.lists(CHOICES, min_size=4, max_size=4, unique=True))
    return page_of(draw(axes_of(table.shape)), choices, table)


def tiled(*shape: int) -> Table:
    """Like the choices of a search: by which sizes fit, with the sum of two axes as a staircase."""
    grid = np.indices(shape)
    table: Table = (grid[0] + grid[-1]) // 4 % 3 + 3 * (grid[0] // 5 % 2)
    table[grid.sum(axis=0) > sum(shape) * 3 // 4] = -1
    return table


def page_like(number: int, lengths: tuple[int, ...] = (12, 9, 7)) -> Page:
    """A page that depends on a number and lengths of axes alone."""
    table = (tiled(*lengths) + number) % 7 - 1
    choices = [Choice(f"rule_{i}", (("d", "m"), ("t", str(i + number)))) for i in range(6)]
    return page_of(axes_like(lengths), choices, table)


def axes_like(lengths: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Powers of two along each axis."""
    return tuple(tuple(1 << i for i in range(length)) for length in lengths)


def collected() -> tuple[list[str], Callable[[str], None]]:
    """A list, and what adds messages to it."""
    messages: list[str] = []
    return messages, messages.append
