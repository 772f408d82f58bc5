"""Shapes, lines and registers of operands, against the addresses that they stand for."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.ir.dtypes import F32
from morello.ir.layout import Order, row_major
from morello.ir.operators import OperandIndex
from morello.ir.spec import Operand
from morello.ir.target import Level
from morello.records import replace
from morello.rewriting.references import TensorRef, elements, inner_and_outer, lines, registers
from tests.search.budget import examples

LINE = 16
MEMORY = Level("mem", 1, None, 1, LINE, False, True, (), 0, 0, {})
REGISTERS = Level("reg", 0, 8, 1, 1, False, False, (8, 16), 0, 0, {})
DIMS = ("i", "j", "k")


def tensor(order: Order, contiguity: int, level: Level = MEMORY, vector: int = 0) -> TensorRef:
    """A tensor with a dimension for each entry of the order."""
    operand = Operand(F32, level, order, vector)
    indices = tuple(OperandIndex(((DIMS[d], 1),)) for d in range(len(order)))
    return TensorRef("0", "X", operand, indices, 2 * contiguity)


@st.composite
def views(draw: st.DrawFn) -> tuple[Order, int, tuple[int, ...]]:
    """An order, a contiguity, and the shape of a view."""
    rank = draw(st.integers(1, 3))
    order = tuple(draw(st.permutations(range(rank))))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    return order, draw(st.integers(1, rank)), shape


def _addresses(order: Order, contiguity: int, shape: tuple[int, ...]) -> list[int]:
    """Bytes at which the elements of a view lie; every packed run begins a line.

    The view is a part of a larger tensor: outside of the packed dimensions, rows are far apart.
    """
    outer = order[: len(order) - contiguity]
    inner = order[len(order) - contiguity :]
    run = prod(shape[d] for d in inner) * F32.bytes
    apart = -(-run // LINE) * LINE + 4 * LINE
    far = row_major(len(outer)).strides([shape[d] for d in outer])
    near = row_major(len(inner)).strides([shape[d] for d in inner])
    found = []
    for index in product(*map(range, shape)):
        run_number = sum(index[d] * s for d, s in zip(outer, far, strict=True))
        place = sum(index[d] * s for d, s in zip(inner, near, strict=True))
        found.append(run_number * apart + place * F32.bytes)
    return found


@examples(100)
@given(views())
def test_lines_are_those_that_elements_touch(view: tuple[Order, int, tuple[int, ...]]) -> None:
    layout, contiguity, shape = view
    addresses = _addresses(layout, contiguity, shape)
    sizes = dict(zip(DIMS, shape, strict=False))
    found = tensor(layout, contiguity)
    assert len({address // LINE for address in addresses}) == lines(found, sizes)
    assert len(set(addresses)) == elements(found, sizes) == prod(shape)
    inner, outer = inner_and_outer(found, sizes)
    assert prod(shape) == inner * outer


@examples(100)
@given(views(), st.sampled_from((8, 16)))
def test_registers_hold_rows(view: tuple[Order, int, tuple[int, ...]], vector: int) -> None:
    """Every row along the fastest dimension begins a new one."""
    order, _, shape = view
    lanes = vector // F32.bytes
    held = {
        tuple(n // lanes if d == order[-1] else n for d, n in enumerate(index))
        for index in product(*map(range, shape))
    }
    found = tensor(order, len(order), REGISTERS, vector)
    assert len(held) == registers(found, dict(zip(DIMS, shape, strict=False)))


def test_a_scalar_takes_one_line_and_one_register() -> None:
    assert 1 == lines(tensor((), 0), {})
    assert 1 == registers(tensor((), 0, REGISTERS, 8), {})
    assert 1 == elements(tensor((), 0), {})


def test_numbers_and_arrays_give_the_same() -> None:
    """The arithmetic of one Spec is that of a whole box."""
    found = replace(tensor((1, 0), 1))
    grid = (np.arange(1, 7)[:, None], np.arange(1, 9)[None, :])
    boxed = np.broadcast_to(lines(found, dict(zip(DIMS, grid, strict=False))), (6, 8))
    for i, j in product(range(6), range(8)):
        assert lines(found, {"i": i + 1, "j": j + 1}) == boxed[i, j]


@pytest.mark.parametrize(
    ("terms", "sizes", "extent"),
    [
        ((("i", 1),), {"i": 5}, 5),
        ((("i", 1), ("j", 1)), {"i": 5, "j": 3}, 7),
        ((("i", 2), ("j", 1)), {"i": 5, "j": 3}, 11),
        ((("i", 2),), {"i": 5}, 9),
    ],
)
def test_extents_of_sums(
    terms: tuple[tuple[str, int], ...], sizes: dict[str, int], extent: int
) -> None:
    """From the first element that is touched to the last, as in a convolution."""
    operand = Operand(F32, MEMORY, (0,), 1)
    found = TensorRef("0", "X", operand, (OperandIndex(terms),))
    touched = {
        sum(factor * place[dim] for dim, factor in terms)
        for place in (
            dict(zip(sizes, places, strict=True))
            for places in product(*(range(n) for n in sizes.values()))
        )
    }
    assert (extent,) == (max(touched) + 1,) == found.extents(sizes)
    assert [0] == found.indexed_by(terms[0][0])
    assert [] == found.indexed_by("absent")
