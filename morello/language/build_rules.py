"""Lark tree of an ``.mrules`` file to operators and rules."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token, Tree

from morello.language import ast
from morello.language.build_common import Builder, children, kind_of, names, slots, text
from morello.language.build_expressions import (
    element,
    expression,
    expressions,
    indices,
    optional,
)
from morello.language.indices import UNIT_NAME
from morello.records import replace


def rules_file(builder: Builder, tree: Tree[Token]) -> ast.RulesFile:
    """The whole file."""
    declarations = children(tree)
    operators = (_operator(builder, d) for d in declarations if kind_of(d) == "operator")
    rules = (_rule(builder, d) for d in declarations if kind_of(d) == "rule")
    return ast.RulesFile(tuple(operators), tuple(rules))


# --------------------------------------------------------------------------- operators


def _operator(builder: Builder, tree: Tree[Token]) -> ast.OperatorDecl:
    _, name, inputs, scalars, output, tileable, doc, sizes, statements = slots(tree)
    declared = tuple(_scalar(builder, scalar) for scalar in children(scalars))
    builder = replace(builder, scalars=frozenset(scalar.id for scalar in declared))
    return ast.OperatorDecl(
        name=str(name),
        name_span=builder.span(name),
        doc=text(doc),
        inputs=tuple(_parameter(builder, parameter) for parameter in children(inputs)),
        scalars=declared,
        output=_parameter(builder, output),
        sizes=expressions(builder, children(sizes)),
        tileable=tuple(_name(builder, dim) for dim in children(tileable)),
        statements=tuple(_statement(builder, statement) for statement in children(statements)),
        span=builder.span(tree),
    )


def _scalar(builder: Builder, tree: Tree[Token]) -> ast.Scalar:
    name, default = slots(tree)
    return ast.Scalar(str(name), optional(builder, default), span=builder.span(tree))


def _name(builder: Builder, token: Token) -> ast.Name:
    return ast.Name(str(token), span=builder.span(token))


def _parameter(builder: Builder, tree: Tree[Token]) -> ast.TensorParameter:
    name, dtype, *rest = children(tree)
    span = builder.span(tree)
    return ast.TensorParameter(str(name), str(dtype), indices(builder, rest), span=span)


def _statement(builder: Builder, tree: Tree[Token]) -> ast.Statement:
    target, update, value, elsewhere = slots(tree)
    return ast.Statement(
        element(builder, target),
        str(update),
        expression(builder, value),
        optional(builder, elsewhere),
        span=builder.span(tree),
    )


# --------------------------------------------------------------------------- rules


def _rule(builder: Builder, tree: Tree[Token]) -> ast.RuleDecl:
    name, doc, matches, choices, guards, cost, result = slots(tree)
    operator, operands = _matches(builder, matches)
    return ast.RuleDecl(
        name=str(name),
        name_span=builder.span(name),
        doc=text(doc),
        match=operator,
        operands=operands,
        choices=tuple(_choice(builder, choice) for choice in children(choices)),
        guards=expressions(builder, children(guards)),
        cost=expression(builder, children(cost)[0]) if cost else None,
        result=_block(builder, result),
        span=builder.span(tree),
    )


def _matches(
    builder: Builder, tree: Tree[Token]
) -> tuple[ast.MatchOperator, tuple[ast.MatchOperand, ...]]:
    pattern, *rest = children(tree)
    exceptions = [part for part in rest if isinstance(part, Token)]
    operands = [part for part in rest if isinstance(part, Tree)]
    variable, parallel, accumulating, *what = pattern.children
    named = kind_of(pattern) == "named_operator"
    operator = ast.MatchOperator(
        variable=str(variable),
        kind="named" if named else str(what[0] or what[1]),
        operator=str(what[0]) if named else None,
        accumulating=accumulating is not None,
        parallel=parallel is not None,
        exceptions=tuple(_name(builder, token) for token in exceptions),
        span=builder.span(pattern, exceptions[-1] if exceptions else None),
    )
    return operator, tuple(_match_operand(builder, operand) for operand in operands)


def _match_operand(builder: Builder, tree: Tree[Token]) -> ast.MatchOperand:
    if kind_of(tree) == "member":
        variable, owner, member = names(tree.children)
        return ast.MatchOperand(variable, owner, "member", member, span=builder.span(tree))
    variable, *kind, owner = names(tree.children)
    return ast.MatchOperand(variable, owner, *(kind or ("operand",)), span=builder.span(tree))


def _choice(builder: Builder, tree: Tree[Token]) -> ast.Choice:
    variable, domain = children(tree)
    return ast.Choice(str(variable), expression(builder, domain), span=builder.span(tree))


# --------------------------------------------------------------------------- results


def _block(builder: Builder, tree: Tree[Token]) -> ast.Block:
    return ast.Block(
        tuple(_step(builder, step) for step in children(tree)), span=builder.span(tree)
    )


def _step(builder: Builder, tree: Tree[Token]) -> ast.YieldNode:
    match kind_of(tree):
        case "for_loop":
            return _for_loop(builder, tree)
        case "with":
            return _with(builder, tree)
        case "reapply":
            return _reapply(builder, tree)
        case _:
            return _apply(builder, tree)


def _for_loop(builder: Builder, tree: Tree[Token]) -> ast.ForLoop:
    kind, dimension, step, body = slots(tree)
    return ast.ForLoop(
        dimension=expression(builder, dimension),
        step=expression(builder, step),
        parallel=kind == "parallel",
        body=_block(builder, body),
        pipelined=kind == "pipelined",
        span=builder.span(tree),
    )


def _with(builder: Builder, tree: Tree[Token]) -> ast.With:
    variable, operand, expanded, level, dtype, layout, vector, body = slots(tree)
    return ast.With(
        variable=str(variable),
        operand=str(operand),
        level=expression(builder, level),
        dtype=optional(builder, dtype),
        layout=optional(builder, layout),
        vector=optional(builder, vector),
        body=_block(builder, body),
        expanded=None if expanded is None else _expanded(builder, expanded),
        span=builder.span(tree),
    )


def _expanded(builder: Builder, tree: Tree[Token]) -> ast.Expanded:
    dimension, step = children(tree)
    return ast.Expanded(
        expression(builder, dimension), expression(builder, step), span=builder.span(tree)
    )


def _reapply(builder: Builder, tree: Tree[Token]) -> ast.Reapply:
    part, accumulating, serial, variable, substitutions, without, condition = slots(tree)
    pairs = (names(pair.children) for pair in children(substitutions))
    return ast.Reapply(
        variable=str(variable),
        part=None if part is None else str(part),
        accumulating=accumulating is not None,
        serial=serial is not None,
        substitutions=tuple((old, new) for old, new in pairs),
        condition=optional(builder, condition),
        without=None if without is None else ast.Name(str(without), span=builder.span(without)),
        span=builder.span(tree),
    )


def _apply(builder: Builder, tree: Tree[Token]) -> ast.Apply:
    when, accumulating, operator, arguments, condition = slots(tree)
    return ast.Apply(
        prepack=when == "prepack",
        ordered=when == "ordered",
        accumulating=accumulating is not None,
        operator=str(operator),
        operator_span=builder.span(operator),
        arguments=tuple(_argument(builder, argument) for argument in children(arguments)),
        condition=optional(builder, condition),
        span=builder.span(tree),
    )


def _argument(builder: Builder, tree: Tree[Token]) -> ast.Expr | ast.View:
    if kind_of(tree) == "element":
        seen = element(builder, tree)
        buffer = ast.Name(seen.tensor, span=builder.span(tree.children[0]))
        return ast.View(buffer, _with_units(seen.indices), span=seen.span)
    if kind_of(tree) != "view":
        return expression(builder, tree)
    base, name, *rest = children(tree)
    operand = ast.Attribute(expression(builder, base), str(name), span=builder.span(base, name))
    return ast.View(operand, _with_units(indices(builder, rest)), span=builder.span(tree))


def _with_units(indices: Sequence[ast.Index]) -> tuple[ast.Index, ...]:
    """Indices in which ``_`` is no dimension, but one of size 1 that the operand has not."""
    unit = ((UNIT_NAME, 1),)
    return tuple(replace(i, terms=()) if not i.group and i.terms == unit else i for i in indices)
