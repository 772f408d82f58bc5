"""Where permutations are: moved behind what is computed of them, so that two after each other meet.

Files with channels last have one before each convolution and one after it. What is computed element
by element in between does not mind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from morello.networks.network import Network, Node, keeps_order, without_ones
from morello.records import replace

Order = tuple[int, ...]


class _Source(Struct, frozen=True):
    """What a value is a permutation of, and the operator of the file that says so."""

    name: str
    order: Order
    origin: str


def sink_permutes(network: Network) -> None:
    """Compute with what was permuted, and permute the result."""
    sinking = _Sinking(network)
    for node in network.nodes:
        sinking.add(node)
    network.nodes = sinking.nodes
    network.drop_unused()


class _Sinking:
    """Writes nodes anew. ``_sources``: what values are permutations of."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.nodes: list[Node] = []
        self._sources: dict[str, _Source] = {}

    def add(self, node: Node) -> None:
        """Add a node, or what it is below a permutation."""
        if node.operator == "Permute":
            self._permute(node)
            return
        if node.operator == "View":
            [name] = node.inputs
            if name in self._sources and self.network.shape(name) == self.network.shape(
                node.output
            ):
                self._sources[node.output] = self._sources[name]
            self.nodes.append(node)
            return
        below = {"Elementwise": self._elementwise, "Reduce": self._reduce}.get(node.operator)
        shape = self.network.shape(node.output)
        for source in (self._sources.get(name) for name in node.inputs if below):
            if below and source and len(source.order) == len(shape):
                done = below(node, source.order)
                if done is not None:
                    self.nodes.append(done)
                    moved = Node(
                        "Permute",
                        node.name,
                        (done.output,),
                        (node.output,),
                        {"order": source.order},
                        source.origin,
                    )
                    self._permute(moved)
                    return
        self.nodes.append(node)

    def _permute(self, node: Node) -> None:
        """Add a permutation: of what is permuted itself, if it is that."""
        [name] = node.inputs
        order: Order = node.attributes["order"]
        below = self._sources.get(name)
        if below is not None:
            name, order = below.name, tuple(below.order[axis] for axis in order)
            attributes = {"order": order}
            node = replace(node, inputs=(name,), attributes=attributes)
            if keeps_order(self.network.shape(name), order):
                node = replace(node, operator="View", attributes={})
        self._sources[node.output] = _Source(name, order, node.origin)
        self.nodes.append(node)

    def _reduce(self, node: Node, order: Order) -> Node:
        """The same reduction before a permutation."""
        axes = tuple(sorted(order[axis] for axis in node.attributes["axes"]))
        result = self.network.new(node.output, _before(self.network.shape(node.output), order))
        source = self._sources[node.inputs[0]].name
        attributes = {**node.attributes, "axes": axes}
        return replace(node, inputs=(source,), outputs=(result,), attributes=attributes)

    def _elementwise(self, node: Node, order: Order) -> Node | None:
        """The same before a permutation; none if an input is not to be had there."""
        inputs = [self._input_before(name, order) for name in node.inputs]
        if not all(inputs):
            return None
        result = self.network.new(node.output, _before(self.network.shape(node.output), order))
        return replace(node, inputs=tuple(inputs), outputs=(result,))

    def _input_before(self, name: str, order: Order) -> str:
        """An input as it is before a permutation; no name, if it would have to be moved."""
        network, source = self.network, self._sources.get(name)
        shape = network.shape(name)
        if source is not None and source.order == order:
            return source.name
        if not without_ones(shape):
            return name
        whole = (*(1,) * (len(order) - len(shape)), *shape)
        moved = _before(whole, order)
        data = network.data(name)
        if data is not None:
            return network.constant(name, data.reshape(whole).transpose(np.argsort(order)))
        if not keeps_order(whole, np.argsort(order).tolist()):
            return ""
        viewed = network.new(name, moved)
        self.nodes.append(Node("View", "", (name,), (viewed,)))
        return viewed


def _before(shape: Sequence[int], order: Order) -> tuple[int, ...]:
    """A shape as it is before a permutation."""
    return tuple(shape[order.index(axis)] for axis in range(len(order)))
