"""What kernels' patterns want of an operand, wherever the other operands are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from morello.ir.dtypes import DTYPES, DType
from morello.ir.layout import Order, row_major
from morello.ir.operators import Operation, Operator
from morello.ir.target import Microkernel, Target
from morello.ir.vector_axis import ROW_KINDS, Rows, may_be_rows, rows_of
from morello.language import ast, target_ast
from morello.rewriting.references import SpecRef

ANY = "any"
"""In a kernel's pattern: every element type."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The pattern of each operand of an operation. ``rows`` for a kernel that works on rows."""

    of: tuple[target_ast.KernelOperand, ...]
    rows: Rows | None = None


def implements(kernel: Microkernel, operator: Operator) -> bool:
    """Whether a kernel can be for this operator at all."""
    match = kernel.match
    if operator.composite:
        return False
    if operator.tileable and match.kind != "named":
        return False  # such a kernel is for parts
    match match.kind:
        case "named":
            return match.operator == operator.name
        case kind if kind in ROW_KINDS:
            return may_be_rows(kind, operator)
        case _:
            return True


def patterns_for(
    match: target_ast.KernelMatch, operation: Operation, orders: tuple[Order, ...] | None = None
) -> Patterns | str:
    """The patterns that a match has for the operands, or why it has none.

    A match that names an operator must be for this one. One for rows has a pattern for the operands
    that lie along them, and perhaps one for the others.

    Args:
        match: The match.
        operation: What is computed.
        orders: Those of the operands, inputs first; none is row-major.
    """
    match match.kind:
        case "named":
            by_name = {p.name: p for p in match.operands}
            return Patterns(tuple(by_name[name] for name in operation.names))
        case kind if kind in ROW_KINDS:
            rows = rows_of(kind, operation, orders)
            if rows is None:
                return "its operands do not lie along one dimension, in vectors"
            if len(match.operands) == 1 and not all(rows.along):
                name = operation.names[rows.along.index(False)]
                return f"{name} does not lie along '{rows.dim}'"
            return Patterns(tuple(match.operands[not along] for along in rows.along), rows)
        case _:
            return Patterns(match.operands * len(operation.operands))


def has_registers(
    target: Target, pattern: target_ast.KernelOperand, dtype: DType, vector: int
) -> bool:
    """Whether a pattern may mean registers of this type: so many bytes are whole elements.

    One for any type means those only that the target has primitives for.
    """
    if vector < dtype.bytes or vector % dtype.bytes:
        return False
    return pattern.dtype != ANY or (dtype.name, vector // dtype.bytes) in target.primitives


Held = tuple[tuple[str, str, int, int], ...]
"""Of operands in registers: the name, the level, the vector's bytes, and an element's."""


def accepts_registers(kernel: Microkernel, held: Held) -> bool:
    """Whether a kernel accepts operands in these registers; one for rows, by some pattern."""
    patterns = kernel.match.operands
    named = kernel.match.kind == "named"
    return all(
        any(
            level in pattern.levels and pattern.width(element) == vector
            for pattern in patterns
            if not named or pattern.name == name
        )
        for name, level, vector, element in held
    )


def pattern_order(pattern: target_ast.KernelOperand, rank: int) -> Order:
    """The order that a pattern asks for at this rank; row-major where it does not say or mind."""
    if not pattern.order:
        return row_major(rank).order
    extra = rank - len(pattern.order)
    return (*range(extra), *(extra + d for d in pattern.order))


def refuses_plain(kernel: Microkernel, name: str) -> bool:
    """Whether a guard lets this operand be in panels of one width only: ``panels(X) == 4``."""
    return any(
        guard.operator == "==" and _is_panels(guard.left, name) and _is_width(guard.right)
        for guard in kernel.guards
        if isinstance(guard, ast.Binary)
    )


def _is_panels(expr: ast.Expr, name: str) -> bool:
    match expr:
        case ast.Call(function="panels", args=(ast.Name(id=asked),)):
            return asked == name
    return False


def _is_width(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Number) and expr.value > 0


def wanted_patterns(
    target: Target, f: SpecRef, position: int, dtype: DType, *, convertible: bool
) -> Iterator[tuple[Microkernel, target_ast.KernelOperand]]:
    """Patterns that the target's kernels have for one operand of an operation, of this type.

    Of kernels that may still match: the other operands are of the types that they want, or inputs
    that may be converted to the output's, if they are ``convertible``, and the target has their
    registers. For rows, operands
    are taken to be row-major: that is what kernels for them want, or do not mind.
    """
    operation = f.family.operation
    for kernel in target.kernels:
        if not implements(kernel, operation.operator):
            continue
        patterns = patterns_for(kernel.match, operation)
        if isinstance(patterns, str):
            continue
        types = [
            (own.operand.dtype.name, (f.out if convertible else own).operand.dtype.name)
            for own in f.tensors
        ]
        types[position] = (dtype.name, dtype.name)
        if all(_possible(target, *pair) for pair in zip(patterns.of, types, strict=True)):
            yield kernel, patterns.of[position]


def _possible(target: Target, pattern: target_ast.KernelOperand, types: tuple[str, str]) -> bool:
    """Whether an operand of one of these types may come to be what a pattern wants."""
    if pattern.dtype not in (ANY, *types):
        return False
    levels = [target.level_by_name[n] for n in pattern.levels]
    if pattern.lanes and any(level.addressable for level in levels):
        return True  # of some types there may be no such registers
    registers = [level for level in levels if not level.addressable]
    widths = {pattern.width(DTYPES[name].bytes) for name in types}
    return not registers or any(widths & {*level.vectors} for level in registers)
