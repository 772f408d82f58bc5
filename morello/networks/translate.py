"""From the operators of a model file to the few kinds of nodes that networks are made of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from morello.errors import MorelloError
from morello.networks.byte_products import read_stored_bytes
from morello.networks.halves import widen_halves
from morello.networks.idioms import recognize_softmax
from morello.networks.kinds import Rewrite, UnsupportedNodeError, translated
from morello.networks.longs import narrow_longs, widened
from morello.networks.network import UNKNOWN_SHAPE, Network, Node
from morello.networks.permutes import raise_permutes, sink_permutes
from morello.networks.truth import truth_as_numbers
from morello.networks.views import cut_for_each, sink_views, swap_into_products


class Operators(Struct, frozen=True):
    """The operators of a kind of model files.

    Attributes:
        rewrites: Says each by nodes of `morello.networks.kinds`.
        cast: The one that converts elements.
        weights: Those that read a constant of a narrow type where it lies: which input that is.
        indices: Those that read indices of 64 bits where they lie: which input that is.
    """

    rewrites: Mapping[str, Rewrite]
    cast: str
    weights: Mapping[str, int]
    indices: Mapping[str, int]


def translate(network: Network, operators: Operators, *, callbacks: bool = False) -> None:
    """Say all nodes by those of `morello.networks.kinds`.

    Args:
        network: Its nodes are those of a model file.
        operators: What is known of them.
        callbacks: Whether what cannot be said is left to functions of the user.

    Raises:
        MorelloError: Nodes cannot be said: each is named, with the reason.
    """
    widen_halves(network, operators.cast, operators.weights)
    truth_as_numbers(network, operators.cast)
    narrow_longs(network, operators.cast, operators.indices)
    nodes: list[Node] = []
    results = (name for node in network.nodes for name in node.results)
    unknown = {name for name in results if network.shape(name) == UNKNOWN_SHAPE}
    errors = list[UnsupportedNodeError]()
    for node in network.nodes:
        if unknown.intersection(node.results):
            errors += _shapeless(node, unknown, operators, callbacks=callbacks)
            continue
        try:
            rewrite = operators.rewrites.get(node.operator)
            if rewrite is None:
                raise UnsupportedNodeError(node, "there is no translation of this operator")
            nodes += translated(network, node, rewrite)
        except UnsupportedNodeError as error:
            errors.append(error)
            call = Node("Call", node.name, node.inputs, node.outputs, origin=node.operator)
            for each in widened(network, call, operators.cast):
                converts = each.operator == operators.cast
                rewrite = operators.rewrites[operators.cast]
                nodes += translated(network, each, rewrite) if converts else [each]
    if errors and (unknown or not callbacks):
        raise _together(errors)
    network.nodes = nodes
    network.drop_unused()
    read_stored_bytes(network)
    recognize_softmax(network)
    sink_permutes(network)
    raise_permutes(network)
    sink_views(network)
    network.drop_unused()
    swap_into_products(network)
    cut_for_each(network)


def _shapeless(
    node: Node, unknown: Collection[str], operators: Operators, *, callbacks: bool
) -> Iterator[UnsupportedNodeError]:
    """What is wrong with a node that computes what has no known shape.

    Nothing is, where that follows from what it reads.
    """
    if node.operator not in operators.rewrites and not callbacks:
        yield UnsupportedNodeError(node, "there is no translation of this operator")
    elif not {*unknown}.intersection(node.inputs):
        result = next(name for name in node.results if name in unknown)
        help = "only networks of fixed shapes can be compiled"
        yield UnsupportedNodeError(
            node, f"the shape of its result '{result}' is not known", help=help
        )


def _together(errors: Sequence[UnsupportedNodeError]) -> MorelloError:
    """One error that names all nodes."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"cannot import {len(errors)} nodes:", *(error.reason for error in errors)]
    return MorelloError("\n  ".join(lines))
