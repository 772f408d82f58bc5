"""Bounds of an operator's meaning by absolute values, from the structure of its expression."""

from __future__ import annotations

from functools import reduce

from morello.language import ast
from morello.language.traverse import subexpressions


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


def majorant(expr: ast.Expr) -> ast.Expr:
    """`magnitude` with sums for ``max``: a polynomial without a negative coefficient.

    Where elements become 0, the expression changes by no more than this does on absolute values:
    what vanishes is a sum of products, none of which hides another.
    """
    match magnitude(expr):
        case ast.Call(args=args, span=span):
            first, *others = map(majorant, args)
            return reduce(lambda x, y: ast.Binary("+", x, y, span=span), others, first)
        case ast.Binary(operator=operator, left=left, right=right, span=span):
            return ast.Binary(operator, majorant(left), majorant(right), span=span)
        case bounded:
            return bounded
