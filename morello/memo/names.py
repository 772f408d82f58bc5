"""Variants as text, and back: what a page is kept under, and what people read.

The text tells a variant from all others under one fingerprint. It names operator, levels and
element types, and has no sizes. The rank of the operator's group is not in it: the layouts say it.
Nor is the packing of operands in vector registers, which are always whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import composition_of
from morello.ir.layout import PANELS, contiguity, cuts, pack, packed, paged, panel, panel_of
from morello.ir.operators import Operation, Operator
from morello.ir.spec import Family, Operand, Variant
from morello.ir.target import Level
from morello.memo.graphs import LONGEST, SCALARS, graph_operation, operator_named, scalars_of
from morello.rewriting.context import Context

ACCUMULATING = "accumulating "

_OPERAND = re.compile(
    r"(?<!\w)(?P<name>\w+): (?P<dtype>\w+)(?: of (?P<stated>\w+))?"
    r" (?P<level>\w+)(?P<weight> weight)?(?P<aliased> aliased)?"
    r" \[(?P<order>[0-9, ]{0,99})\]"
    r"(?: panels (?:(?P<height>[0-9]{1,4})x)?(?P<width>[0-9]{1,4}))?"
    r" (?P<kind>vector|packing) (?P<number>[0-9]{1,9})"
)
_APPLIED = re.compile(
    r"\((?P<operands>[^()]*)\)"
    rf"(?: threads (?P<threads>[0-9]{{1,9}}))?(?P<scalars>{SCALARS})"
)


@lru_cache(maxsize=4096)
def variant_text(variant: Variant) -> str:
    """What tells a variant from all others under one fingerprint."""
    family = variant.family
    operands = [
        f"{o.dtype}{_stated_text(family.operation, name, o)} {o.level}{o.marks} {list(o.order)} "
        + (f"vector {o.vector}" if o.vector else _packing_text(packing))
        for name, o, packing in zip(
            family.operation.names, family.operands, variant.packing, strict=True
        )
    ]
    scalars = "".join(f" {name}={value!r}" for name, value in family.operation.scalars)
    operation = family.operation
    name = f"{ACCUMULATING if operation.accumulating else ''}{operation.operator.name}"
    return f"{family.text(name, operands)}{scalars}"


def _stated_text(operation: Operation, name: str, operand: Operand) -> str:
    """The element type that an input of a graph has there, where a copy changed it."""
    composition = composition_of(operation.operator)
    if composition is None or name not in composition.graph.inputs:
        return ""
    stated = composition.graph.dtype(name)
    return "" if stated == operand.dtype else f" of {stated}"


def _packing_text(packing: int) -> str:
    within = 2 * contiguity(packing) + paged(packing)
    width, height = cuts(panel(packing))
    panels = f"panels {f'{height}x' if height else ''}{width} " if panel(packing) else ""
    return f"{panels}packing {within}"


def variant_of(text: str, context: Context) -> Variant | None:
    """The variant of which ``text`` is the text, made of the definitions of a context.

    Returns:
        None where the text is no variant's, or that of one that these definitions do not have: the
        operator, a level or an element type is unknown, or the operator has other operands.
    """
    # The operands are the last parentheses of a graph's text, and the first of an operator's.
    place = text.rfind("(") if "/" in text else text.find("(")
    found = _APPLIED.fullmatch(text, place) if 0 < place < LONGEST else None
    if found is None:
        return None
    named = _operands(found["operands"], {lv.name: lv for lv in context.target.levels})
    if named is None:
        return None
    operation = _operation(text[:place], found["scalars"], named, context.operators)
    if operation is None:
        return None
    operands = tuple(described.operand for described in named.values())
    family = Family(operation, operands, int(found["threads"] or 1))
    variant = Variant(family, tuple(described.packing for described in named.values()))
    return variant if variant_text(variant) == text else None  # names of operands, for one


def _operation(
    text: str,
    given: str,
    operands: Mapping[str, _Described],
    operators: Mapping[str, Operator],
) -> Operation | None:
    """An operator's, or a graph's, that such operands may be of."""
    name = text.removeprefix(ACCUMULATING)
    accumulating = name != text
    ranks = tuple(len(described.operand.order) for described in operands.values())
    if "/" in name:
        inputs = {name: described.stated for name, described in operands.items()}
        whole = graph_operation(name, inputs, operators, accumulating=accumulating)
        fits = whole is not None and tuple(map(len, whole.operands)) == ranks
        return whole if fits and not given else None
    operator = operator_named(name, operators)
    if operator is None or len(ranks) != len(operator.parameters):
        return None
    scalars, rank = scalars_of(given, operator), operator.group_rank(ranks)
    if scalars is None or rank is None:
        return None
    return Operation(operator, rank, accumulating, scalars)


class _Described(Struct, frozen=True):
    """An operand with how it is packed, and the element type that it has in a graph."""

    operand: Operand
    packing: int
    stated: DType


def _operands(text: str, levels: Mapping[str, Level]) -> dict[str, _Described] | None:
    """Operands by name."""
    described: dict[str, _Described] = {}
    for found in _OPERAND.finditer(text):
        order = tuple(map(int, re.findall(r"[0-9]+", found["order"])))
        stated = found["stated"] or found["dtype"]
        if {found["dtype"], stated} - DTYPES.keys() or found["level"] not in levels:
            return None
        if sorted(order) != list(range(len(order))):
            return None
        number, size = int(found["number"]), (int(found["height"] or 0), int(found["width"] or 0))
        if max(size) > PANELS[-1]:
            return None
        whole = packed(len(order), panel_of(size))
        if found["kind"] == "vector":
            vector, packing = number, whole
        else:
            vector, packing = 0, pack(0, number, panel(whole))
        if packing > whole:
            return None
        dtype, level = DTYPES[found["dtype"]], levels[found["level"]]
        marks = (found["weight"] is not None, found["aliased"] is not None)
        operand = Operand(dtype, level, order, vector, *marks)
        described[found["name"]] = _Described(operand, packing, DTYPES[stated])
    return described
