"""Questions about the expression of an operator's meaning, answered from its structure."""

from __future__ import annotations

from morello.language import ast
from morello.language.traverse import subexpressions


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
