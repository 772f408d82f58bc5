"""Tensors that a graph reads in several ways: each way is an operand of its own.

In ``scale_rows(scale_columns(x, d), d)`` a loop over the rows of x is one over the elements of the
second d, and leaves the first one whole. One operand could not be both. So the operation of the
graph has two, which are one tensor.

What a sum reads stays one operand: it is placed in caches and packed as a whole, until the sum has
been taken out of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from morello.ir.graphs.graph import Graph, Node
from morello.ir.graphs.indexing import Access, Indexing


def with_split_reads(graph: Graph) -> tuple[Graph, Mapping[str, str]]:
    """A graph with an input for each way in which elementwise nodes alone read one.

    Returns:
        The graph, and the tensor that each new input is.
    """
    repeated = [name for name in graph.inputs if _may_be_split(graph, name)]
    if not repeated:
        return graph, {}
    indexing = Indexing(graph)
    names: dict[tuple[str, int], str] = {}
    tensor_of: dict[str, str] = {}
    for tensor in repeated:
        ways: dict[Access, str] = {}
        for use, access in enumerate(indexing.reads(tensor)):
            name = ways.setdefault(access, f"{tensor} {len(ways)}" if ways else tensor)
            names[tensor, use] = name
            tensor_of[name] = tensor
    return (_renamed(graph, names), tensor_of) if len(tensor_of) > len(repeated) else (graph, {})


def _may_be_split(graph: Graph, tensor: str) -> bool:
    """Whether an input is read several times, and by elementwise nodes alone."""
    readers = [node.operation.operator for node, _ in graph.occurrences(tensor)]
    return len(readers) > 1 and all(reader.reduction is None for reader in readers)


def _renamed(graph: Graph, names: Mapping[tuple[str, int], str]) -> Graph:
    """The graph where uses of tensors, counted from 0, have other names."""
    counts: dict[str, int] = {}

    def tensors(node: Node) -> Iterator[str]:
        for tensor in node.tensors:
            use = counts.get(tensor, 0)
            counts[tensor] = use + 1
            yield names.get((tensor, use), tensor)

    nodes = tuple(Node(node.operation, tuple(tensors(node))) for node in graph.nodes)
    dtypes = dict(graph.dtypes)
    dtypes |= {name: dtypes[tensor] for (tensor, _), name in names.items()}
    used = dict.fromkeys(name for node in nodes for name in node.tensors)
    return Graph(nodes, tuple((name, dtypes[name]) for name in used))
