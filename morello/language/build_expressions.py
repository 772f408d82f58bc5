"""Lark trees of expressions, elements and orders to nodes of `morello.language.ast`."""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token, Tree

from morello.language import ast
from morello.language.build_common import Builder, children, kind_of, slots
from morello.language.indices import with_scalars


def expression(builder: Builder, tree: Tree[Token]) -> ast.Expr:
    """The node of any expression."""
    span = builder.span(tree)
    parts = slots(tree)
    match kind_of(tree), parts:
        case "number", [value, unit]:
            return ast.Number(builder.number(value, unit), span=span)
        case "name", [name]:
            return ast.Name(str(name), span=span)
        case "attribute", [base, name]:
            return ast.Attribute(expression(builder, base), str(name), span=span)
        case "call", [function, *_]:
            return ast.Call(str(function), expressions(builder, children(tree)[1:]), span=span)
        case "unary", [operator, operand]:
            return ast.Unary(str(operator), expression(builder, operand), span=span)
        case "binary", [left, operator, right]:
            nodes = expression(builder, left), expression(builder, right)
            return ast.Binary(str(operator), *nodes, span=span)
        case "conditional", [then, condition, otherwise]:
            nodes = expression(builder, then), expression(builder, condition)
            return ast.Conditional(*nodes, optional(builder, otherwise), span=span)
        case "element", _ if builder.in_spec:
            return subscripted(builder, tree)
        case "element", _:
            return element(builder, tree)
    raise AssertionError(f"the grammar makes no expression '{tree.data}'")


def expressions(builder: Builder, trees: Iterable[Tree[Token]]) -> tuple[ast.Expr, ...]:
    """The nodes of several expressions."""
    return tuple(expression(builder, tree) for tree in trees)


def optional(builder: Builder, tree: Tree[Token] | None) -> ast.Expr | None:
    """The node of an expression that need not be there."""
    return None if tree is None else expression(builder, tree)


def element(builder: Builder, tree: Tree[Token]) -> ast.Element:
    """``A[b..., m, k]``."""
    name, *rest = children(tree)
    return ast.Element(str(name), indices(builder, rest), span=builder.span(tree))


def subscripted(builder: Builder, tree: Tree[Token]) -> ast.Subscripted:
    """``x[i, 2 * j + 1]``, in a spec."""
    name, *subscripts = children(tree)
    return ast.Subscripted(str(name), expressions(builder, subscripts), span=builder.span(tree))


def indices(builder: Builder, trees: Iterable[Tree[Token]]) -> tuple[ast.Index, ...]:
    """The nodes of the indices of an element or a declared tensor."""
    return tuple(_index(builder, tree) for tree in trees)


def _index(builder: Builder, tree: Tree[Token]) -> ast.Index:
    span = builder.span(tree)
    if kind_of(tree) == "group":
        return ast.Index(((str(tree.children[0]), 1),), group=True, span=span)
    terms = (part for part in tree.children if isinstance(part, Tree))
    index = ast.Index(tuple(_term(builder, term) for term in terms), span=span)
    return with_scalars(index, builder.scalars)


def _term(builder: Builder, tree: Tree[Token]) -> tuple[str, ast.Factor]:
    """``r``, ``2 * r``, ``r * 2`` or ``stride * r``."""
    tokens = [part for part in tree.children if isinstance(part, Token)]
    *factors, name = (str(token) for token in tokens if token.type == "NAME")
    if factors:
        return name, factors[0]
    numbers = [builder.integer(token) for token in tokens if token.type == "INTEGER"]
    return name, numbers[0] if numbers else 1


def panel(builder: Builder, tree: Tree[Token]) -> ast.Panel:
    """Width, or height and width."""
    match [builder.integer(token) for token in children(tree)]:
        case [height, width]:
            return height, width
        case [width, *_]:
            return width
    raise AssertionError("the grammar has one number, or two")


def order(builder: Builder, tree: Tree[Token]) -> tuple[int, ...]:
    """``(1, 0)``."""
    return tuple(builder.integer(token) for token in children(tree))
