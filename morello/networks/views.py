"""Where views are: moved behind what is computed of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from operator import mul

from morello.networks.network import Network, Node, keeps_order, with_leading_ones, without_ones
from morello.records import replace


def sink_views(network: Network) -> None:
    """Compute with what a view is of, and view the result: so views end up between kernels.

    What a product gives is then in one form for all that is computed of it element by element.
    """
    sinking = _Sinking(network)
    for node in network.nodes:
        sinking.add(node)
    network.nodes = sinking.nodes


class _Sinking:
    """Writes nodes anew. ``_sources``: what a value is a view of."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.nodes: list[Node] = []
        self._sources: dict[str, str] = {}

    def add(self, node: Node) -> None:
        """Add a node, or what it is below a view."""
        if node.operator == "View":
            self._view(self._source(node.inputs[0]), node.output, node.name)
            return
        below = {"Elementwise": self._elementwise, "Reduce": self._reduce}.get(node.operator)
        for name in node.inputs if below else ():
            shape, source = self.network.shape(name), self._source(name)
            if below and without_ones(shape) != without_ones(self.network.shape(source)):
                done = below(node, shape, source)
                if done is not None:
                    self.nodes.append(done)
                    self._view(done.output, node.output, node.name)
                    return
        self.nodes.append(node)

    def _source(self, name: str) -> str:
        return self._sources.get(name, name)

    def _view(self, source: str, output: str, name: str) -> None:
        self._sources[output] = source
        self.nodes.append(Node("View", name, (source,), (output,)))

    def _reduce(self, node: Node, shape: Sequence[int], source: str) -> Node | None:
        """The same reduction of a source; none if it has not these dimensions."""
        below, axes = self.network.shape(source), set(node.attributes["axes"])
        reduced: list[int] = []
        for above, own in aligned(shape, below):
            if axes & {*above}:
                if not axes.issuperset(above):
                    return None
                reduced += own
        left = [1 if axis in reduced else size for axis, size in enumerate(below)]
        result = self.network.new(node.output, left)
        attributes = {**node.attributes, "axes": tuple(reduced)}
        return replace(node, inputs=(source,), outputs=(result,), attributes=attributes)

    def _elementwise(self, node: Node, shape: Sequence[int], source: str) -> Node | None:
        """The same with all inputs as the source is seen; none if one cannot be seen so."""
        network, below = self.network, self.network.shape(source)
        if shape != network.shape(node.output):
            return None
        seen = [_seen_below(network.shape(name), shape, below) for name in node.inputs]
        inputs = []
        for name, own in zip(node.inputs, seen, strict=True):
            if own is None:
                return None
            inputs.append(self._seen(name, own, node))
        result = network.new(node.output, below)
        return replace(node, inputs=tuple(inputs), outputs=(result,))

    def _seen(self, name: str, shape: tuple[int, ...], node: Node) -> str:
        """A value in another shape."""
        data, source = self.network.data(name), self._source(name)
        if data is not None:
            return self.network.constant(name, data.reshape(shape))
        if self.network.shape(source) == shape:
            return source
        viewed = self.network.new(name, shape)
        self._view(source, viewed, node.name)
        return viewed


def swap_into_products(network: Network) -> None:
    """Have products read what was swapped, instead of copies with the last dimensions swapped."""
    same = views_of_same(network)
    made_by = {node.output: node for node in network.nodes}
    nodes: list[Node] = []
    for node in network.nodes:
        done = node
        for place, name in enumerate(node.inputs if node.operator == "Product" else ()):
            permute = made_by.get(same.get(name, name))
            if permute is None or network.shape(permute.output) != network.shape(name):
                continue
            *order, last, first = permute.attributes.get("order", (0, 1))
            if first < last:
                swapped = _swapped(network, permute, (*order, first, last))
                nodes.append(swapped)
                done = _reading(done, place, swapped.output)
        nodes.append(done)
    network.nodes = nodes
    network.drop_unused()


def _swapped(network: Network, permute: Node, order: Sequence[int]) -> Node:
    """A permutation in another order; a view, if elements stay."""
    [source] = permute.inputs
    shape = network.shape(source)
    output = network.new(permute.output, [shape[axis] for axis in order])
    if keeps_order(shape, order):
        return replace(permute, operator="View", outputs=(output,), attributes={})
    return replace(permute, outputs=(output,), attributes={"order": tuple(order)})


def _reading(product: Node, place: int, name: str) -> Node:
    """A product with another operand, whose last two dimensions are swapped."""
    inputs, transposed = list(product.inputs), list(product.attributes["transposed"])
    inputs[place], transposed[place] = name, not transposed[place]
    return replace(product, inputs=tuple(inputs), attributes={"transposed": tuple(transposed)})


def cut_for_each(network: Network) -> None:
    """Have each node that reads a part of a tensor cut it itself: a kernel sees it in place."""
    same = views_of_same(network)
    cuts = {node.output: node for node in network.nodes if node.operator == "Cut"}
    nodes: list[Node] = []
    seen: set[str] = set()
    for node in network.nodes:
        inputs = [*node.inputs]
        for place, name in enumerate(inputs if node.output not in same else ()):
            base = same.get(name, name)
            if base not in cuts:
                continue
            if base in seen:
                cut = cuts[base]
                own = replace(cut, outputs=(network.new(base, network.shape(base)),))
                inputs[place] = network.new(name, network.shape(name))
                nodes += [own, Node("View", cut.name, (own.output,), (inputs[place],))]
            seen.add(base)
        nodes.append(replace(node, inputs=tuple(inputs)))
    network.nodes = nodes


def views_of_same(network: Network) -> dict[str, str]:
    """For each view that only differs in dimensions of size 1, the value that it is a view of."""
    found: dict[str, str] = {}
    for node in network.nodes:
        if node.operator == "View":
            source = node.inputs[0]
            if without_ones(network.shape(source)) == without_ones(network.shape(node.output)):
                found[node.output] = found.get(source, source)
    return found


def aligned(first: Sequence[int], second: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Dimensions of two shapes of one tensor, in groups of as many elements.

    Those of size 1 are with what is before them.
    """
    products = [list(accumulate(shape, mul)) for shape in (first, second)]
    ends = sorted(set(products[0]) & set(products[1]))
    groups: list[tuple[list[int], list[int]]] = [([], []) for _ in ends]
    for side, own in enumerate(products):
        for axis, product in enumerate(own):
            groups[bisect_left(ends, product)][side].append(axis)
    return groups


def _seen_below(
    shape: Sequence[int], above: Sequence[int], below: Sequence[int]
) -> tuple[int, ...] | None:
    """The shape of what is broadcast to one shape, as it is broadcast to another; none if none."""
    padded = with_leading_ones(shape, len(above))
    result = [1] * len(below)
    for axes, own in aligned(above, below):
        sizes = [padded[axis] for axis in axes]
        if sizes == [above[axis] for axis in axes]:
            for axis in own:
                result[axis] = below[axis]
        elif prod(sizes) != 1:
            return None
    return tuple(result)
