"""Graphs with several results: which operations compute them, and what these share.

Each result is computed by an operation of its own, a graph that ends where it reads another result.
What two of these graphs would have in common, each would compute for itself. That may be right for
what is computed element by element, but no sum is computed twice: the last tensors that several
graphs need, and that depend on a sum, become results too.

A graph of many sums is cut where least has to be kept or computed again: there are too many ways to
compute it as one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.graphs.composition import Part, composition_of, operation_of
from morello.ir.graphs.graph import Graph, Node, graph_of, in_order
from morello.ir.graphs.partition import tensors_that_tell_sizes, tensors_to_keep
from morello.ir.pruning import prunes
from morello.ir.sizes import sizes_from, with_hidden

MOST_SUMS = 4
"""Of one graph: as many as attention has. With each, ways to take a graph apart are multiplied."""


def parts_for(
    nodes: Iterable[Node],
    outputs: Sequence[str],
    dtypes: Mapping[str, DType],
    elements: Mapping[str, int],
    written_first: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> tuple[Part, ...]:
    """Operations that compute some tensors, and what they share, each after what it reads.

    Args:
        nodes: Operations of one statement; what the outputs do not need is left out.
        outputs: The tensors that are wanted. What is independent is in their order.
        dtypes: Element types of all tensors.
        elements: How many each of them has.
        written_first: Of tensors that lie in others, or are put together of others: those.
    """
    network = _Network(tuple(nodes), dtypes, elements)
    results = dict.fromkeys([*outputs, *tensors_to_keep(network.nodes, outputs)])
    results |= dict.fromkeys(tensors_that_tell_sizes(network.nodes, results))
    results |= dict.fromkeys(network.under_windows(results))
    # Each round makes results of tensors that were none, so that this ends.
    while more := (network.shared_sums(results) or network.cut(results) or network.untold(results)):
        results |= dict.fromkeys(more)
    graphs = network.graphs(results)
    readers = {
        name: _Reader(tuple(own for i in graph.inputs for own in (i, *written_first.get(i, ()))))
        for name, graph in graphs.items()
    }
    ordered: dict[str, Part] = {}
    for output in outputs:
        for name in in_order(readers, output, ordered):
            ordered[name] = operation_of(graphs[name])
    return tuple(ordered.values())


class _Reader(Struct, frozen=True):
    """What has to be there before something is computed."""

    inputs: tuple[str, ...]


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

    def untold(self, results: Collection[str]) -> list[str]:
        """The last tensors to keep so that the shapes of operands tell the sizes of graphs."""
        found = []
        for graph in self.graphs(results).values():
            operation = operation_of(graph).operation
            composition = composition_of(operation.operator)
            if composition is None:
                continue
            shapes = [[1] * len(access) for access in operation.operands]
            told = with_hidden(operation, sizes_from(operation, shapes))
            inside = (d for alike in composition.hidden for index in alike for d in index.dims)
            missing = {*operation.dims, *inside}.difference(told)
            own = zip(graph.nodes[:-1], composition.graph.nodes, strict=False)
            about = [node.output for node, same in own if missing & composition.dims[same.output]]
            found += about[-1:]
        return found

    def under_windows(self, results: Collection[str]) -> list[str]:
        """The computed tensors whose windows are reduced once for each of several results.

        As in a convolution, for each filter; of a pool, windows have one result each.
        """
        found: list[str] = []
        for node in self.nodes:
            if node.operation.operator.reduction is None:
                continue
            *accesses, output = node.operation.operands
            wanted = {dim for index in output for dim in index.dims}
            for name, access in zip(node.inputs, accesses, strict=True):
                again = wanted.difference(*(index.dims for index in access))
                if name in self._by_output and again and any(len(i.terms) > 1 for i in access):
                    found.append(name)
        return [name for name in found if name not in results and prunes("windows")]

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
        """The tensors to keep of graphs with too many sums: one of each, then of its parts.

        It is the one with the fewest elements to keep and to compute again, of equal ones the last.
        A sum is on either side of it, and none on both.
        """
        kept: dict[str, None] = {}
        pending = [*self.graphs(results).values()]
        while pending:
            graph = pending.pop()
            many = _sums(graph) > MOST_SUMS and prunes("few_sums")
            name = self._least(graph) if many else None
            # Some sums are on either side, so that both parts have fewer and this ends.
            if name is not None:
                kept[name] = None
                rest = (node for node in graph.nodes if node.output != name)
                pending.append(graph_of(graph.nodes, name, self.dtypes))
                pending.append(graph_of(rest, graph.output, self.dtypes))
        return list(kept)

    def _least(self, graph: Graph) -> str | None:
        """Of the tensors that divide the sums of a graph, the one to keep."""
        found = [(self.elements[n], -place, n) for place, n in enumerate(dividing(graph))]
        least, chosen = inf, None
        for size, _, name in sorted(found):
            # What is computed again only adds to the size, and sizes rise from here.
            if size >= least:
                break
            if (cost := size + self._again(graph, name)) < least:
                least, chosen = cost, name
        return chosen

    def _again(self, graph: Graph, kept: str) -> int:
        """Elements that a graph would compute for a tensor and once more for what reads it."""
        rest = set(in_order(graph.computed, graph.output, (kept,)))
        return sum(self.elements[n] for n in in_order(graph.computed, kept) if n in rest)


def dividing(graph: Graph) -> list[str]:
    """The tensors of a graph, in its order, that leave some sums on either side and none on both.

    A sum is on one side of a tensor that it leads to if all ways from the sum to the output lead
    through the tensor. Sets of tensors are numbers with a bit for each: one walk from the output
    and one to it, however many tensors there are.
    """
    own = {node.output: 1 << place for place, node in enumerate(graph.nodes)}
    passed = {graph.output: own[graph.output]}  # by all ways from a tensor to the output
    for node in reversed(graph.nodes):
        for name in own.keys() & {*node.inputs}:
            through = passed[node.output] | own[name]
            passed[name] = passed.get(name, through) & through
    sums = dict.fromkeys(graph.inputs, 0)  # that a tensor is computed from
    ends = dict.fromkeys(graph.inputs, -1)  # what all these sums pass; of none, all there is
    for node in graph.nodes:
        summed = node.operation.operator.reduction is not None
        sums[node.output] = own[node.output] if summed else 0
        ends[node.output] = passed[node.output] if summed else -1
        for name in node.inputs:
            sums[node.output] |= sums[name]
            ends[node.output] &= ends[name]
    every = sums[graph.output]
    return [name for name in own if sums[name] not in (0, every) and ends[name] & own[name]]


def _sums(graph: Graph) -> int:
    """How many of its operations reduce."""
    return sum(node.operation.operator.reduction is not None for node in graph.nodes)
