"""Whether two declared statements say the same, under other names."""

from __future__ import annotations

from collections.abc import Mapping

from morello.language import ast
from morello.language.signed_zero import same_number
from morello.language.traverse import children


def same_value(
    own: ast.Statement,
    other: ast.Statement,
    names: Mapping[str, str],
    scalars: Mapping[str, float],
    others: Mapping[str, float],
) -> bool:
    """Whether two statements assign or add up the same expression of their operands.

    Args:
        own: One statement.
        other: The other one.
        names: For each operand of ``other``, which one of ``own`` it is.
        scalars: Values of the scalars of ``own``.
        others: Those of ``other``.
    """
    return own.update == other.update and _equal(own.value, other.value, names, scalars, others)


def _equal(
    own: ast.Expr,
    other: ast.Expr,
    names: Mapping[str, str],
    scalars: Mapping[str, float],
    others: Mapping[str, float],
) -> bool:
    match own, other:
        case ast.Element(tensor=first), ast.Element(tensor=second):
            return first == names[second]
        case ast.Name(id=first), ast.Name(id=second):
            return same_number(scalars[first], others[second])
        case ast.Number(), ast.Number():
            return own == other
    pairs = list(zip(children(own), children(other), strict=False))
    alike = _head(own) == _head(other) and len(children(own)) == len(children(other))
    return alike and bool(pairs) and all(_equal(*p, names, scalars, others) for p in pairs)


def _head(expr: ast.Expr) -> tuple[type[ast.Expr], str]:
    """What an expression is, apart from its operands."""
    match expr:
        case ast.Unary(operator=name) | ast.Binary(operator=name) | ast.Call(function=name):
            return type(expr), name
        case ast.Computed(dtype=dtype):
            return type(expr), dtype
    return type(expr), ""
