"""Names of the primitives that an operator's meaning is made of.

A target declares how it writes each of them for a dtype with so many lanes. The engine asks which
ones a meaning needs; an emitter writes them. Both take the names from here.
"""

from __future__ import annotations

from collections.abc import Iterator

from morello.language import ast
from morello.language.traverse import children

PRIMITIVE_OF_OPERATOR = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_div",
    "%": "modulo",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "and": "and",
    "or": "or",
}
"""Functions, ``min`` and ``max`` among them, are primitives of the same name."""

CONSTANT = "constant"
NEGATION = "neg"
SELECTION = "select"


def primitives_in(expr: ast.Expr) -> Iterator[str]:
    """Every use of a primitive in the value of an operator's statement."""
    match expr:
        case ast.Number() | ast.Name():
            yield CONSTANT
        case ast.Unary(operator="-", operand=ast.Number()):  # a negative constant
            yield CONSTANT
            return
        case ast.Call(function=function, args=args):
            yield from [function] * max(1, len(args) - 1)
        case ast.Unary(operator=operator):
            yield NEGATION if operator == "-" else operator
        case ast.Binary(operator=operator):
            yield PRIMITIVE_OF_OPERATOR[operator]
        case ast.Conditional(otherwise=otherwise):
            yield SELECTION
            if otherwise is None:  # it is 0
                yield CONSTANT
    for child in children(expr):
        yield from primitives_in(child)
