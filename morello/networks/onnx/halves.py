"""Networks of f16 in f32: what is computed is f32, what is given, wanted and weights stay f16.

Targets convert f16 and do not compute in it. A result is rounded once, where it leaves the network,
and not after each node, as the file says: it is nearer to that of the same network in f32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from morello.networks.network import Network, Node
from morello.records import replace

HALF, WIDE = "float16", "float32"

WEIGHTS = {"Gemm": 1, "MatMul": 1}
"""Operators that read a constant of f16 where it lies: which input that is."""


def widen_halves(network: Network) -> None:
    """Compute in f32 what a network has in f16."""
    values = network.values
    halves = {name for name, value in values.items() if value.dtype == HALF}
    if not halves:
        return
    computed = {name for node in network.nodes for name in node.results}
    given = [name for name in network.inputs if name in halves]
    wanted = [name for name in network.outputs if name in halves & computed]
    wide = {n: network.new(n, network.shape(n), WIDE) for n in dict.fromkeys((*given, *wanted))}
    for name in halves & {*network.outputs} - wide.keys():  # constants: who reads them has others
        if (data := values[name].data) is not None:
            wide[name] = network.constant(name, data.astype(np.float32))
    nodes = [
        replace(
            node,
            inputs=tuple(wide.get(name, name) for name in node.inputs),
            outputs=tuple(wide.get(name, name) for name in node.outputs),
        )
        for node in network.nodes
    ]
    weights = _weights(nodes)
    for name in halves - wide.keys():
        data = values[name].data
        if data is None:
            values[name] = replace(values[name], dtype=WIDE)
        elif name not in weights:
            values[name] = replace(values[name], dtype=WIDE, data=data.astype(np.float32))
    network.nodes = [
        *(Node("Cast", "", (name,), (wide[name],), origin="Cast") for name in given),
        *nodes,
        *(Node("Cast", "", (wide[name],), (name,), origin="Cast") for name in wanted),
    ]


def _weights(nodes: Sequence[Node]) -> set[str]:
    """What nodes read as a weight only."""
    read = [(node, place, name) for node in nodes for place, name in enumerate(node.inputs)]
    others = {name for node, place, name in read if WEIGHTS.get(node.operator) != place}
    return {name for _, _, name in read} - others
