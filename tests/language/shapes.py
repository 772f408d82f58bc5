"""Short ways to write expected nodes; spans take no part in equality."""

from __future__ import annotations

from morello.language import ast
from morello.language.source import Source, Span

AT = Span(Source("expected", ""), 0, 0)


def number(value: float) -> ast.Number:
    return ast.Number(value, span=AT)


def name(text: str) -> ast.Name:
    return ast.Name(text, span=AT)


def attribute(base: ast.Expr, text: str) -> ast.Attribute:
    return ast.Attribute(base, text, span=AT)


def call(function: str, *args: ast.Expr) -> ast.Call:
    return ast.Call(function, args, span=AT)


def unary(operator: str, operand: ast.Expr) -> ast.Unary:
    return ast.Unary(operator, operand, span=AT)


def binary(left: ast.Expr, operator: str, right: ast.Expr) -> ast.Binary:
    return ast.Binary(operator, left, right, span=AT)


def conditional(
    then: ast.Expr, condition: ast.Expr, otherwise: ast.Expr | None = None
) -> ast.Conditional:
    return ast.Conditional(then, condition, otherwise, span=AT)


def group(text: str) -> ast.Index:
    return ast.Index(((text, 1),), group=True, span=AT)


def index(*terms: tuple[str, int]) -> ast.Index:
    return ast.Index(terms, span=AT)


def dim(text: str) -> ast.Index:
    return index((text, 1))


def element(tensor: str, *indices: ast.Index) -> ast.Element:
    return ast.Element(tensor, indices, span=AT)


def tensor(text: str, dtype: str, *indices: ast.Index) -> ast.TensorParameter:
    return ast.TensorParameter(text, dtype, indices, span=AT)


def reapply(
    variable: str,
    *substitutions: tuple[str, str],
    accumulating: bool = False,
    serial: bool = False,
    condition: ast.Expr | None = None,
) -> ast.Reapply:
    return ast.Reapply(variable, accumulating, serial, substitutions, condition, span=AT)


def apply(
    operator: str,
    *arguments: ast.Expr | ast.View,
    condition: ast.Expr | None = None,
    prepack: bool = False,
    ordered: bool = False,
    accumulating: bool = False,
) -> ast.Apply:
    return ast.Apply(prepack, ordered, accumulating, operator, AT, arguments, condition, span=AT)


def block(*steps: ast.YieldNode) -> ast.Block:
    return ast.Block(steps, span=AT)
