"""Whole numbers of 64 bits in 32: indices and masks, of which specs have no more.

What is given and wanted stays as it is, and so does what functions of the user read and compute.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.ir.numeric import Array
from morello.networks.network import Network, Node
from morello.records import replace

LONG, NARROW = "int64", "int32"


def narrow_longs(network: Network, cast: str, read_as_they_lie: Mapping[str, int]) -> None:
    """Compute in 32 bits what a network has in 64.

    Args:
        network: The network.
        cast: The operator that converts elements.
        read_as_they_lie: Operators that read an input of the network as it is: which of theirs.
    """
    values = network.values
    longs = {name for name, value in values.items() if value.dtype == LONG}
    computed = {name for node in network.nodes for name in node.results} & longs
    read = network.read_elsewhere(read_as_they_lie)
    arguments = ({*network.inputs} & read & longs) | ({*network.outputs} & computed)
    inside = {name: network.new(name, network.shape(name), NARROW) for name in sorted(arguments)}
    for name in longs - {*network.inputs, *network.outputs}:
        data = values[name].data
        if name in computed or (data is not None and _fits(data)):
            narrow = None if data is None else data.astype(NARROW)
            values[name] = replace(values[name], dtype=NARROW, data=narrow)
            network.narrowed.add(name)
    network.convert_arguments(inside, cast)
    network.narrowed.update(inside.values())


def _fits(data: Array) -> bool:
    limits = np.iinfo(NARROW)
    return not data.size or bool(limits.min <= data.min() and data.max() <= limits.max)


def widened(network: Network, node: Node, cast: str) -> list[Node]:
    """A node that has 64 bits where the file has them, between those that convert."""
    names = dict.fromkeys(n for n in (*node.inputs, *node.results) if n in network.narrowed)
    wide = {}
    for name in names:
        data = network.data(name)
        wide[name] = (
            network.new(name, network.shape(name), LONG)
            if data is None
            else network.constant(name, data.astype(LONG))
        )
    computed = [name for name in names if network.data(name) is None]
    return [
        *(Node(cast, node.name, (n,), (wide[n],)) for n in computed if n in node.inputs),
        replace(
            node,
            inputs=tuple(wide.get(name, name) for name in node.inputs),
            outputs=tuple(wide.get(name, name) for name in node.outputs),
        ),
        *(Node(cast, node.name, (wide[n],), (n,)) for n in computed if n in node.results),
    ]
