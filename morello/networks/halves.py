"""Networks of f16 or bf16 in f32: what is given, wanted, and weights stay narrow.

What is of f64 on the way is of f32, too: files have it where numbers of Python are in between.

Targets convert these types and do not compute in them. A result is rounded once, where it leaves
the network, and not after each node, as the file says: it is nearer to that of the same network in
f32.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.networks.network import Network
from morello.records import replace

HALVES, DOUBLE, WIDE = ("float16", "bfloat16"), "float64", "float32"


def widen_halves(network: Network, cast: str, read_as_they_lie: Mapping[str, int]) -> None:
    """Compute in f32 what a network has in f16 or bf16, or in f64 without being given it.

    Args:
        network: The network.
        cast: The operator that converts elements.
        read_as_they_lie: Operators that read a constant of these types as it is: which input that
            is.
    """
    values = network.values
    doubles = {n for n, v in values.items() if v.dtype == DOUBLE} - {*network.inputs}
    halves = {name for name, value in values.items() if value.dtype in HALVES} | doubles
    if not halves:
        return
    computed = {name for node in network.nodes for name in node.results}
    given = [name for name in network.inputs if name in halves]
    wanted = [name for name in network.outputs if name in halves & computed]
    wide = {n: network.new(n, network.shape(n), WIDE) for n in dict.fromkeys((*given, *wanted))}
    for name in halves & {*network.outputs} - wide.keys():  # constants: who reads them has others
        if (data := values[name].data) is not None:
            wide[name] = network.constant(name, data.astype(np.float32))
    network.convert_arguments(wide, cast)
    converted = network.read_elsewhere(read_as_they_lie)
    for name in halves - wide.keys():
        data = values[name].data
        if data is None:
            values[name] = replace(values[name], dtype=WIDE)
        elif name in converted | doubles:
            values[name] = replace(values[name], dtype=WIDE, data=data.astype(np.float32))
