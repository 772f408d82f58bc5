"""Graphs of declared operators, drawn at random: what rules about graphs are tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random

from morello.checking.extents import reaches_each_once
from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.graph import Graph, Node, expanded, graph_of
from morello.ir.operators import Operation, Operator
from morello.verify.families import group_ranks

SCALARS = (0.5, -2.0)
MOST_DIMENSIONS = 3
TURNS = 10
"""So often an operator that is to be the last one is drawn, until it can read what is there."""

REUSE = 0.4
"""How often an operand is a tensor that is there already, if one fits."""


def composed(operation: Operation, dtype: DType) -> Operation:
    """An operation of several statements as the graph that it stands for, all of one type."""
    if not operation.operator.parts:
        return operation
    nodes = expanded(Node(operation, operation.names))
    dtypes = {name: dtype for node in nodes for name in node.tensors}
    return operation_of(graph_of(nodes, nodes[-1].output, dtypes)).operation


def random_graphs(
    operators: Mapping[str, Operator],
    dtype: DType,
    random: Random,
    count: int,
    largest: int = 4,
    *,
    last: Iterable[Operator] | None = None,
    split: bool = False,
    kept: Callable[[Graph], bool] | None = None,
) -> Iterator[Operation]:
    """Operations that stand for graphs of two to ``largest`` uses of operators, from so many draws.

    ``last``: what the last one of each is drawn from; by default all. ``split``: some may read rows
    as several, whose sizes then have to go together. ``kept``: whether a graph is wanted; making an
    operation of one takes far longer than drawing it.
    """
    usable = [o for _, o in sorted(operators.items()) if _usable(o, dtype, split=split)]
    ends = [o for o in last or () if _usable(o, dtype, split=split)]
    for _ in range(0 if last is not None and not ends else count):
        end = random.choice(ends) if ends else None
        nodes = _Drawing(usable, random).nodes(random.randint(2, largest), end)
        dtypes = {name: dtype for node in nodes for name in node.tensors}
        graph = graph_of(nodes, nodes[-1].output, dtypes)
        if len(graph.nodes) > 1 and (kept is None or kept(graph)):
            yield operation_of(graph).operation


def _usable(operator: Operator, dtype: DType, *, split: bool) -> bool:
    """Whether it has inputs, all operands may be of one type, and none is seen through a window.

    ``split``: a sum that goes through whole rows is none.
    """
    types = {DTYPES.get(p.dtype, dtype) for p in operator.parameters}
    indices = [i for p in operator.inputs for i in p.indices]
    plain = all(
        reaches_each_once(i, dict(operator.stated)) if split else len(i.terms) == 1 for i in indices
    )
    steps = any(len(i.terms) == 1 and i.terms[0][1] != 1 for i in indices)
    return bool(operator.inputs) and types == {dtype} and plain and not steps


class _Drawing:
    def __init__(self, operators: list[Operator], random: Random) -> None:
        self.operators = operators
        self.random = random
        self.ranks: dict[str, int] = {}
        self.last = ""

    def nodes(self, count: int, last: Operator | None) -> list[Node]:
        """So many uses of operators; each but the first reads what the one before it computes.

        Fewer where the last one cannot read any of them.
        """
        found: list[Node] = []
        while len(found) < count - (last is not None):
            self._add(self._node(self.random.choice(self.operators)), found)
        if last is not None:
            drawn = (self._node(last) for _ in range(TURNS))
            self._add(next(filter(None, drawn), None), found)
        return [inner for node in found for inner in expanded(node)]

    def _add(self, node: Node | None, found: list[Node]) -> None:
        if node is not None:
            found.append(node)
            self.last = node.output

    def _node(self, operator: Operator) -> Node | None:
        rank = self.random.choice(group_ranks(operator))
        scalars = tuple((name, self._scalar(operator, name)) for name in operator.scalars)
        operation = Operation(operator, rank, False, scalars)
        *inputs, output = (len(access) for access in operation.operands)
        if max(*inputs, output) > MOST_DIMENSIONS:
            return None
        places = [i for i, wanted in enumerate(inputs) if wanted == self.ranks.get(self.last)]
        if self.last and not places:
            return None
        chosen = self.random.choice(places) if self.last else None
        names = [
            self.last if i == chosen else self._operand(wanted) for i, wanted in enumerate(inputs)
        ]
        return Node(operation, (*names, self._new(output)))

    def _scalar(self, operator: Operator, name: str) -> float:
        least = operator.least.get(name)
        return self.random.choice(SCALARS if least is None else (least, least + 1.0))

    def _operand(self, rank: int) -> str:
        fitting = [name for name, own in self.ranks.items() if own == rank]
        if fitting and self.random.random() < REUSE:
            return self.random.choice(fitting)
        return self._new(rank)

    def _new(self, rank: int) -> str:
        name = f"t{len(self.ranks)}"
        self.ranks[name] = rank
        return name
