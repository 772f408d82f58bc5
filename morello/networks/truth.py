"""Truth in networks: a number, 0 or 1, of f32 where it is computed, and a byte in arguments."""

from __future__ import annotations

import numpy as np

from morello.networks.network import Network, Value
from morello.records import replace

TRUTH, BYTE = "bool", "uint8"


def truth_as_numbers(network: Network, cast: str) -> None:
    """Have constants of truth be of f32, as what is computed is, and arguments be bytes.

    Args:
        network: The network.
        cast: The operator of its file that converts elements.
    """
    values = network.values
    for name, value in values.items():
        if value.data is not None and value.dtype == TRUTH:
            values[name] = Value(name, "float32", value.shape, value.data.astype(np.float32))
    arguments = dict.fromkeys((*network.inputs, *network.outputs))
    inside = {n: network.new(n, network.shape(n)) for n in arguments if values[n].dtype == TRUTH}
    for name in inside:
        values[name] = replace(values[name], dtype=BYTE)
    network.convert_arguments(inside, cast)
