"""Questions about the expression of an operator's meaning, answered from its structure."""

from __future__ import annotations

from morello.language import ast
from morello.language.traverse import children, subexpressions


def elements(expr: ast.Expr) -> tuple[ast.Element, ...]:
    """Every element in an expression, each once."""
    return tuple(dict.fromkeys(e for e in subexpressions(expr) if isinstance(e, ast.Element)))


def factors(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    """Factors of a product of elements, scalars and constants; none if it is anything else."""
    match expr:
        case ast.Element() | ast.Number() | ast.Name():
            return (expr,)
        case ast.Binary(operator="*", left=left, right=right):
            sides = factors(left), factors(right)
            return sides[0] + sides[1] if all(sides) else ()
        case _:
            return ()


def operations(expr: ast.Expr) -> int:
    """How many arithmetic operations one evaluation takes."""
    return sum(bool(children(e)) for e in subexpressions(expr))


def bounded_by_magnitudes(expr: ast.Expr) -> bool:
    """Whether `magnitude` bounds the expression, and its rounding errors, for all values."""
    return all(_bounded(e) for e in subexpressions(expr))


def _bounded(expr: ast.Expr) -> bool:
    match expr:
        case ast.Number() | ast.Name() | ast.Element():
            return True
        case ast.Unary(operator=operator) | ast.Binary(operator=operator):
            return operator in ("+", "-", "*")
        case ast.Call(function=function):
            return function in ("min", "max", "abs")
        case _:
            return False


def magnitude(expr: ast.Expr) -> ast.Expr:
    """The expression that, on absolute values, bounds this one: every difference made a sum."""
    match expr:
        case ast.Number(value=value, span=span):
            return ast.Number(abs(value), span=span)
        case ast.Unary(operand=operand):
            return magnitude(operand)
        case ast.Binary(operator=operator, left=left, right=right, span=span):
            sides = magnitude(left), magnitude(right)
            return ast.Binary("*" if operator == "*" else "+", *sides, span=span)
        case ast.Call(function=function, args=args, span=span):
            name = "abs" if function == "abs" else "max"
            return ast.Call(name, tuple(magnitude(a) for a in args), span=span)
        case _:
            return expr
