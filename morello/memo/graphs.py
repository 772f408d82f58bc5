"""Graphs of operations from the text that tells them apart: the other way of `Graph.key`.

The text comes from a file that anybody may have written. What is no graph of the operators at hand
is none, whatever it is; the longest text and the highest rank are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import operation_of
from morello.ir.graphs.graph import Node, graph_of
from morello.ir.operators import Operation, Operator, is_whole
from morello.ir.scalars import Scalars, StandIn

LONGEST = 1 << 18
"""Characters of a text: a chain of thousands of operations has fewer."""

SCALARS = r"(?: [\w()]+=[^\s:]+)*"
"""Each as `` name=value``; the name of one that is a size has parentheses."""

_CALL = re.compile(
    rf"(?P<operator>[\w.]+)/(?P<rank>[0-9]{{1,2}})(?P<scalars>{SCALARS}):(?P<dtype>\w+)\("
)
_SCALAR = re.compile(r"[\w()]+=[^,()]+")
_TENSOR = re.compile(r"\w+")


def operator_named(name: str, operators: Mapping[str, Operator]) -> Operator | None:
    """A declared operator, or one of the statements of one: ``softmax.maximum``."""
    found = operators.get(name)
    if found is not None:
        return found
    parts = getattr(operators.get(name.rpartition(".")[0]), "parts", ())
    return next((part for part in parts if part.name == name), None)


def scalars_of(text: str, operator: Operator) -> Scalars | None:
    """Values of all scalars of an operator; none where these are not they."""
    pairs = (part.split("=", 1) for part in text.split())
    try:
        found = tuple((name, _value(value)) for name, value in pairs)
    except ValueError:
        return None
    values = dict(found)
    if sorted(name for name, _ in found) != sorted(operator.scalars):
        return None
    for name, least in operator.least.items():
        if isinstance(values[name], StandIn) or not is_whole(values[name], least):
            return None
    return found


def _value(text: str) -> float:
    """A number, or what stands for one.

    Raises:
        ValueError: It is neither.
    """
    place = text.removeprefix("$")
    if place == text:
        return float(text)
    if not 0 < int(place) <= LONGEST:
        raise ValueError(text)
    return StandIn(int(place))


def graph_operation(
    text: str,
    inputs: Mapping[str, DType],
    operators: Mapping[str, Operator],
    *,
    accumulating: bool,
) -> Operation | None:
    """The operation of a graph.

    Args:
        text: The graph's key.
        inputs: The element types of what it may read.
        operators: Declared operators by name.
        accumulating: Whether the last operation adds to what the output holds.

    Returns:
        None where the text is no graph's, or has other operators than there are.
    """
    if len(text) > LONGEST:
        return None
    reader = _Reader(operators, dict(inputs))
    *shared, last = text.split("; ")
    for statement in shared:
        name, _, value = statement.partition(" = ")
        if name in reader.dtypes or reader.read(value, name) is None:
            return None
    output = reader.read(last, "=")
    if output is None or len(reader.nodes) < 2:
        return None
    graph = graph_of(reader.nodes, output, reader.dtypes)
    return operation_of(graph, accumulating=accumulating).operation


@dataclass(slots=True)
class _Reader:
    """Collects the operations of calls, with the element type and the rank of every tensor.

    What a call within another computes is named by a number and ``=``, which no text can say.
    """

    operators: Mapping[str, Operator]
    dtypes: dict[str, DType]
    nodes: list[Node] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)

    def read(self, text: str, name: str) -> str | None:
        """Read one call; what it computes gets a name, which is given back.

        Not by recursion: a text may be nested thousands deep.
        """
        pending: list[tuple[re.Match[str], list[str]]] = []
        for found in _tokens(text):
            if found is None:
                return None
            if isinstance(found, re.Match):
                pending.append((found, []))
            elif found != ")":
                pending[-1][1].append(found)
            else:
                call, arguments = pending.pop()
                output = f"{len(self.nodes)}=" if pending else name
                if not self._add(call, (*arguments, output)):
                    return None
                if not pending:
                    return output
                pending[-1][1].append(output)
        return None

    def _add(self, call: re.Match[str], tensors: tuple[str, ...]) -> bool:
        """Note an operation, if it can be one."""
        operator = operator_named(call["operator"], self.operators)
        scalars = None if operator is None else scalars_of(call["scalars"], operator)
        if operator is None or scalars is None or call["dtype"] not in DTYPES:
            return False
        if len(tensors) != len(operator.parameters) or operator.parts:
            return False
        if not all(name in self.dtypes for name in tensors[:-1]):
            return False
        operation = Operation(operator, int(call["rank"]), False, scalars)
        self.dtypes[tensors[-1]] = DTYPES[call["dtype"]]
        self.nodes.append(Node(operation, tensors))
        ranks = map(len, operation.operands)
        return all(
            rank == self.ranks.setdefault(tensor, rank)
            for tensor, rank in zip(tensors, ranks, strict=True)
        )


def _tokens(text: str) -> Iterator[re.Match[str] | str | None]:
    """Beginnings and ends of the calls of one that is all of the text, and tensors.

    Scalars among the arguments only repeat what a call begins with. Ends with None where the text
    is something else.
    """
    place, depth = 0, 0
    while place < len(text):
        call, scalar, tensor = (p.match(text, place) for p in (_CALL, _SCALAR, _TENSOR))
        if call is not None:
            depth, place = depth + 1, call.end()
            yield call
        elif depth and (found := scalar or tensor):
            place = found.end()
            if scalar is None:
                yield found[0]
        elif not text.startswith(")", place):
            break
        if call is not None and not text.startswith(")", place):
            continue
        while depth and text.startswith(")", place):
            depth, place = depth - 1, place + 1
            yield ")"
        if not depth or not text.startswith(", ", place):
            break
        place += 2
    if depth or place < len(text):
        yield None
