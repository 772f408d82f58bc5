"""Graphs with several results: which operations compute them, and what these share.

Each result is computed by an operation of its own, a graph that ends where it reads another result.
What two of these graphs would have in common, each would compute for itself. That may be right for
what is computed element by element, but no sum is computed twice: the last tensors that several
graphs need, and that depend on a sum, become results too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from morello.spec.composition import Part, operation_of
from morello.spec.dtypes import DType
from morello.spec.graph import Graph, Node, graph_of


def parts_for(
    nodes: Iterable[Node], outputs: Sequence[str], dtypes: Mapping[str, DType]
) -> tuple[Part, ...]:
    """Operations that compute some tensors, and what they share, each after what it reads.

    Args:
        nodes: Operations of one statement; what the outputs do not need is left out.
        outputs: The tensors that are wanted. What is independent is in their order.
        dtypes: Element types of all tensors.
    """
    network = _Network(tuple(nodes), dtypes)
    results = dict.fromkeys(outputs)
    while shared := network.shared_sums(results):
        results |= dict.fromkeys(shared)
    graphs = network.graphs(results)
    ordered: dict[str, Part] = {}

    def visit(name: str) -> None:
        for read in graphs[name].inputs:
            if read in graphs and read not in ordered:
                visit(read)
        ordered[name] = operation_of(graphs[name])

    for name in outputs:
        if name not in ordered:
            visit(name)
    return tuple(ordered.values())


class _Network:
    """Operations that read each other's results."""

    def __init__(self, nodes: tuple[Node, ...], dtypes: Mapping[str, DType]) -> None:
        self.nodes = nodes
        self.dtypes = dtypes

    def graphs(self, results: Collection[str]) -> dict[str, Graph]:
        """What computes each result, where the others are given."""
        return {
            name: graph_of(
                (n for n in self.nodes if n.output == name or n.output not in results),
                name,
                self.dtypes,
            )
            for name in results
        }

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
