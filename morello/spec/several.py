"""Graphs with several results: which operations compute them, and what these share.

Each result is computed by an operation of its own, a graph that ends where it reads another result.
What two of these graphs would have in common, each would compute for itself. That may be right for
what is computed element by element, but no sum is computed twice: the last tensors that several
graphs need, and that depend on a sum, become results too.

A graph of many sums is cut where least has to be kept: there are too many ways to compute it as
one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from morello.spec.composition import Part, operation_of
from morello.spec.dtypes import DType
from morello.spec.graph import Graph, Node, graph_of, in_order
from morello.spec.partition import tensors_that_tell_sizes, tensors_to_keep

MOST_SUMS = 4
"""Of one graph: as many as attention has. With each, ways to take a graph apart are multiplied."""


def parts_for(
    nodes: Iterable[Node],
    outputs: Sequence[str],
    dtypes: Mapping[str, DType],
    elements: Mapping[str, int],
) -> tuple[Part, ...]:
    """Operations that compute some tensors, and what they share, each after what it reads.

    Args:
        nodes: Operations of one statement; what the outputs do not need is left out.
        outputs: The tensors that are wanted. What is independent is in their order.
        dtypes: Element types of all tensors.
        elements: How many each of them has.
    """
    network = _Network(tuple(nodes), dtypes, elements)
    results = dict.fromkeys([*outputs, *tensors_to_keep(network.nodes, outputs)])
    results |= dict.fromkeys(tensors_that_tell_sizes(network.nodes, results))
    while more := network.shared_sums(results) or network.cut(results):
        results |= dict.fromkeys(more)
    graphs = network.graphs(results)
    ordered: dict[str, Part] = {}
    for output in outputs:
        for name in in_order(graphs, output, ordered):
            ordered[name] = operation_of(graphs[name])
    return tuple(ordered.values())


class _Network:
    """Operations that read each other's results."""

    def __init__(
        self, nodes: tuple[Node, ...], dtypes: Mapping[str, DType], elements: Mapping[str, int]
    ) -> None:
        self.nodes = nodes
        self._by_output = {node.output: node for node in nodes}
        self.dtypes = dtypes
        self.elements = elements

    def graphs(self, results: Collection[str]) -> dict[str, Graph]:
        """What computes each result, where the others are given."""
        found, given = {}, set(results)
        for name in results:
            given.discard(name)
            needed = in_order(self._by_output, name, given)
            found[name] = graph_of((self._by_output[n] for n in needed), name, self.dtypes)
            given.add(name)
        return found

    def shared_sums(self, results: Collection[str]) -> list[str]:
        """The last tensors that several graphs would compute, a sum among what that takes.

        The last ones are those that some operation reads which is not in all of these graphs.
        """
        graphs = self.graphs(results)
        users: dict[str, set[str]] = {}
        summing: set[str] = set()
        for result, graph in graphs.items():
            for node in graph.nodes:
                users.setdefault(node.output, set()).add(result)
                if node.operation.operator.reduction or summing.intersection(
                    name for name in node.inputs if name in graph.computed
                ):
                    summing.add(node.output)
        read_outside = {
            name
            for graph in graphs.values()
            for node in graph.nodes
            for name in node.inputs
            if name in graph.computed and users[node.output] != users[name]
        }
        return [
            name
            for name, own in users.items()
            if len(own) > 1 and name in summing and name in read_outside
        ]

    def cut(self, results: Collection[str]) -> list[str]:
        """The tensor to keep of each graph with too many sums: the smallest.

        Of those that are as small, the last. A sum is on either side of it, and none on both.
        """
        graphs = self.graphs(results).values()
        kept = (self._least(graph) for graph in graphs if _sums(graph) > MOST_SUMS)
        return list(dict.fromkeys(name for name in kept if name is not None))

    def _least(self, graph: Graph) -> str | None:
        """Of the tensors that divide the sums of a graph, the one to keep."""
        sums = {n.output for n in graph.nodes if n.operation.operator.reduction is not None}
        found: list[tuple[int, int, str]] = []
        for place, node in enumerate(graph.nodes[:-1]):
            name = node.output
            before = sums.intersection(in_order(graph.computed, name))
            after = sums.intersection(in_order(graph.computed, graph.output, (name,)))
            if before and after and not before & after:
                found.append((self.elements[name], -place, name))
        return min(found)[-1] if found else None


def _sums(graph: Graph) -> int:
    """How many of its operations reduce."""
    return sum(node.operation.operator.reduction is not None for node in graph.nodes)
