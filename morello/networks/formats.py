"""The kinds of model files, and what reads each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from morello.errors import UsageError
from morello.networks.network import Network
from morello.networks.onnx.file import read_onnx
from morello.networks.onnx.operators import OPERATORS as ONNX
from morello.networks.stablehlo.file import read_stablehlo
from morello.networks.stablehlo.operators import OPERATORS as STABLEHLO
from morello.networks.translate import translate

STABLEHLO_SUFFIXES = (".mlir", ".mlirbc", ".stablehlo")


def is_stablehlo(path: str | Path) -> bool:
    """Whether a model file is StableHLO, by its suffix; else it is ONNX."""
    return Path(path).suffix in STABLEHLO_SUFFIXES


def read_network(
    path: str | Path,
    *,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    name: str | None = None,
    callbacks: bool = False,
) -> Network:
    """Read a model file: a network of nodes of `morello.networks.kinds`.

    Args:
        path: The file; its suffix says of which kind it is: StableHLO, or else ONNX.
        sizes: Values of the dimensions that the file only names.
        shapes: Whole shapes of inputs, by name.
        name: Of the network; by default the file's.
        callbacks: Whether what cannot be said is left to functions of the user.

    Raises:
        MorelloError: The file cannot be read, or has nodes that cannot be said.
        UsageError: A size is not known, or there is nothing of that name.
    """
    if is_stablehlo(path):
        if sizes or shapes:
            raise UsageError(
                "the sizes of StableHLO are fixed",
                help="lower the function for arguments of other shapes",
            )
        network, operators = read_stablehlo(path, name=name), STABLEHLO
    else:
        network, operators = read_onnx(path, sizes=sizes, shapes=shapes, name=name), ONNX
    translate(network, operators, callbacks=callbacks)
    return network
