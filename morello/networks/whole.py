"""A network that was imported, compared as a whole with what another runtime makes of its file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.networks.build import Library
from morello.networks.formats import is_stablehlo
from morello.networks.loading import load_network, random_inputs
from morello.networks.network import Network
from morello.networks.onnx.running import run_onnx
from morello.toolchain.machine import Machine

MOST_ERROR = 1e-3
"""How far an output may be off, relative to its largest number: both runtimes round, each in its
order, and errors grow from layer to layer."""

MOST_ERROR_OF_SHORT = 5e-2
"""The same where numbers of 8 or 16 bits are computed on the way: one that is rounded to the next
is 2^-8 of the largest away."""

SHORT = ("int8", "uint8", "float16", "bfloat16")


class Whole(Struct, frozen=True):
    """What was found of a whole network.

    Attributes:
        runtime: What else has run it; empty if nothing has.
        error: The largest difference of an output, relative to its largest number.
        reason: Why it was not run, if it was not.
    """

    runtime: str = ""
    error: float = 0.0
    reason: str = ""


def compared_whole(
    library: Library, network: Network, model: str | Path, machine: Machine | None
) -> Whole:
    """Run a network and its file on the same random inputs, or say why that cannot be.

    Inputs are normally distributed; integers of 8 bits are any, others 0 or 1, which are indices of
    most tables.

    Args:
        library: What became of the network.
        network: With the names that the file has for inputs and outputs.
        model: The file.
        machine: Where the network is built and run.

    Raises:
        MorelloError: An output differs, or the network gives an error.
    """
    if machine is not None and not machine.is_here:
        return Whole(reason=f"under {machine}, only kernels are")
    if is_stablehlo(model):
        return Whole(reason="only ONNX files have another runtime here")
    if any(node.operator == "Call" for node in network.nodes):
        return Whole(reason="some nodes are left to functions of yours")
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        directory = Path(name)
        for path, content in library.contents.items():
            place = directory / path
            place.parent.mkdir(exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)
        loaded = load_network(directory, machine=machine)
    inputs = random_inputs(loaded.inputs, largest=1)
    try:
        runtime, expected = run_onnx(model, dict(zip(network.inputs, inputs, strict=True)))
    except MorelloError as error:
        return Whole(reason=str(error))
    given = loaded(*inputs)
    results = given if isinstance(given, tuple) else (given,)
    short = any(value.dtype in SHORT for value in network.values.values())
    allowed, largest = MOST_ERROR_OF_SHORT if short else MOST_ERROR, 0.0
    for argument, result, wanted in zip(loaded.outputs, results, expected, strict=True):
        off = largest_error(result, np.asarray(wanted))
        largest = max(largest, off)
        if off > allowed:
            raise MorelloError(
                f"output '{argument.name}' differs from that of {runtime} by {off:.2g} of its "
                "largest number, on random inputs",
                help="each kernel equals its reference; if no input is beyond its range, report it",
            )
    return Whole(runtime, largest)


def largest_error(result: Array, wanted: Array) -> float:
    """The largest difference of two arrays, relative to the largest number that is wanted.

    It is infinite where shapes, or what is NaN or infinite, differ. Integers may be one off: they
    may have been rounded from numbers that are nearly halves.
    """
    if result.shape != wanted.shape:
        return np.inf
    one = 1.0 if wanted.dtype.kind in "iu" else 0.0
    x, y = result.astype(np.float64), wanted.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", over="ignore"):
        differences = np.where(same, 0.0, np.maximum(np.abs(x - y) - one, 0.0))
    if not np.isfinite(differences).all():
        return np.inf
    finite = np.abs(y[np.isfinite(y)])
    return float(differences.max(initial=0.0) / max(finite.max(initial=0.0), 1e-30))
