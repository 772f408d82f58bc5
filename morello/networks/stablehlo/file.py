"""StableHLO files, by the package ``jaxlib`` of the extra ``jax``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from morello.codegen.c.names import identifier, unique
from morello.errors import MorelloError
from morello.networks.network import Network, Node, Value
from morello.networks.stablehlo.attributes import attributes_of
from morello.networks.stablehlo.functions import evaluated, inline, main_of

if TYPE_CHECKING:
    from jaxlib.mlir import ir

EXTRA = "install it with: pip install 'morello[jax]'"

PORTABLE = b"ML\xefR"
"""What a portable artifact begins with, as `jax.export` serializes modules."""

PASSES = "builtin.module(canonicalize,cse)"
_NAMED = re.compile(r'loc\("([^"]*)"(?!:\d)')

TYPES: Mapping[str, str] = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "i8": "int8",
    "ui8": "uint8",
    "i1": "bool",
}
"""What numpy calls an element type."""


def read_stablehlo(path: str | Path, *, name: str | None) -> Network:
    """Read a module whose function ``main`` is the network, without what its constants decide.

    Args:
        path: The file: text, or a portable artifact.
        name: Of the network; by default the file's.

    Raises:
        MorelloError: The file cannot be read or is no module, the package is not installed, or a
            size is not known.
    """
    try:
        from jaxlib.mlir import ir, passmanager  # noqa: PLC0415
    except ImportError:
        raise MorelloError("reading StableHLO needs the package 'jaxlib'", help=EXTRA) from None
    path = Path(path)
    try:
        contents = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MorelloError(f"cannot read '{path}': {reason}") from error
    with context() as dialects:
        try:
            module = _module(dialects, contents)
            inline(module)
            passmanager.PassManager.parse(PASSES).run(module.operation)
        except (ir.MLIRError, ValueError) as error:
            diagnostics = getattr(error, "error_diagnostics", ())
            text = diagnostics[0].message if diagnostics else str(error)
            raise MorelloError(f"'{path}' is no StableHLO module: {text}") from error
        return _network(main_of(module), name or identifier(path.name.split(".")[0]))


def context() -> ir.Context:
    """A context with the dialects that JAX writes."""
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # noqa: PLC0415
    from jaxlib.mlir.dialects import chlo, stablehlo  # noqa: PLC0415

    context, registry = ir.Context(), ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    context.allow_unregistered_dialects = True
    context.attach_diagnostic_handler(lambda _: True)  # errors say it
    return context


def _module(context: ir.Context, contents: bytes) -> ir.Module:
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir.dialects import stablehlo  # noqa: PLC0415

    if contents.startswith(PORTABLE):
        return stablehlo.deserialize_portable_artifact(context, contents)
    return ir.Module.parse(contents)


def _network(main: ir.Operation, name: str) -> Network:
    """A function as a network."""
    [block] = main.regions[0].blocks
    constants = evaluated(block)
    network = Network(name, {}, [], [], [])
    names: dict[ir.Value, str] = {}

    def named(value: ir.Value, wanted: str) -> str:
        own = names[value] = unique(wanted, network.values.keys())
        network.values[own] = Value(own, *_type(value, own), constants.get(value))
        return own

    for number, argument in enumerate(block.arguments):
        network.inputs.append(named(argument, _label(argument.location) or f"arg{number}"))
    *operations, last = block.operations
    for number, op in enumerate(operations):
        operator = op.operation.name.removeprefix("stablehlo.")
        label = _label(op.location) or f"{operator}_{number}"
        outputs = tuple(named(result, f"v{number}") for result in op.results)
        if any(value in constants for value in op.results):
            continue
        inputs = tuple(names[value] for value in op.operands)
        attributes = attributes_of(op.operation)
        network.nodes.append(Node(operator, label, inputs, outputs, attributes))
    wanted = _results(main, len(last.operands))
    for value, label in zip(last.operands, wanted, strict=True):
        # A result may be an argument, a constant, or another result: each has a name of its own.
        own = unique(label, network.values.keys())
        network.values[own] = Value(own, *_type(value, own))
        network.nodes.append(Node("reshape", own, (names[value],), (own,)))
        network.outputs.append(own)
    network.drop_unused()
    return network


def _type(value: ir.Value, name: str) -> tuple[str, tuple[int, ...]]:
    """The element type and the shape of a value.

    Raises:
        MorelloError: A size is not known, or is 0.
    """
    from jaxlib.mlir import ir  # noqa: PLC0415

    shaped = ir.ShapedType(value.type)
    if not shaped.has_static_shape or 0 in shaped.shape:
        raise MorelloError(
            f"the shape of '{name}', {value.type}, is not known, or is empty",
            help="lower the function for arguments of fixed shapes",
        )
    element = str(shaped.element_type)
    return TYPES.get(element, element), tuple(shaped.shape)


def _label(location: ir.Location) -> str:
    """What a location names; empty, if that is a place in a file."""
    found = _NAMED.match(str(location))
    return _words(found[1]) if found else ""


def _words(text: str) -> str:
    """What JAX calls an argument or a result as a name: ``weights['a']`` is ``weights_a``."""
    return identifier("_".join(re.findall(r"\w+", text)))


def _results(main: ir.Operation, count: int) -> Sequence[str]:
    """Names of the results: where JAX says in which structure they are, by that."""
    attributes = main.attributes["res_attrs"] if "res_attrs" in main.attributes else [{}] * count
    found = []
    for number, own in enumerate(attributes):
        told = own["jax.result_info"].value if "jax.result_info" in own else ""
        found.append(_words(told) if told not in ("", "result") else f"result{number}")
    return ["result"] if count == 1 and found == ["result0"] else found
