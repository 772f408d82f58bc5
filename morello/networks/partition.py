"""Which nodes are computed together: the parts of a network that become kernels.

A part begins with one node and takes in what follows, as long as that is computed from it element
by element, or reduces it, all in the same direction: then nothing in between has to be kept. A part
has at most one product, or two with a softmax between them that goes along what the second one
sums, and as many sums as the search takes at once. What comes out of a part is one tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from morello.ir.graphs.multi_output import MOST_SUMS
from morello.networks.network import Network, Node, without_ones
from morello.networks.views import views_of_same

SEEN = ("View", "Piece")
"""What takes no time."""

BETWEEN = (*SEEN, "Concat", "Lookup", "Convert", "Move", "Call")
"""What is no part of a kernel."""

LIGHT = ("Elementwise", "Reduce", "SoftmaxAlong", "LogSoftmaxAlong")
BEFORE = ("Cut", "Permute")
"""What may come before a product in its part, and cuts before a filter. Frames, and permutations of
images, are copied ahead: that takes little, and what reads a view of them has a larger space to
search. Whether a permutation stays in the part of a product, `morello.networks.cutting` says."""

HEAVY = ("Product", "Filter", "Window")
SUMS = {"Reduce": 1, "SoftmaxAlong": 2, "LogSoftmaxAlong": 2, **dict.fromkeys(HEAVY, 1)}
"""How many sums a node has; others have none."""


class Part(Struct, frozen=True):
    """Nodes that one kernel computes, in their order. ``output`` is all that others read."""

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    output: str

    @property
    def results(self) -> tuple[str, ...]:
        """The output alone, as of nodes all outputs."""
        return (self.output,)


Step = Part | Node
"""A kernel, or what is done between kernels."""


def partition(network: Network) -> list[Step]:
    """All nodes as parts, and as what is done between them, in an order in which they can run."""
    growing = _Growing(network)
    found: list[Step] = []
    for place, node in enumerate(growing.nodes):
        if node.output in growing.taken:
            continue
        if node.operator in BETWEEN:
            found.append(node)
            continue
        whole = growing.with_one_output(growing.from_node(place))
        growing.taken.update(own.output for own in whole)
        found.append(part_of(whole, growing.same, network))
    return _in_order(found, growing.same)


class _Growing:
    """Takes nodes into parts. ``taken``: what earlier parts compute."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.same = views_of_same(network)
        self.nodes = [node for node in network.nodes if node.output not in self.same]
        self.taken: set[str] = set()
        self._by_output = {name: node for node in self.nodes for name in node.results}
        self._wanted = {self.same.get(name, name) for name in network.outputs}
        self._readers: dict[str, set[str]] = {}
        for node in self.nodes:
            for name in self._sources(node):
                self._readers.setdefault(name, set()).add(node.output)

    def _sources(self, node: Node) -> set[str]:
        """What a node reads, without views."""
        return {self.same.get(name, name) for name in node.inputs if name}

    def from_node(self, place: int) -> list[Node]:
        """A node, and all that can be computed with it; more than one output may come out."""
        first = self.nodes[place]
        grown, inside, outside = [first], {first.output}, set[str]()
        for node in self.nodes[place + 1 :]:
            sources = self._sources(node)
            if node.output in self.taken | inside or not sources & (inside | outside):
                continue
            before = self._serving(node, inside)
            if sources & inside and not sources & outside and self._joins(grown, [*before, node]):
                grown += [*before, node]
                inside.update(own.output for own in (*before, node))
            else:
                outside.update(node.results)  # and what reads them cannot be inside
        return grown

    def _serving(self, node: Node, inside: set[str]) -> list[Node]:
        """What is computed for this node alone, of other tensors, without a sum."""
        found: list[Node] = []
        for name in sorted(self._sources(node) - inside - self.taken):
            own = self._by_output.get(name)
            alone = self._readers.get(name) == {node.output} and name not in self._wanted
            if own is None or not alone or own.operator not in ("Elementwise", *BEFORE):
                continue
            if not self._sources(own) & inside:
                found += [*self._serving(own, inside), own]
        return found

    def _joins(self, grown: Sequence[Node], added: Sequence[Node]) -> bool:
        """Whether nodes, of which the last reads what is computed so far, are computed with it."""
        node, sums = added[-1], sum(SUMS.get(own.operator, 0) for own in (*grown, *added))
        if sums > MOST_SUMS or node.operator in BETWEEN:
            return False
        if node.operator == "Elementwise":
            return True
        if node.operator == "Permute":
            summing = [own.operator for own in grown if own.operator in SUMS]
            return not summing or ("Product" in summing and not _has_windows(grown))
        if node.operator in LIGHT:
            others = {self._reduced(own) for own in grown if own.operator in LIGHT} - {None}
            return not _has_windows(grown) and others <= {self._reduced(node)}
        if all(own.operator in BEFORE for own in grown):
            return node.operator == "Product" or _is_cut(grown)
        return node.operator == "Product" and self._is_attention(grown, node)

    def _reduced(self, node: Node) -> tuple[object, ...] | None:
        """What a node reduces: the sizes of its input, and along which of them; none if nothing."""
        if node.operator not in SUMS:
            return None
        shape = self.network.shape(node.inputs[0])
        axes = node.attributes.get("axes", (node.attributes.get("axis"),))
        return without_ones(shape), tuple(len(without_ones(shape[:axis])) for axis in axes)

    def _is_attention(self, grown: Sequence[Node], node: Node) -> bool:
        """Whether a product sums along the dimension that a softmax of the part went along."""
        swapped: tuple[bool, bool] = node.attributes["transposed"]
        # The last dimension is summed: of the first operand as it is, of the second one swapped.
        operands = [self.same.get(name, name) for name in node.inputs]
        summed = {operands[0]: not swapped[0], operands[1]: swapped[1]}
        for own in grown:
            if own.operator == "SoftmaxAlong" and own.output in summed:
                last = len(self.network.shape(own.output)) - 1
                return summed[own.output] and bool(own.attributes["axis"] == last)
        return False

    def with_one_output(self, grown: Sequence[Node]) -> list[Node]:
        """As many of these as have one result that others read; the first alone has one."""
        for count in range(len(grown), 1, -1):
            own = {node.output for node in grown[:count]}
            read = [n for n in own if n in self._wanted or self._readers.get(n, set()) - own]
            if read == [grown[count - 1].output]:
                return list(grown[:count])
        return [grown[0]]


def _is_cut(grown: Sequence[Node]) -> bool:
    """Whether nodes only cut."""
    return all(own.operator == "Cut" for own in grown)


def _has_windows(grown: Sequence[Node]) -> bool:
    """Whether what is reduced would be the result of filters or windows: images are kept."""
    return any(own.operator in ("Filter", "Window") for own in grown)


def part_of(nodes: Sequence[Node], same: Mapping[str, str], network: Network) -> Part:
    """A part of these nodes; the last one has its output. ``same``: what views are of."""
    own = {node.output for node in nodes}
    read = dict.fromkeys(
        name
        for node in nodes
        for name in node.inputs
        if name and same.get(name, name) not in own and not _is_number(network, name)
    )
    return Part(tuple(nodes), tuple(read), nodes[-1].output)


def _is_number(network: Network, name: str) -> bool:
    """Whether it is a constant that is written as a number."""
    data = network.data(name)
    return data is not None and data.size == 1


def _in_order(steps: Sequence[Step], same: dict[str, str]) -> list[Step]:
    """Each step after those whose results it reads, and otherwise as they are."""
    made_by = {name: step for step in steps for name in step.results}
    done: set[str] = set()
    ordered: list[Step] = []
    pending = [*steps][::-1]
    while pending:
        step = pending[-1]
        if step.output in done:
            pending.pop()
            continue
        sources = (same.get(name, name) for name in step.inputs)
        missing = [made_by[n] for n in sources if n in made_by and n not in done]
        if missing:
            pending.extend(missing)
        else:
            done.update(step.results)
            ordered.append(pending.pop())
    return ordered
