"""Tensors on the way that are others, their elements in other places: ``Y[j, i] = X[i, j]``.

What reads Y may as well read X, and what computes X write to Y, if the one can be seen in the
other: as a transpose, which is another order of dimensions; as rows cut in pieces, which are two
dimensions where there was one; or as rows one after the other, which are one dimension where there
were two, if they lie so in memory.
"""

from __future__ import annotations

from functools import lru_cache

from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.graph import Graph, Node
from morello.ir.layout import Axis
from morello.ir.operators import Operation, Operator
from morello.ir.views import Join, ViewMap
from morello.records import replace


@lru_cache(maxsize=4096)
def rearranged(operator: Operator, tensor: str, operand: str) -> ViewMap | None:
    """How what a graph computes on the way can be seen in an operand; none if it cannot.

    The operand is read by one operation, to move its elements to the tensor and nothing else; or it
    is the output, and the last operation moves the elements of the tensor there. How dimensions of
    the graph index the tensor is left open.
    """
    composition = composition_of(operator)
    if composition is None or tensor not in composition.locals:
        return None
    graph = composition.graph
    node = graph.nodes[-1] if operand == graph.output else graph.computed[tensor]
    if not _moves(graph, node) or {*node.tensors} != {tensor, operand}:
        return None
    return _sight(node.operation, node.tensors.index(operand))


def sliced(operation: Operation) -> ViewMap | None:
    """How the output of a slice can be seen in its input; none if it is no slice, or cannot be.

    The operation only moves elements, and reads its input between margins.
    """
    return _between_margins(operation, 0) if operation.operator.slices else None


def framed(operation: Operation) -> ViewMap | None:
    """How the input of what only moves to between margins can be seen in its output."""
    return _between_margins(operation, 1) if operation.operator.frames else None


def _between_margins(operation: Operation, position: int) -> ViewMap | None:
    """How one of two operands can be seen in the other, which has this position and margins."""
    found = _sight(operation, position)
    return None if found is None else replace(found, indices=operation.operands[1 - position])


def _moves(graph: Graph, node: Node) -> bool:
    """Whether a node only moves elements: it assigns those of one tensor, as they are."""
    moves = node.operation.operator.moves
    return moves and graph.dtype(node.tensors[0]) == graph.dtype(node.tensors[1])


def _sight(operation: Operation, position: int) -> ViewMap | None:
    """The other one of two operands, seen in the one at a position.

    Every element of it has to be there: both are indexed by the same dimensions, once each, and it
    has no steps or margins of its own.
    """
    own, other = operation.operands[position], operation.operands[1 - position]
    terms = [(dim, Axis(p, factor)) for p, index in enumerate(own) for dim, factor in index.terms]
    places = dict(terms)
    wanted = [dim for index in other for dim in index.dims]
    if len(terms) > len(places) or sorted(wanted) != sorted(places):
        return None
    axes, joins = [], []
    for index in other:
        ordered = sorted(index.terms, key=lambda term: term[1])
        (first, step), *rest = ordered
        if step != 1 or index.margins:
            return None
        axes.append(Axis(places[first].dimension, places[first].step, bool(rest)))
        for (inner, below), (outer, above) in zip(ordered, rest, strict=False):
            joins.append(Join(outer, inner, above, below, places[outer], places[inner]))
    if len({(axis.dimension, axis.step) for axis in axes}) < len(axes):
        return None
    starts = tuple(index.low for index in own)
    return ViewMap((), tuple(axes), starts, tuple(joins), operation, position)
