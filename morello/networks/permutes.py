"""Where permutations are: moved behind what is computed of them, so that two after each other meet.

Files with channels last have one before each convolution and one after it. What is computed element
by element in between does not mind.

What is then left behind what is computed of inputs alone, such as the bytes of a picture, comes
before it: fewer bytes are moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from morello.networks.network import Network, Node, keeps_order, with_leading_ones, without_ones
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


def raise_permutes(network: Network) -> None:
    """Permute a network's inputs, if they are no wider, and not what is computed of them alone."""
    raising = _Raising(network)
    network.nodes = [each for node in network.nodes for each in raising.instead(node)]
    network.drop_unused()


class _Raising:
    """Writes permutations anew. ``_made``: what computes a value that one node reads."""

    def __init__(self, network: Network) -> None:
        self.network = network
        reads = Counter(name for node in network.nodes for name in node.inputs)
        reads.update(network.outputs)
        self._made = {n.output: n for n in network.nodes if reads[n.output] == 1}

    def instead(self, node: Node) -> list[Node]:
        """What stands in the place of a node: itself, or a permutation and what is computed."""
        if node.operator != "Permute" or node.inputs[0] in self.network.inputs:
            return [node]
        order: Order = node.attributes["order"]
        raised: list[Node] = []
        if not self._raise(node.inputs[0], order, node, raised):
            return [node]
        raised[-1] = replace(raised[-1], outputs=node.outputs)
        return raised

    def _raise(self, name: str, order: Order, permute: Node, raised: list[Node]) -> str:
        """A value in another order, with the nodes for it; no name where it is not to be had."""
        network = self.network
        shape = network.shape(name)
        data = network.data(name)
        if data is not None:
            whole = with_leading_ones(shape, len(order))
            return network.constant(name, data.reshape(whole).transpose(order))
        if len(shape) != len(order):
            return ""
        result = network.new(name, (shape[axis] for axis in order))
        if name in network.inputs:
            own, read = (np.dtype(network.values[n].dtype) for n in (name, permute.output))
            if own.itemsize > read.itemsize:
                return ""
            raised.append(replace(permute, inputs=(name,), outputs=(result,)))
            return result
        node = self._made.get(name)
        if node is not None and node.operator == "View" and network.shape(node.inputs[0]) == shape:
            return self._raise(node.inputs[0], order, permute, raised)
        if node is None or node.operator != "Elementwise":
            return ""
        inputs = [self._raise(each, order, permute, raised) for each in node.inputs]
        if not all(inputs):
            return ""
        raised.append(replace(node, inputs=tuple(inputs), outputs=(result,)))
        return result


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
        whole = with_leading_ones(shape, len(order))
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
