"""What a loop makes of how an operand lies in memory, against the addresses of its elements."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from morello.ir.layout import Order, contiguity
from morello.rewriting.parts import less_contiguous, stays_packed
from tests.rewriting.test_references import DIMS, tensor
from tests.search.budget import examples

PAGE = 4096


def _together(order: Order, shape: list[int], part: list[int]) -> int:
    """How many innermost dimensions of a part of a packed tensor lie without a gap."""
    stride, run = 1, 1
    for count, dimension in enumerate(reversed(order)):
        if part[dimension] > 1 and stride != run:
            return count
        run *= part[dimension]
        stride *= shape[dimension]
    return len(order)


@st.composite
def _cuts(draw: st.DrawFn) -> tuple[Order, list[int], int, int]:
    """An order, a shape, a dimension that is cut, and the size of the part along it."""
    rank = draw(st.integers(1, 3))
    order = tuple(draw(st.permutations(range(rank))))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    cut = draw(st.integers(0, rank - 1))
    shape[cut] = max(shape[cut], 2)
    return order, shape, cut, draw(st.integers(1, shape[cut] - 1))


@examples(200)
@given(_cuts())
def test_parts_are_as_packed_as_they_are_said_to_be(cut: tuple[Order, list[int], int, int]) -> None:
    """At most; dimensions of size 1 outside count where that is asked for."""
    order, shape, dimension, size = cut
    whole = tensor(order, len(order))
    sizes = dict(zip(DIMS, shape, strict=False))
    part = [size if d == dimension else extent for d, extent in enumerate(shape)]
    plain = int(contiguity(less_contiguous(whole, sizes, [dimension], PAGE)))
    ones = int(contiguity(less_contiguous(whole, sizes, [dimension], PAGE, ones=True)))
    assert plain <= ones <= _together(order, shape, part)
    outside = [shape[d] for d in order[: order.index(dimension)]]
    assert (ones == len(order)) == all(extent == 1 for extent in outside)
    assert stays_packed(whole, DIMS[dimension], sizes) == (ones == len(order))
    assert stays_packed(whole, DIMS[dimension]) == (order[0] == dimension)
