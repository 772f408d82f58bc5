"""Whole numbers of 64 bits in 32: indices and masks, of which specs have no more.

What is given and wanted stays as it is, and so does what functions of the user read and compute.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from morello.networks.network import Network, Node
from morello.records import replace

LONG, NARROW = "int64", "int32"


def narrow_longs(
    network: Network, cast: str, known: Collection[str], read_as_they_lie: Mapping[str, int]
) -> None:
    """Compute in 32 bits what a network has in 64.

    Args:
        network: The network.
        cast: The operator that converts elements.
        known: The operators that are translated; all others are left to functions of the user.
        read_as_they_lie: Operators that read an input of the network as it is: which of theirs.
    """
    values = network.values
    longs = {name for name, value in values.items() if value.dtype == LONG}
    if not longs:
        return
    others = {name for n in network.nodes if n.operator not in known for name in n.inputs}
    for name in longs - others - {*network.outputs}:
        data = values[name].data
        if data is not None and _fits(data):
            values[name] = replace(values[name], dtype=NARROW, data=data.astype(NARROW))
    computed = {name for node in network.nodes for name in node.results} & longs
    given = {*network.inputs} & longs & _converted(network, known, read_as_they_lie)
    wanted = {*network.outputs} & computed
    inside = {
        name: network.new(name, network.shape(name), NARROW)
        for name in (*network.inputs, *network.outputs)
        if name in given | wanted
    }
    for name in computed - wanted:
        values[name] = replace(values[name], dtype=NARROW)
    network.convert_arguments(inside, cast)
    narrowed = {*inside.values()} | (computed - wanted)
    network.nodes = [
        each
        for node in network.nodes
        for each in ([node] if node.operator in known else _wide(network, node, cast, narrowed))
    ]


def _fits(data: np.ndarray) -> bool:
    limits = np.iinfo(NARROW)
    return not data.size or bool(limits.min <= data.min() and data.max() <= limits.max)


def _converted(network: Network, known: Collection[str], places: Mapping[str, int]) -> set[str]:
    """What nodes that are translated read otherwise than as it lies."""
    return {
        name
        for node in network.nodes
        for place, name in enumerate(node.inputs)
        if node.operator in known and places.get(node.operator) != place
    }


def _wide(network: Network, node: Node, cast: str, narrowed: Collection[str]) -> list[Node]:
    """A node with 64 bits where the file has them, between nodes that convert."""
    names = dict.fromkeys(n for n in (*node.inputs, *node.results) if n in narrowed)
    wide = {name: network.new(name, network.shape(name), LONG) for name in names}
    return [
        *(Node(cast, node.name, (n,), (wide[n],)) for n in names if n in node.inputs),
        replace(
            node,
            inputs=tuple(wide.get(name, name) for name in node.inputs),
            outputs=tuple(wide.get(name, name) for name in node.outputs),
        ),
        *(Node(cast, node.name, (wide[n],), (n,)) for n in names if n in node.results),
    ]
