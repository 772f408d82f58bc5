"""What kernels want: of an operator, and of an operand of which not all may be known.

`operator_refusal` and `operand_refusal` are the only ones to decide that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.layout import Order, height_of, panel_of, row_major
from morello.ir.operators import Operation, Operator
from morello.ir.spec import Operand
from morello.ir.target import Level, Microkernel, Target
from morello.ir.vector_axis import ROW_KINDS, Rows, may_be_rows, rows_of, turned_orders
from morello.language import ast, target_ast
from morello.language.target_ast import ANY
from morello.records import replace
from morello.rewriting.references import SpecRef

NO_ROWS = "its operands do not lie along one dimension, in vectors"
"""Why a kernel for rows refuses an operation."""


class Patterns(Struct, frozen=True):
    """The pattern of each operand of an operation. ``rows`` for a kernel that works on rows."""

    of: tuple[target_ast.KernelOperand, ...]
    rows: Rows | None = None


def operator_refusal(kernel: Microkernel, operator: Operator) -> str:
    """Why a kernel is for no operation of this operator; empty where it may be for some."""
    match = kernel.match
    if operator.composite:
        return "it computes one statement: an intermediate has to be computed first"
    if match.kind == "named":
        return "" if match.operator == operator.name else f"it implements '{match.operator}'"
    if operator.tileable:
        return "it implements rows of operations, and this one is divided by rules of its own"
    if match.kind in ROW_KINDS and not may_be_rows(match.kind, operator):
        return NO_ROWS
    return ""


def implements(kernel: Microkernel, operator: Operator) -> bool:
    """Whether a kernel can be for this operator at all."""
    return not operator_refusal(kernel, operator)


def patterns_for(
    match: target_ast.KernelMatch, operation: Operation, orders: tuple[Order, ...] | None
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
                return NO_ROWS
            if len(match.operands) == 1 and not all(rows.along):
                name = operation.names[rows.along.index(0)]
                return f"{name} does not lie along '{rows.dim}'"
            return Patterns(tuple(match.operands[not along] for along in rows.along), rows)
        case _:
            return Patterns(match.operands * len(operation.operands))


IN_MEMORY = 0
"""In the place of the bytes of a vector."""


class PartialOperand(Struct, frozen=True):
    """What is known of an operand; None is not known.

    Attributes:
        dtypes: It is of one of these element types, or may be converted to it.
        level: Where it is.
        vector: Bytes of the registers that it is in at that level.
        order: That of its layout, which has its rank too.
    """

    dtypes: tuple[DType, ...]
    level: Level | None = None
    vector: int = IN_MEMORY
    order: Order | None = None

    @staticmethod
    def of(operand: Operand) -> PartialOperand:
        """All that there is to know of an operand."""
        return PartialOperand((operand.dtype,), operand.level, operand.vector, operand.order)


def operand_refusal(
    pattern: target_ast.KernelOperand, target: Target, known: PartialOperand, name: str
) -> str:
    """Why a pattern accepts no operand of which this is known.

    Returns:
        The reason, in which ``name`` is the operand's. Empty where it accepts some: such an operand
        or, where not all is known, one that it may still come to be.
    """
    dtypes = [dtype for dtype in known.dtypes if pattern.dtype in (ANY, dtype.name)]
    if not dtypes:
        return f"it wants {name} as {pattern.dtype}, which is {_either(known.dtypes)}"
    if (lanes := pattern.lanes) is not None:
        dtypes = [dtype for dtype in dtypes if (dtype.name, lanes) in target.primitives]
        if not dtypes:
            return f"the target has no vectors of {lanes} lanes of {_either(known.dtypes)}"
    if known.level is not None and known.level.name not in pattern.levels:
        return f"it wants {name} at {_either(pattern.levels)}, which is at {known.level}"
    vectors = _vectors(pattern, target, known)
    if IN_MEMORY not in vectors and (
        refusal := _registers_refusal(pattern, target, dtypes, vectors, name)
    ):
        return refusal
    return "" if known.order is None else _layout_refusal(pattern, known.order, name)


def _vectors(
    pattern: target_ast.KernelOperand, target: Target, known: PartialOperand
) -> tuple[int, ...]:
    """What ``vector`` an operand may have, at a level that the pattern accepts."""
    if known.level is not None:
        return (known.vector,)
    levels = [target.level_by_name[name] for name in pattern.levels]
    return tuple(v for level in levels for v in level.vectors or (IN_MEMORY,))


def _registers_refusal(
    pattern: target_ast.KernelOperand,
    target: Target,
    dtypes: Sequence[DType],
    vectors: Sequence[int],
    name: str,
) -> str:
    """Why no registers of so many bytes are such as the pattern wants for one of these types."""
    fitting = [dtype for dtype in dtypes if pattern.width(dtype.bytes) in vectors]
    if not fitting:
        widths = _either(dict.fromkeys(pattern.width(dtype.bytes) for dtype in dtypes))
        return f"it wants {name} in vectors of {widths} bytes, not {_either(vectors)}"
    if not any(_has_registers(pattern, target, dtype) for dtype in fitting):
        width = pattern.width(fitting[0].bytes)
        return f"the target has no vectors of {width} bytes of {_either(fitting)}"
    return ""


def _has_registers(pattern: target_ast.KernelOperand, target: Target, dtype: DType) -> bool:
    """Whether a pattern may mean registers of this type: so many bytes are whole elements.

    One for any type means those only that the target has primitives for.
    """
    lanes, rest = divmod(pattern.width(dtype.bytes) or 0, dtype.bytes)
    if rest or not lanes:
        return False
    return pattern.dtype != ANY or (dtype.name, lanes) in target.primitives


def _layout_refusal(pattern: target_ast.KernelOperand, order: Order, name: str) -> str:
    rank, wanted = len(order), len(pattern.shape)
    if rank < wanted or (rank > wanted and not pattern.rest):
        return f"it wants {name} with {wanted} dimensions, not {rank}"
    if pattern.order == () or accepts_order(pattern, order):
        return ""
    return f"it wants {name} in layout {pattern_order(pattern, rank)}, not {order}"


def _either(values: Iterable[object]) -> str:
    return " or ".join(map(str, values))


Held = tuple[tuple[str, PartialOperand], ...]
"""Operands by name that stay where they are."""


def accepts_held(kernel: Microkernel, target: Target, held: Held) -> bool:
    """Whether a kernel accepts each of these operands; one for rows, by some pattern."""
    return all(
        any(
            not operand_refusal(pattern, target, known, name)
            for pattern in kernel.match.operands
            if pattern.name in ("", name)
        )
        for name, known in held
    )


def possible_kernels(
    kernels: Iterable[Microkernel],
    target: Target,
    operation: Operation,
    known: Sequence[PartialOperand],
    orders: tuple[Order, ...] | None = None,
) -> Iterator[tuple[Microkernel, Patterns]]:
    """Kernels that may match an operation of whose operands this is known, with their patterns.

    For rows, operands are in memory like ``orders``; none is row-major.
    """
    for kernel in kernels:
        if not implements(kernel, operation.operator):
            continue
        patterns = patterns_for(kernel.match, operation, orders)
        if isinstance(patterns, str):
            continue
        operands = zip(patterns.of, known, operation.names, strict=True)
        if not any(operand_refusal(p, target, own, name) for p, own, name in operands):
            yield kernel, patterns


def pattern_order(pattern: target_ast.KernelOperand, rank: int) -> Order:
    """The order that a pattern asks for at this rank; row-major where it does not say or mind."""
    if not pattern.order:
        return row_major(rank).order
    extra = rank - len(pattern.order)
    return (*range(extra), *(extra + d for d in pattern.order))


def accepts_order(pattern: target_ast.KernelOperand, order: Order) -> bool:
    """Whether an operand may lie in this order, for a pattern that says how it has to.

    The dimensions that the pattern leaves out are of size 1. It does not matter where they are, as
    long as the fastest one is the pattern's. Tall panels cut the two fastest ones: a pattern with
    such panels has its own order only.
    """
    rank = len(order)
    wanted = pattern_order(pattern, rank)
    if order == wanted:
        return True
    if order[-1:] != wanted[-1:] or any(height_of(panel_of(own)) for own in pattern.panels):
        return False
    own = wanted[rank - len(pattern.shape) :]
    return tuple(d for d in order if d in own) == own


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
    that may be converted to the output's, if they are ``convertible``. For rows, operands may stay
    in the order that they are in, come to be row-major, or be turned so as to lie along them.
    """
    out = (f.out.operand.dtype,) if convertible else ()
    known = [PartialOperand((own.operand.dtype, *out)) for own in f.tensors]
    known[position] = PartialOperand((dtype,))
    row_majors = tuple(row_major(len(own.indices)).order for own in f.tensors)
    turned = turned_orders(f.family.operation)
    found = {
        (kernel.name, _turned(patterns, position, orders[position])): kernel
        for orders in dict.fromkeys(
            (row_majors, tuple(own.operand.order for own in f.tensors), turned)
        )
        for kernel, patterns in possible_kernels(
            target.kernels, target, f.family.operation, known, orders
        )
    }
    for (_, pattern), kernel in found.items():
        yield kernel, pattern


def _turned(patterns: Patterns, position: int, order: Order) -> target_ast.KernelOperand:
    """The pattern of an operand; along rows, in this order if it is not row-major."""
    pattern = patterns.of[position]
    along = patterns.rows is not None and patterns.rows.along[position]
    return replace(pattern, order=order) if along and order != tuple(range(len(order))) else pattern
