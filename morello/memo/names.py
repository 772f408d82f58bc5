"""Variants as text, and back: what a page is kept under, and what people read.

The text tells a variant from all others under one fingerprint. It names operator, levels and
element types, and has no sizes. The rank of the operator's group is not in it: the layouts say it.
Nor is the packing of operands in vector registers, which are always whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from morello.rewriting.alternatives import Context
from morello.spec.dtypes import DTYPES
from morello.spec.layout import (
    PANELS,
    contiguity,
    cuts,
    pack,
    packed,
    paged,
    panel,
    panel_of,
)
from morello.spec.machine import Level
from morello.spec.operators import Operation
from morello.spec.spec import Family, Operand, Variant

_OPERAND = re.compile(
    r"(?P<name>\w+): (?P<dtype>\w+) (?P<level>\w+)(?P<weight> weight)?(?P<aliased> aliased)?"
    r" \[(?P<order>[0-9, ]{0,99})\]"
    r"(?: panels (?:(?P<height>[0-9]{1,4})x)?(?P<width>[0-9]{1,4}))?"
    r" (?P<kind>vector|packing) (?P<number>[0-9]{1,9})"
)
_FAMILY = re.compile(
    r"(?P<accumulating>accumulating )?(?P<operator>\w+)\((?P<operands>[^()]*)\)"
    r"(?: threads (?P<threads>[0-9]{1,9}))?(?P<scalars>(?: [\w()]+=\S+)*)"
)


def variant_text(variant: Variant) -> str:
    """What tells a variant from all others under one fingerprint."""
    family = variant.family
    operands = [
        f"{o.dtype} {o.level}{o.marks} {list(o.order)} "
        + (f"vector {o.vector}" if o.vector else _packing_text(packing))
        for o, packing in zip(family.operands, variant.packing, strict=True)
    ]
    scalars = "".join(f" {name}={value!r}" for name, value in family.operation.scalars)
    operation = family.operation
    name = f"{'accumulating ' if operation.accumulating else ''}{operation.operator.name}"
    return f"{family.text(name, operands)}{scalars}"


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
    found = _FAMILY.fullmatch(text)
    operator = None if found is None else context.operators.get(found["operator"])
    if found is None or operator is None:
        return None
    pairs = _operands(found["operands"], {lv.name: lv for lv in context.target.levels})
    scalars = _scalars(found["scalars"])
    if pairs is None or len(pairs) != len(operator.parameters):
        return None
    if scalars is None or sorted(name for name, _ in scalars) != sorted(operator.scalars):
        return None
    rank = operator.group_rank(tuple(len(operand.order) for operand, _ in pairs))
    if rank is None:
        return None
    operation = Operation(operator, rank, found["accumulating"] is not None, scalars)
    family = Family(operation, tuple(o for o, _ in pairs), int(found["threads"] or 1))
    variant = Variant(family, tuple(packing for _, packing in pairs))
    return variant if variant_text(variant) == text else None  # names of operands, for one


def _operands(text: str, levels: Mapping[str, Level]) -> list[tuple[Operand, int]] | None:
    """Operands with how they are packed."""
    pairs = []
    for found in _OPERAND.finditer(text):
        order = tuple(map(int, re.findall(r"[0-9]+", found["order"])))
        if found["dtype"] not in DTYPES or found["level"] not in levels:
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
        pairs.append((Operand(dtype, level, order, vector, *marks), packing))
    return pairs


def _scalars(text: str) -> tuple[tuple[str, float], ...] | None:
    pairs = (part.split("=", 1) for part in text.split())
    try:
        return tuple((name, float(value)) for name, value in pairs)
    except ValueError:
        return None
