"""Batches: dimensions along which an operation does the same on one part of every operand.

Such as those in front of a product of matrices. On one element along such a dimension the operation
is that of the declaration, or of the graph, without the dimension.
"""

from __future__ import annotations

from collections.abc import Collection

from morello.ir.graphs.composition import Part, composition_of, operation_of
from morello.ir.graphs.graph import Graph, Node
from morello.ir.operators import Operation, Operator


def may_have_batch(operator: Operator) -> bool:
    """Whether an operation of this operator has a batch, if it has enough dimensions."""
    composition = composition_of(operator)
    if composition is None:
        return operator.group is not None and operator.reduction is not None
    return bool(composition.batches) and composition.sums > 0


def batch_dims(operation: Operation) -> tuple[str, ...]:
    """Dimensions that are a batch: of a declaration's group, and an index of every operand.

    Of a graph, what only elementwise operations read may be the same for the whole batch. What is
    elementwise itself has no batch, as all of its dimensions are alike; nor has what would be left
    with a single dimension, as sums of several rows are computed together.
    """
    if not may_have_batch(operation.operator):
        return ()
    composition = composition_of(operation.operator)
    found: Collection[str] = operation.group_dims if composition is None else composition.batches
    return tuple(
        dim for dim in operation.divisible_dims if dim in found and _divides(operation, dim)
    )


def _divides(operation: Operation, dim: str) -> bool:
    """Whether all that matters is of one element each along a dimension."""
    composition = composition_of(operation.operator)
    for name, access in zip(operation.names, operation.operands, strict=True):
        own = [index for index in access if dim in index.dims]
        if not own and (composition is None or not composition.is_beside(name)):
            return False
        if own and [index.alone for index in own] != [dim]:
            return False
    return max(len(access) for access in operation.operands) > 2


def without_batch(operation: Operation, dim: str) -> Part:
    """The operation on one element along a dimension of `batch_dims`, and its operands' names."""
    composition = composition_of(operation.operator)
    if composition is None:
        return Part(_without(operation), operation.names)
    graph = composition.graph
    nodes = tuple(
        Node(_without(n.operation), n.tensors) if dim in composition.dims[n.output] else n
        for n in graph.nodes
    )
    return operation_of(Graph(nodes, graph.dtypes), accumulating=operation.accumulating)


def _without(operation: Operation) -> Operation:
    rank = operation.group_rank - 1
    return Operation(operation.operator, rank, operation.accumulating, operation.scalars)
