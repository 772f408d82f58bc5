"""Graphs: several operations of which some compute what others read, and one the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from morello.ir.dtypes import DType
from morello.ir.operators import Operation


class _Reader(Protocol):
    """What computes a tensor from others."""

    @property
    def inputs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Node:
    """An operation of one statement, on tensors by name: inputs first, the output last."""

    operation: Operation
    tensors: tuple[str, ...]

    @property
    def output(self) -> str:
        """The tensor that it computes."""
        return self.tensors[-1]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that it reads, in the order of the operation's operands."""
        return self.tensors[:-1]


@dataclass(frozen=True)
class Graph:
    """Nodes, each after those that compute what it reads; the last one computes the output.

    ``dtypes`` are the element types of all tensors. Graphs are made by `graph_of`, which gives
    equal ones equal names.
    """

    nodes: tuple[Node, ...]
    dtypes: tuple[tuple[str, DType], ...]

    @property
    def output(self) -> str:
        """The tensor that it is for."""
        return self.nodes[-1].output

    @cached_property
    def computed(self) -> Mapping[str, Node]:
        """The node of every tensor that is computed."""
        return {node.output: node for node in self.nodes}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Tensors that are read and not computed, in the order in which they are first read."""
        read = (name for node in self.nodes for name in node.inputs)
        return tuple(dict.fromkeys(name for name in read if name not in self.computed))

    @property
    def locals(self) -> tuple[str, ...]:
        """Tensors that are computed on the way."""
        return tuple(node.output for node in self.nodes[:-1])

    def dtype(self, tensor: str) -> DType:
        """Element type of a tensor."""
        return dict(self.dtypes)[tensor]

    def occurrences(self, tensor: str) -> Iterator[tuple[Node, int]]:
        """Nodes that a tensor is an operand of, with its position among their operands."""
        for node in self.nodes:
            for position, name in enumerate(node.tensors):
                if name == tensor:
                    yield node, position

    @cached_property
    def key(self) -> str:
        """What tells graphs apart whose tensors have canonical names."""
        return self.formula(self._exact_name)

    def formula(
        self,
        name_of: Callable[[Node], str] = lambda node: node.operation.operator.label,
        tensors: Mapping[str, str] | None = None,
    ) -> str:
        """Its nodes as calls, nested where a tensor is read once.

        Args:
            name_of: What a node is called.
            tensors: Other names of the inputs.
        """
        reads = [name for node in self.nodes for name in node.inputs]
        texts = dict(tensors or {})
        shared: list[str] = []
        for node in self.nodes:
            arguments = [texts.get(name, name) for name in node.inputs]
            arguments += [f"{name}={value:g}" for name, value in node.operation.scalars]
            text = f"{name_of(node)}({', '.join(arguments)})"
            if node is self.nodes[-1] or reads.count(node.output) == 1:
                texts[node.output] = text
            else:
                shared.append(f"{node.output} = {text}")
        return "; ".join((*shared, texts[self.output]))

    def _exact_name(self, node: Node) -> str:
        operation = node.operation
        scalars = "".join(f" {name}={value!r}" for name, value in operation.scalars)
        return (
            f"{operation.operator.name}/{operation.group_rank}{scalars}:{self.dtype(node.output)}"
        )


def graph_of(nodes: Iterable[Node], output: str, dtypes: Mapping[str, DType]) -> Graph:
    """The graph of what the output needs of these nodes.

    Tensors keep their names. Nodes are in an order that depends on what reads what alone.
    """
    by_output = {node.output: node for node in nodes}
    found = tuple(by_output[name] for name in in_order(by_output, output))
    named = dict.fromkeys(name for node in found for name in node.tensors)
    return Graph(found, tuple((name, dtypes[name]) for name in named))


def in_order(
    by_output: Mapping[str, _Reader], output: str, known: Collection[str] = ()
) -> list[str]:
    """The tensors that an output needs, and itself, each after those that it is computed from.

    Args:
        by_output: What computes a tensor, and says what it reads.
        output: The last of them.
        known: Tensors that are left out, with all that only they need.
    """
    ordered: dict[str, None] = {}
    pending = [(output, False)]
    while pending:  # not by recursion: there may be thousands
        name, ready = pending.pop()
        if name in ordered or name in known or name not in by_output:
            continue
        if ready:
            ordered[name] = None
        else:
            pending.append((name, True))
            pending += [(read, False) for read in reversed(by_output[name].inputs)]
    return list(ordered)


def expanded(node: Node) -> tuple[Node, ...]:
    """The nodes that an operation of several statements stands for; else the node itself."""
    operation = node.operation
    parts = operation.operator.parts
    if not parts:
        return (node,)
    names = dict(zip(operation.names, node.tensors, strict=True))
    nodes: list[Node] = []
    for part in parts:
        names.setdefault(part.output.name, f"{node.output}.{part.output.name}")
        scalars = tuple((n, v) for n, v in operation.scalars if n in part.scalars)
        rank = operation.group_rank if part.group else 0
        tensors = tuple(names[p.name] for p in part.parameters)
        nodes.append(Node(Operation(part, rank, False, scalars), tensors))
    return tuple(nodes)
