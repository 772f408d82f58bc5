"""What files say by several nodes where networks have one."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from morello.networks.network import Network, Node, without_ones
from morello.networks.views import views_of_same
from morello.records import replace


def recognize_softmax(network: Network) -> None:
    """Say by one node each softmax, and each logarithm of one, that is written as arithmetic."""
    found = _Softmaxes(
        network, views_of_same(network), {node.output: node for node in network.nodes}
    )
    network.nodes = [found.said(node) for node in network.nodes]
    network.drop_unused()


class _Softmaxes(Struct, frozen=True):
    """``same``: what values are views of; ``made_by``: the nodes that compute them."""

    network: Network
    same: Mapping[str, str]
    made_by: Mapping[str, Node]

    def said(self, node: Node) -> Node:
        """A softmax, where a node is the last of one; else the node."""
        if quotient := self._computed(node.output, "{0} / {1}"):
            powers, total = quotient
            return self._along("SoftmaxAlong", node, powers, total)
        if difference := self._computed(node.output, "{0} - {1}"):
            less, logarithm = difference
            [total] = self._computed(logarithm, "log({0})") or [""]
            powers = self._reduced(total, "+=")
            if powers and [self._base(less)] == self._computed(powers, "exp({0})"):
                return self._along("LogSoftmaxAlong", node, powers, total)
        return node

    def _along(self, kind: str, node: Node, powers: str, total: str) -> Node:
        """A softmax of these powers and their sum, if they are those of one; else the node."""
        [less] = self._computed(powers, "exp({0})") or [""]
        source, largest = self._computed(less, "{0} - {1}") or ("", "")
        wanted = (self._base(powers), self._base(source))
        if not source or (self._reduced(total, "+="), self._reduced(largest, "max=")) != wanted:
            return node
        axes = self._axes(total)
        if len(axes) != 1 or axes != self._axes(largest):
            return node
        shape = self.network.shape(node.output)
        axis = [axis for axis, size in enumerate(shape) if size != 1][axes[0]]
        if self.network.shape(source) != shape:
            return node
        return replace(node, operator=kind, inputs=(source,), attributes={"axis": axis})

    def _base(self, name: str) -> str:
        return self.same.get(name, name)

    def _computed(self, name: str, value: str) -> list[str] | None:
        """What a value is computed of, if by this template; none if not."""
        node = self.made_by.get(self._base(name))
        if node is None or node.attributes.get("value") != value:
            return None
        return [self._base(own) for own in node.inputs]

    def _reduced(self, name: str, update: str) -> str:
        """What a value reduces, if by this update; else nothing."""
        node = self.made_by.get(self._base(name))
        if node is None or node.attributes.get("update") != update or node.operator != "Reduce":
            return ""
        return self._base(node.inputs[0])

    def _axes(self, name: str) -> tuple[int, ...]:
        """Which dimensions a reduction reduces, of those whose size is not 1."""
        node = self.made_by[self._base(name)]
        shape = self.network.shape(node.inputs[0])
        axes = (axis for axis in node.attributes["axes"] if shape[axis] != 1)
        return tuple(len(without_ones(shape[:axis])) for axis in axes)
