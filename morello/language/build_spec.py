"""Lark tree of an ``.mspec`` file to Specs as they are written."""

from __future__ import annotations

from lark import Token, Tree

from morello.language import ast, spec_ast
from morello.language.build_common import Builder, children, dotted, kind_of, slots
from morello.language.build_expressions import (
    expression,
    expressions,
    optional,
    order,
    panel,
    subscripted,
)


def spec_file(builder: Builder, tree: Tree[Token]) -> spec_ast.SpecFile:
    """The whole file."""
    target, *specs = slots(tree)
    name = ast.Name(dotted(target), span=builder.span(target)) if target else None
    return spec_ast.SpecFile(name, tuple(_spec(builder, spec) for spec in specs))


def _spec(builder: Builder, tree: Tree[Token]) -> spec_ast.SpecDecl:
    name, parameters, threads, body = slots(tree)
    items = children(body)
    return spec_ast.SpecDecl(
        name=str(name),
        name_span=builder.span(name),
        parameters=tuple(_parameter(builder, item) for item in children(parameters)),
        threads=optional(builder, threads),
        tensors=tuple(_tensor(builder, item) for item in items if kind_of(item) == "tensor"),
        uses=tuple(_use(builder, item) for item in items if kind_of(item) != "tensor"),
        span=builder.span(tree),
    )


def _parameter(builder: Builder, tree: Tree[Token]) -> spec_ast.SpecParameter:
    name, value = slots(tree)
    default, limit = (value, None) if kind_of(tree) == "parameter" else (None, value)
    return spec_ast.SpecParameter(
        str(name), optional(builder, default), optional(builder, limit), span=builder.span(tree)
    )


def _tensor(builder: Builder, tree: Tree[Token]) -> spec_ast.TensorDecl:
    role, name, *declared = slots(tree)
    dtype, shape, dimensions, panels, strides = declared or (None,) * 5
    return spec_ast.TensorDecl(
        role=str(role),
        name=str(name),
        dtype=None if dtype is None else str(dtype),
        shape=expressions(builder, children(shape)),
        order=None if dimensions is None else order(builder, dimensions),
        panel=None if panels is None else panel(builder, panels),
        strides=None if strides is None else expressions(builder, children(strides)),
        span=builder.span(tree),
    )


def _use(builder: Builder, tree: Tree[Token]) -> spec_ast.OperatorUse | spec_ast.Statement:
    if kind_of(tree) == "statement":
        target, update, value, elsewhere = slots(tree)
        return spec_ast.Statement(
            subscripted(builder, target),
            str(update),
            expression(builder, value),
            optional(builder, elsewhere),
            span=builder.span(tree),
        )
    result, call = children(tree)
    return spec_ast.OperatorUse(str(result), _call(builder, call), span=builder.span(tree))


def _call(builder: Builder, tree: Tree[Token]) -> spec_ast.OperatorCall:
    operator, *arguments = children(tree)
    first = next((i for i, item in enumerate(arguments) if _is_scalar(item)), len(arguments))
    operands, scalars = arguments[:first], arguments[first:]
    return spec_ast.OperatorCall(
        operator=str(operator),
        operator_span=builder.span(operator),
        arguments=tuple(_operand(builder, operand) for operand in operands),
        scalars=tuple(_scalar(builder, scalar) for scalar in scalars),
        span=builder.span(tree),
    )


def _is_scalar(item: Tree[Token] | Token) -> bool:
    return isinstance(item, Tree) and kind_of(item) == "scalar"


def _operand(builder: Builder, item: Tree[Token] | Token) -> ast.Name | spec_ast.OperatorCall:
    if isinstance(item, Token):
        return ast.Name(str(item), span=builder.span(item))
    return _call(builder, item)


def _scalar(builder: Builder, tree: Tree[Token]) -> tuple[str, ast.Expr]:
    name, value = children(tree)
    return str(name), expression(builder, value)
