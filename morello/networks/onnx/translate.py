"""From the operators of ONNX to the few kinds of nodes that networks are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from morello.errors import MorelloError
from morello.networks.kinds import Rewrite, UnsupportedNodeError, translated
from morello.networks.network import Network, Node
from morello.networks.onnx import elementwise, images, moves, products, reductions, sequences
from morello.networks.onnx.halves import widen_halves
from morello.networks.views import sink_views, swap_into_products

REWRITES: Mapping[str, Rewrite] = {
    **elementwise.REWRITES,
    **images.REWRITES,
    **moves.REWRITES,
    **products.REWRITES,
    **reductions.REWRITES,
    **sequences.REWRITES,
}
"""What is known of ONNX, by operator."""


def translate(network: Network, *, callbacks: bool = False) -> None:
    """Say all nodes by those of `morello.networks.kinds`.

    Args:
        network: Its nodes are those of ONNX.
        callbacks: Whether what cannot be said is left to functions of the user.

    Raises:
        MorelloError: Nodes cannot be said: each is named, with the reason.
    """
    widen_halves(network)
    nodes: list[Node] = []
    errors: list[UnsupportedNodeError] = []
    for node in network.nodes:
        try:
            rewrite = REWRITES.get(node.operator)
            if rewrite is None:
                raise UnsupportedNodeError(node, "there is no translation of this operator")
            nodes += translated(network, node, rewrite)
        except UnsupportedNodeError as error:
            errors.append(error)
            nodes.append(Node("Call", node.name, node.inputs, node.outputs, origin=node.operator))
    if errors and not callbacks:
        raise _together(errors)
    network.nodes = nodes
    network.drop_unused()
    sink_views(network)
    network.drop_unused()
    swap_into_products(network)


def _together(errors: Sequence[UnsupportedNodeError]) -> MorelloError:
    """One error that names all nodes."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"cannot import {len(errors)} nodes:", *(error.reason for error in errors)]
    return MorelloError("\n  ".join(lines))
