"""Reading a child's table is numpy's indexing, only faster."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from morello.search.tables.gather import Scattered, Separable, plan_gather
from tests.search.budget import examples

Ints = npt.NDArray[np.int64]


@st.composite
def gathers(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Ints], tuple[int, ...]]:
    """Shape of a parent's region, indices that broadcast over it, and the child's shape."""
    lengths = st.lists(st.integers(1, 4), min_size=1, max_size=4)
    parent, child = tuple(draw(lengths)), tuple(draw(lengths))
    indices = []
    for length in child:
        kept = draw(st.lists(st.booleans(), min_size=len(parent), max_size=len(parent)))
        if draw(st.booleans()):  # the common case: it follows one axis at most
            kept = [k and position == kept.index(True) for position, k in enumerate(kept)]
        shape = tuple(n if k else 1 for n, k in zip(parent, kept, strict=True))
        indices.append(draw(_indices(shape, length)))
    return parent, indices, child


@st.composite
def _indices(draw: st.DrawFn, shape: tuple[int, ...], length: int) -> Ints:
    count = int(np.prod(shape))
    if draw(st.booleans()) and count <= length:  # a run of neighbours, as most sizes give
        first = draw(st.integers(0, length - count))
        return np.arange(first, first + count).reshape(shape)
    values = draw(st.lists(st.integers(0, length - 1), min_size=count, max_size=count))
    return np.asarray(values).reshape(shape)


@examples(300)
@given(gathers())
def test_it_reads_what_indexing_reads(
    case: tuple[tuple[int, ...], list[Ints], tuple[int, ...]],
) -> None:
    parent, indices, child = case
    table = np.arange(np.prod(child), dtype=np.float32).reshape(child)
    expected: Any = table[tuple(np.broadcast_arrays(*indices))]
    actual = plan_gather(indices, child, len(parent)).read(table)
    np.testing.assert_array_equal(
        np.broadcast_to(expected, parent), np.broadcast_to(actual, parent)
    )


def test_one_axis_each_is_slicing() -> None:
    """The common case must not look every cell up."""
    indices = [np.arange(3).reshape(1, 3), np.asarray([[2], [0]]), np.zeros((1, 1), dtype=np.int64)]
    plan = plan_gather(indices, (3, 4, 5), 2)
    assert isinstance(plan, Separable)
    table = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    np.testing.assert_array_equal(table[:, [2, 0], 0].T, plan.read(table))


def test_two_axes_at_once_are_looked_up() -> None:
    index = np.asarray([[0, 1], [1, 2]])
    plan = plan_gather([index], (3,), 2)
    assert isinstance(plan, Scattered)
    np.testing.assert_array_equal(index, plan.read(np.arange(3, dtype=np.float32)))
