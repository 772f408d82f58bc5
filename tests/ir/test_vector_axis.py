"""Which operations are work on rows, along which dimension, and which operands lie along them."""

from __future__ import annotations

from math import prod

import pytest

from morello.ir.layout import Order
from morello.ir.operators import Operation
from morello.ir.vector_axis import POINTWISE, REDUCTION, Rows, rows_of
from tests.checking.fail_cases import shipped_operators
from tests.checking.texts import operators

TEXT = """
    op conv1d(X: T[c, w + r], W: T[o, c, r]) -> Y: T[o, w] { Y[o, w] += X[c, w + r] * W[o, c, r] }
    op every_second(X: T[2 * w + r], W: T[r]) -> Y: T[w] { Y[w] += X[2 * w + r] * W[r] }
    op trace(X: T[i, i]) -> Y: T[] { Y[] += X[i, i] }
    op image_bias(X: T[n, c, h, w], B: T[c]) -> Y: T[n, c, h, w] {
      Y[n, c, h, w] = X[n, c, h, w] + B[c]
    }
    op image_sum(X: T[n, c, h, w]) -> Y: T[n, c] { Y[n, c] += X[n, c, h, w] }
    op outer_sum(X: T[i], Z: T[j]) -> Y: T[] { Y[] += X[i] * Z[j] }
"""


def _operation(name: str, rank: int = 0) -> Operation:
    return Operation({**shipped_operators(), **operators(TEXT)}[name], rank)


@pytest.mark.parametrize(
    ("name", "rank", "dim", "along"),
    [
        ("relu", 2, "i1", (True, True)),
        ("fill", 1, "i0", (True,)),
        ("add_bias", 1, "n", (True, True, True)),
        ("divide_rows", 2, "n", (True, False, True)),
        ("column_sum", 1, "b0", (True, True)),
        ("matmul", 0, "n", (False, True, True)),
        ("conv1d", 0, "w", (True, False, True)),
        ("every_second", 0, "w", (2, False, True)),
    ],
)
def test_along_the_fastest_dimension_of_the_output(
    name: str, rank: int, dim: str, along: tuple[bool, ...]
) -> None:
    """Operands that do not have it are one element for the whole row."""
    found = rows_of(POINTWISE, _operation(name, rank))
    assert found is not None
    assert (found.kind, found.dim, found.along) == (POINTWISE, dim, along)


@pytest.mark.parametrize(
    ("name", "rank", "dim", "along"),
    [
        ("row_sum", 0, "n", (True, False)),
        ("row_variance", 2, "n", (True, False, False)),
        ("row_dot", 1, "n", (True, True, False)),
        ("outer_sum", 0, "j", (False, True, False)),
        ("conv1d", 0, "r", (True, True, False)),
        ("every_second", 0, "r", (True, True, False)),
    ],
)
def test_along_a_reduced_dimension(name: str, rank: int, dim: str, along: tuple[bool, ...]) -> None:
    """The last one that operands lie along, or do not have; never the output."""
    assert Rows(REDUCTION, dim, along) == rows_of(REDUCTION, _operation(name, rank))


@pytest.mark.parametrize(
    ("kind", "name", "rank", "joined"),
    [
        (POINTWISE, "relu", 3, ("i1", "i0")),
        (POINTWISE, "image_bias", 0, ("h",)),  # each channel has a bias of its own
        (POINTWISE, "add_bias", 2, ()),  # every row has the same biases
        (POINTWISE, "divide_rows", 2, ()),
        (POINTWISE, "transpose", 0, ("j",)),
        (POINTWISE, "every_second", 0, ()),
        (REDUCTION, "image_sum", 0, ("h",)),
        (REDUCTION, "row_sum", 2, ()),
    ],
)
def test_matrices_are_rows_where_all_operands_have_them_alike(
    kind: str, name: str, rank: int, joined: tuple[str, ...]
) -> None:
    """Next to each other, and the others not at all."""
    operation = _operation(name, rank)
    orders = tuple(tuple(range(len(indices))) for indices in operation.operands)
    if name == "transpose":  # its input in columns, as its output is in rows
        orders = (orders[0][::-1], orders[1])
    found = rows_of(kind, operation, orders)
    assert found is not None
    assert found.joined == joined
    sizes = {dim: number for number, dim in enumerate(operation.dims, 2)}
    assert found.length(sizes) == prod(sizes[dim] for dim in (found.dim, *joined))


@pytest.mark.parametrize(
    ("kind", "name", "rank"),
    [
        (POINTWISE, "row_sum", 0),  # a scalar has no rows
        (REDUCTION, "trace", 0),  # a diagonal
        (REDUCTION, "matmul", 0),  # neighbours of k are rows of B
        (REDUCTION, "column_sum", 1),
        (REDUCTION, "add", 1),
    ],
)
def test_no_rows(kind: str, name: str, rank: int) -> None:
    assert rows_of(kind, _operation(name, rank)) is None


@pytest.mark.parametrize(
    ("kind", "name", "rank", "orders", "dim"),
    [
        (POINTWISE, "relu", 2, ((1, 0), (1, 0)), "i0"),
        (POINTWISE, "relu", 2, ((0, 1), (1, 0)), None),
        (REDUCTION, "matmul", 0, ((0, 1), (1, 0), (0, 1)), "k"),
        (REDUCTION, "column_sum", 1, ((1, 0), (0,)), "n"),
    ],
)
def test_how_operands_lie_in_memory_counts(
    kind: str, name: str, rank: int, orders: tuple[Order, ...], dim: str | None
) -> None:
    found = rows_of(kind, _operation(name, rank), orders)
    assert dim == (found and found.dim)
