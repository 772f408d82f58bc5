"""Lark tree of an ``.mspec`` file to Specs as they are written."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from morello.language import ast
from morello.language.build_common import Builder, children, dotted, kind_of
from morello.language.build_expressions import expression, expressions, optional, order


def spec_file(builder: Builder, tree: Tree[Token]) -> ast.SpecFile:
    """The whole file."""
    parts: list[Any] = tree.children
    target, *specs = parts
    name = ast.Name(dotted(target), span=builder.span(target)) if target else None
    return ast.SpecFile(name, tuple(_spec(builder, spec) for spec in specs))


def _spec(builder: Builder, tree: Tree[Token]) -> ast.SpecDecl:
    parts: list[Any] = tree.children
    name, parameters, threads, body = parts
    items = children(body)
    return ast.SpecDecl(
        name=str(name),
        name_span=builder.span(name),
        parameters=tuple(_parameter(builder, item) for item in children(parameters)),
        threads=optional(builder, threads),
        tensors=tuple(_tensor(builder, item) for item in items if kind_of(item) == "tensor"),
        uses=tuple(_use(builder, item) for item in items if kind_of(item) == "use"),
        span=builder.span(tree),
    )


def _parameter(builder: Builder, tree: Tree[Token]) -> ast.SpecParameter:
    parts: list[Any] = tree.children
    name, default = parts
    return ast.SpecParameter(str(name), optional(builder, default), span=builder.span(tree))


def _tensor(builder: Builder, tree: Tree[Token]) -> ast.TensorDecl:
    parts: list[Any] = tree.children
    role, name, dtype, shape, dimensions, panel = parts
    return ast.TensorDecl(
        role=str(role),
        name=str(name),
        dtype=str(dtype),
        shape=expressions(builder, children(shape)),
        order=None if dimensions is None else order(builder, dimensions),
        panel=None if panel is None else builder.integer(panel),
        span=builder.span(tree),
    )


def _use(builder: Builder, tree: Tree[Token]) -> ast.OperatorUse:
    result, operator, *arguments = children(tree)
    operands = [item for item in arguments if isinstance(item, Token)]
    scalars = [item for item in arguments if isinstance(item, Tree)]
    return ast.OperatorUse(
        result=str(result),
        operator=str(operator),
        operator_span=builder.span(operator),
        arguments=tuple(ast.Name(str(token), span=builder.span(token)) for token in operands),
        scalars=tuple(_scalar(builder, scalar) for scalar in scalars),
        span=builder.span(tree),
    )


def _scalar(builder: Builder, tree: Tree[Token]) -> tuple[str, ast.Expr]:
    name, value = children(tree)
    return str(name), expression(builder, value)
