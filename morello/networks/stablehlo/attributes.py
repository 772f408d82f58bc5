"""Attributes of StableHLO's operations as plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jaxlib.mlir import ir

_ENUM = re.compile(r"#\w+<\w+ (\w+)>")
"""What an enumeration's text has: ``#stablehlo<comparison_direction LT>``."""


def attributes_of(op: ir.Operation) -> Mapping[str, Any]:
    """Numbers, texts, tuples and arrays; of what has parts, each by its own name.

    ``body``: the one operation that a region applies to its arguments in their order.
    """
    found: dict[str, Any] = {}
    for entry in op.attributes:
        name = getattr(entry, "name", entry)
        found |= _plain(name, op.attributes[name])
    bodies = [_applied(region) for region in op.regions]
    return found | ({"body": bodies[0]} if bodies else {})


def _plain(name: str, attribute: ir.Attribute) -> Mapping[str, Any]:
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir.dialects import stablehlo  # noqa: PLC0415

    for kind in (
        stablehlo.DotDimensionNumbers,
        stablehlo.ConvDimensionNumbers,
        stablehlo.GatherDimensionNumbers,
    ):
        if kind.isinstance(attribute):
            return _parts(kind(attribute))
    if isinstance(attribute, ir.DenseElementsAttr):
        return {name: np.array(attribute)}
    for array in (ir.DenseI64ArrayAttr, ir.DenseBoolArrayAttr):
        if isinstance(attribute, array):
            return {name: tuple(attribute)}
    if enumeration := _ENUM.fullmatch(str(attribute)):
        return {name: enumeration[1]}
    return {name: getattr(attribute, "value", None)}


def _parts(numbers: Any) -> Mapping[str, Any]:
    """The fields of an attribute that says which dimension is what."""
    found: dict[str, Any] = {}
    for name in dir(type(numbers)):
        if "dim" in name or name == "start_index_map":
            value = getattr(numbers, name)
            found[name] = value if isinstance(value, int) else tuple(value)
    return found


def _applied(region: ir.Region) -> str:
    """The one operation of a region; empty, if it is more."""
    [block] = region.blocks
    operations = [op.operation for op in block.operations]
    if len(operations) != 2:
        return ""
    first, last = operations
    plain = [*first.operands] == [*block.arguments] and [*last.operands] == [*first.results]
    return first.name if plain else ""
