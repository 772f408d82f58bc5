"""What one evaluation of an operator's meaning costs with a target's primitives.

A primitive is how the target writes one arithmetic function on a dtype with some lanes. Which
primitives a meaning needs follows from the declaration alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from morello.ir.dtypes import DType
from morello.ir.graphs.constants import value_of
from morello.ir.operators import Operation, Operator
from morello.ir.primitives import (
    ADD,
    CONSTANT,
    EVERY_SECOND,
    FENCE,
    FIRST_LANE,
    IN_ORDER,
    LOAD,
    LOAD_FIRST,
    MULTIPLY,
    MULTIPLY_ADD,
    SELECT_FIRST,
    STORE,
    STORE_FIRST,
    STREAM,
    TYPE,
    adds_product,
    exchanges,
    primitives_in,
    steps,
    update_primitive,
)
from morello.ir.spec import Family
from morello.ir.stand_ins import costed
from morello.ir.target import Target
from morello.ir.vector_axis import REDUCTION, Rows


def needed_primitives(family: Family) -> Mapping[tuple[str, str], int]:
    """Primitives that the meaning uses, each with its element type, and how often.

    Equal subexpressions count once.
    """
    operation = family.operation
    return _needed(operation.operator, operation, tuple(o.dtype for o in family.operands))


@lru_cache(maxsize=4096)
def _needed(
    _: Operator, operation: Operation, dtypes: tuple[DType, ...]
) -> Mapping[tuple[str, str], int]:
    """Operations are compared by name; so that of another operator of that name is another one."""
    value, output = value_of(costed(operation), dtypes[-1]), dtypes[-1].name
    types = {name: dtype.name for name, dtype in zip(operation.names, dtypes, strict=True)}
    needed = Counter(primitives_in(value, output, types))
    if update := update_primitive(operation.operator):
        needed[output, update] += 1
    return needed


@lru_cache(maxsize=4096)
def _adds_product(_: Operator, operation: Operation, dtypes: tuple[DType, ...]) -> bool:
    types = {name: dtype.name for name, dtype in zip(operation.names, dtypes, strict=True)}
    found = steps(value_of(costed(operation), dtypes[-1]), dtypes[-1].name, types)
    return adds_product(found, update_primitive(operation.operator))


def lanes_of(family: Family) -> int:
    """Lanes of the registers that the output is in, or one."""
    output = family.operands[-1]
    return output.lanes if output.vector else 1


def missing_primitives(
    target: Target,
    family: Family,
    lanes: int,
    rows: Rows | None,
    *,
    streamed: bool,
) -> list[str]:
    """Primitives that the meaning needs in so many lanes, and the target does not have.

    Each with its element type, as in ``'max' for f32``, and with what the target would need to have
    it by definition.
    """
    output = family.operands[-1].dtype.name
    needed = {*needed_primitives(family), (output, TYPE)}
    update = update_primitive(family.operation.operator)
    if rows is not None:
        needed |= row_primitives(family, lanes, rows)
    needed |= {(output, STREAM), (output, FENCE)} if streamed else set()
    missing = {(d, p) for d, p in needed if p not in _entries(target, d, lanes)}
    if rows is not None and rows.kind == REDUCTION and update is not None:
        missing |= {(output, p) for p in {TYPE, update} - _entries(target, output, 1).keys()}
    return [_missing(target, lanes, dtype, primitive) for dtype, primitive in sorted(missing)]


def _missing(target: Target, lanes: int, dtype: str, primitive: str) -> str:
    what = f"'{primitive}' for {dtype}"
    known = target.primitives.get((dtype, lanes))
    lacking = known.lacking.get(primitive, ()) if known else ()
    return f"{what}, whose definition needs {' and '.join(lacking)}" if lacking else what


def computes_in(target: Target, operation: Operation, dtype: DType) -> bool:
    """Whether it has what the meaning needs, element by element, if all operands are of a type."""
    dtypes = (dtype,) * len(operation.operands)
    needed = {*_needed(operation.operator, operation, dtypes), (dtype.name, TYPE)}
    return all(primitive in _entries(target, own, 1) for own, primitive in needed)


def row_primitives(family: Family, lanes: int, rows: Rows) -> set[tuple[str, str]]:
    """Primitives that a kernel for rows needs beside those of the meaning, with element types."""

    def partly(primitive: str) -> set[str]:
        """What is for some of the lanes: there are none such of one."""
        return {primitive} if lanes > 1 else set()

    needed: set[tuple[str, str]] = set()
    operation = family.operation
    for position, (operand, along) in enumerate(zip(family.operands, rows.along, strict=True)):
        reads, names = operation.reads(position), {TYPE}
        if along and not operand.vector:
            names |= {LOAD, *partly(LOAD_FIRST)} if reads else set()
            names |= {*partly(EVERY_SECOND), *partly(IN_ORDER)} if along > 1 else set()
            names |= {STORE, *partly(STORE_FIRST)} if operation.writes(position) else set()
        elif not along and reads:
            names.add(CONSTANT)
        needed |= {(operand.dtype.name, name) for name in names}
    if rows.kind == REDUCTION:
        extra = {*partly(SELECT_FIRST), FIRST_LANE, *exchanges(lanes)}
        needed |= {(family.operands[-1].dtype.name, name) for name in extra}
    return needed


def _entries(target: Target, dtype: str, lanes: int) -> Mapping[str, tuple[str, str | None]]:
    primitives = target.primitives.get((dtype, lanes))
    return primitives.entries if primitives else {}


def arithmetic_cycles(target: Target, family: Family, lanes: int) -> float:
    """Cycles of one evaluation in so many lanes, of all of them at once."""
    total, needed = 0.0, Counter(needed_primitives(family))
    output = family.operands[-1].dtype.name
    operation, dtypes = family.operation, tuple(o.dtype for o in family.operands)
    primitives = target.primitives.get((output, lanes))
    fuses = primitives is not None and primitives.fuses
    if fuses and _adds_product(operation.operator, operation, dtypes):
        needed[output, MULTIPLY_ADD] += 1
        needed[output, MULTIPLY] -= 1
        needed[output, ADD] -= 1
    for (dtype, name), count in sorted(needed.items()):
        total += count * primitive_cycles(target, dtype, lanes, name)
    return total


def primitive_cycles(target: Target, dtype: str, lanes: int, primitive: str) -> float:
    """Cycles of a primitive; nothing if the target does not say what it costs."""
    _, coefficient = _entries(target, dtype, lanes).get(primitive, ("", None))
    return 0.0 if coefficient is None else target.coefficients[coefficient].value
