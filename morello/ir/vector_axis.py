"""Operations as work on rows: the dimension that vectors lie along, and the operands that have it.

An operand lies *along* a dimension where that indexes its fastest dimension in memory, with the
factor 1, and no other: neighbours in the operand are neighbours of the dimension. What the
dimension does not index at all has one element for the whole row. If every operand is one or the
other, all other dimensions can be of size 1, and the operation can be computed in vectors: element
by element (*pointwise*), or along a reduced dimension (a *reduction*).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod

from msgspec import Struct

from morello.ir.layout import Order, row_major
from morello.ir.operators import OperandIndex, Operation, Operator

POINTWISE, REDUCTION = "pointwise", "reduction"
ROW_KINDS = (POINTWISE, REDUCTION)
"""Vectors along a dimension of the output; or along a reduced one, of which the output has none."""


class Rows(Struct, frozen=True):
    """``dim``: what vectors lie along.

    ``along``: for each operand, how many elements neighbours along it are apart, 1 or 2; 0 for one
    that does not have it. ``joined``: the next slower dimensions, nearest first, that all operands
    along it have next to it, and the others do not have. Where nothing lies between its rows in
    memory, a matrix is one row.
    """

    kind: str
    dim: str
    along: tuple[int, ...]
    joined: tuple[str, ...] = ()

    @property
    def strided(self) -> bool:
        """Whether every second element of an operand is meant."""
        return max(self.along) > 1

    def length(self, sizes: Mapping[str, int]) -> int:
        """Elements of a row, where the dimensions are of these sizes."""
        return prod(sizes[dim] for dim in (self.dim, *self.joined))


@lru_cache(maxsize=4096)
def rows_of(
    kind: str, operation: Operation, orders: tuple[Order, ...] | None = None
) -> Rows | None:
    """How an operation is work on rows, its operands in memory like this; none if it is not.

    Args:
        kind: Along which dimensions: one of `ROW_KINDS`.
        operation: What is computed.
        orders: Of the operands, inputs first; none is row-major. Of several dimensions that could
            be reduced, the last one is taken.
    """
    orders = orders or tuple(row_major(len(indices)).order for indices in operation.operands)
    for dim in _candidates(kind, operation, orders[-1]):
        found = [_along(i, o, dim) for i, o in zip(operation.operands, orders, strict=True)]
        along = tuple(a for a in found if a is not None)
        if len(along) == len(found) and 1 in along:
            return Rows(kind, dim, along, tuple(_joined(kind, operation, orders, along)))
    return None


@lru_cache(maxsize=4096)
def turned_orders(operation: Operation) -> tuple[Order, ...]:
    """Orders in which operands lie along the last dimension of the output, where that may pay.

    That is of operands each of whose elements is read for several of the output.
    """
    output = operation.operands[-1]
    dim = output[-1].alone if output else None
    dims = {dim for index in output for dim in index.dims}

    def turned(indices: tuple[OperandIndex, ...]) -> Order:
        places = range(len(indices))
        repeated = not dims <= {dim for index in indices for dim in index.dims}
        along = [p for p in places if repeated and dim is not None and indices[p].alone == dim][:1]
        return (*(p for p in places if p not in along), *along)

    return tuple(map(turned, operation.operands))


def _joined(
    kind: str, operation: Operation, orders: tuple[Order, ...], along: tuple[int, ...]
) -> Iterator[str]:
    """See `Rows`. None where the row itself is every second element, or in a sum of dimensions."""
    if max(along) > 1:
        return
    operands = list(zip(operation.operands, orders, along, strict=True))
    having = [(indices, order) for indices, order, step in operands if step]
    others = {d for indices, _, step in operands if not step for i in indices for d in i.dims}
    for place in range(1, min(len(order) for _, order in having) + 1):
        found = {indices[order[-place]].alone for indices, order in having}
        dim = found.pop()
        repeated = any(sum(dim in i.dims for i in indices) > 1 for indices, _ in having)
        if found or dim is None or dim in others or repeated:
            return
        if kind == REDUCTION and dim not in operation.reduced_dims:
            return
        if place > 1:
            yield dim


def may_be_rows(kind: str, operator: Operator) -> bool:
    """Whether an operator can be work on rows at all, at some rank: false is certain."""
    if kind == REDUCTION:
        return operator.reduction is not None
    return bool(operator.output.indices)


def _candidates(kind: str, operation: Operation, order: Order) -> Iterator[str]:
    if kind == REDUCTION:
        yield from reversed(operation.reduced_dims)
    elif order:
        yield from (d for d, _ in operation.operands[-1][order[-1]].terms)


def _along(indices: tuple[OperandIndex, ...], order: Order, dim: str) -> int | None:
    """How an operand lies along a dimension, as in `Rows`; none if it has it in another way."""
    factors = {p: f for p, i in enumerate(indices) for d, f in i.terms if d == dim}
    if not factors:
        return 0
    step = factors.get(order[-1], 0)
    alone = len(factors) == 1 and step in (1, 2) and not indices[order[-1]].margins
    return step if alone else None
