"""Walking syntax trees: every sub-expression, every name, every step of a result. No checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from morello.language import ast
from morello.records import replace


def children(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    """The direct operands of an expression, in the order in which they are written."""
    found: tuple[ast.Expr, ...] = ()
    match expr:
        case ast.Attribute(base=base):
            found = (base,)
        case ast.Call(args=args):
            found = args
        case ast.Unary(operand=operand):
            found = (operand,)
        case ast.Binary(left=left, right=right):
            found = (left, right)
        case ast.Computed(value=value):
            found = (value,)
        case ast.Subscripted(subscripts=subscripts):
            found = subscripts
        case ast.Conditional(then=then, condition=condition, otherwise=otherwise):
            found = (then, condition) if otherwise is None else (then, condition, otherwise)
    return found


def with_children(expr: ast.Expr, parts: Sequence[ast.Expr]) -> ast.Expr:
    """The expression with other direct operands, as many as `children` gives."""
    match expr:
        case ast.Attribute():
            return replace(expr, base=parts[0])
        case ast.Call():
            return replace(expr, args=tuple(parts))
        case ast.Unary():
            return replace(expr, operand=parts[0])
        case ast.Binary():
            return replace(expr, left=parts[0], right=parts[1])
        case ast.Computed():
            return replace(expr, value=parts[0])
        case ast.Subscripted():
            return replace(expr, subscripts=tuple(parts))
        case ast.Conditional():
            otherwise = parts[2] if len(parts) > 2 else None
            return replace(expr, then=parts[0], condition=parts[1], otherwise=otherwise)
        case _:
            return expr


def subexpressions(expr: ast.Expr) -> Iterator[ast.Expr]:
    """The expression itself and everything in it, outermost first."""
    yield expr
    for child in children(expr):
        yield from subexpressions(child)


def numbers_in(value: ast.Expr) -> Iterator[ast.Number]:
    """The numbers in a value; those in subscripts are none of it."""
    if isinstance(value, ast.Number):
        yield value
    elif not isinstance(value, ast.Subscripted):
        for child in children(value):
            yield from numbers_in(child)


def with_value(expr: ast.Expr, name: str, value: int) -> ast.Expr:
    """The expression with a number wherever a name stands."""
    if isinstance(expr, ast.Name) and expr.id == name:
        return ast.Number(value, span=expr.span)
    return with_children(expr, [with_value(part, name, value) for part in children(expr)])


def names(expr: ast.Expr) -> set[str]:
    """Every name that occurs in an expression; names of functions and attributes are not in it."""
    return {e.id for e in subexpressions(expr) if isinstance(e, ast.Name)}


class Leaf(Struct, frozen=True):
    """A step that yields a Spec, with the loops and buffers around it, outermost first."""

    step: ast.Reapply | ast.Apply
    around: tuple[ast.ForLoop | ast.With, ...]

    @property
    def loops(self) -> tuple[ast.ForLoop, ...]:
        """Loops around the leaf, outermost first."""
        return tuple(n for n in self.around if isinstance(n, ast.ForLoop))

    def buffer(self, variable: str) -> ast.With | None:
        """The innermost ``with variable = ...`` around the leaf, if there is one."""
        found = (n for n in reversed(self.around) if isinstance(n, ast.With))
        return next((n for n in found if n.variable == variable), None)


def leaves(block: ast.Block, around: tuple[ast.ForLoop | ast.With, ...] = ()) -> Iterator[Leaf]:
    """Every leaf of a result, in order."""
    for step in block.steps:
        match step:
            case ast.ForLoop() | ast.With():
                yield from leaves(step.body, (*around, step))
            case _:
                yield Leaf(step, around)
