"""Expressions back to text, with no more parentheses than the grammar needs.

Used by diagnostics and explanations. Parsing the text gives an equal expression; numbers come
without units.
"""

from __future__ import annotations

from morello.language import ast
from morello.language.indices import text_of_index

_CONDITIONAL, _OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _MINUS, _PRIMARY = range(9)

_LEVELS = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys("+-", _SUM),
    **dict.fromkeys(("*", "/", "//", "%"), _PRODUCT),
}


def unparse(expr: ast.Expr) -> str:
    """The text of an expression."""
    return _at(expr, _CONDITIONAL)


def _at(expr: ast.Expr, lowest: int) -> str:
    """The text, in parentheses where an operator of level ``lowest`` or above must stand."""
    text, level = _text(expr)
    return text if level >= lowest else f"({text})"


def _text(expr: ast.Expr) -> tuple[str, int]:
    """The text of an expression and the level of its outermost operator."""
    match expr:
        case ast.Number(value=value):
            return str(value), _PRIMARY if value >= 0 else _MINUS
        case ast.Name(id=name):
            return name, _PRIMARY
        case ast.Attribute(base=base, name=name):
            return f"{_at(base, _PRIMARY)}.{name}", _PRIMARY
        case ast.Call(function=function, args=args):
            return f"{function}({', '.join(unparse(a) for a in args)})", _PRIMARY
        case ast.Element(tensor=tensor, indices=indices):
            return f"{tensor}[{', '.join(map(text_of_index, indices))}]", _PRIMARY
        case ast.Subscripted(tensor=tensor, subscripts=subscripts):
            return f"{tensor}[{', '.join(map(unparse, subscripts))}]", _PRIMARY
        case ast.Unary(operator="not", operand=operand):
            return f"not {_at(operand, _NOT)}", _NOT
        case ast.Unary(operator=operator, operand=operand):
            return f"{operator}{_at(operand, _MINUS)}", _MINUS
        case ast.Binary(operator=operator, left=left, right=right):
            level = _LEVELS[operator]
            first = level + 1 if level == _COMPARISON else level  # comparisons do not chain
            return f"{_at(left, first)} {operator} {_at(right, level + 1)}", level
        case ast.Computed(value=value, dtype=dtype):
            return f"{dtype}({unparse(value)})", _PRIMARY
        case ast.Conditional(then=then, condition=condition, otherwise=otherwise):
            text = f"{_at(then, _OR)} if {_at(condition, _OR)}"
            return text + (f" else {unparse(otherwise)}" if otherwise else ""), _CONDITIONAL
