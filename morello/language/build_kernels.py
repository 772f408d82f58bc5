"""Lark trees of microkernels, of functions and of macros to `morello.language.ast`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import dedent

from lark import Token, Tree

from morello.language import target_ast
from morello.language.build_clauses import clause_values
from morello.language.build_common import Builder, children, dotted, kind_of, names, slots, text
from morello.language.build_expressions import expression, expressions, order, panel
from morello.language.kernel_clauses import CLAUSES, KernelClauses
from morello.records import replace

_FENCE = "```"


def kernel(builder: Builder, tree: Tree[Token]) -> Iterator[target_ast.KernelDecl]:
    """A microkernel; with ``for T in u8, s8`` one for each type, called NAME_u8 and NAME_s8.

    With ``for (T, U) in (u8, s8), (s8, u8)`` one for each group, called NAME_u8_s8 and NAME_s8_u8.
    """
    name, parameters, target, doc, match, guards, cost, *rest = slots(tree)
    clauses = [part for part in rest if isinstance(part, Tree)]
    emitted, *streamed = (part for part in rest if isinstance(part, Token))
    found = target_ast.KernelDecl(
        name=str(name),
        name_span=builder.span(name),
        doc=text(doc),
        target=dotted(target),
        match=_match(builder, match),
        guards=expressions(builder, children(guards)),
        cost=expression(builder, cost),
        clauses=KernelClauses(**clause_values(CLAUSES, builder, clauses)),
        streamed=bool(streamed),
        template=_template(emitted) if emitted.type == "TEMPLATE" else None,
        span=builder.span(tree),
    )
    if parameters is None:
        yield found
        return
    types: list[tuple[str, ...]] = []
    for part in slots(parameters):
        if isinstance(part, Token):
            types.append((str(part),))
        elif part is not None and kind_of(part) == "together":
            types.append(tuple(map(str, part.children)))
        elif part is not None:
            found = replace(found, lanes=str(part.children[0]))
    variables, *groups = types
    if not groups:  # for any types
        yield found
    for dtypes in groups:
        if len(dtypes) != len(variables):
            message = f"{len(variables)} names are given a group of {len(dtypes)}"
            builder.errors.error("E009", message, found.name_span, "as many element types as names")
            continue
        given = tuple(zip(variables, dtypes, strict=True))
        yield replace(
            found,
            name="_".join((found.name, *dtypes)),
            match=_of_types(found.match, dict(given)),
            given=given,
        )


def _of_types(match: target_ast.KernelMatch, given: Mapping[str, str]) -> target_ast.KernelMatch:
    """The pattern with element types in the place of names that stand for them."""
    operands = (
        replace(operand, dtype=given.get(operand.dtype, operand.dtype))
        for operand in match.operands
    )
    return replace(match, operands=tuple(operands))


def function(builder: Builder, tree: Tree[Token]) -> target_ast.FunctionDecl:
    """A function in C."""
    name, target, doc, emitted = children(tree)
    return target_ast.FunctionDecl(
        name=str(name),
        name_span=builder.span(name),
        doc=text(doc),
        target=dotted(target),
        text=_template(emitted),
        span=builder.span(tree),
    )


def macro(builder: Builder, tree: Tree[Token]) -> target_ast.MacroDecl:
    """What templates share."""
    name, *parameters, target, doc, emitted = children(tree)
    builder.once((str(parameter), parameter) for parameter in parameters)
    return target_ast.MacroDecl(
        name=str(name),
        name_span=builder.span(name),
        parameters=names(parameters),
        doc=text(doc),
        target=dotted(target),
        template=_template(emitted),
        span=builder.span(tree),
    )


def _template(token: Token) -> str:
    """The text between the fences, without their lines and without common indentation."""
    inner = token[len(_FENCE) : -len(_FENCE)].replace("\r\n", "\n")
    first, _, rest = inner.partition("\n")
    if first.strip():
        return inner.strip()
    return dedent(rest).rstrip()


def _match(builder: Builder, tree: Tree[Token]) -> target_ast.KernelMatch:
    parts = slots(tree)
    form = kind_of(tree)
    accumulating, operator, *rest = (None, *parts) if form == "row_match" else parts
    kinds = {"named_match": "named", "uniform_match": "op", "row_match": str(operator)}
    return target_ast.KernelMatch(
        kind=kinds[form],
        operator=str(operator) if form == "named_match" else None,
        operator_span=builder.span(operator),
        accumulating=None
        if form == "named_match" and accumulating == "any"
        else bool(accumulating),
        operands=tuple(_operand(builder, item) for item in rest if isinstance(item, Tree)),
        span=builder.span(tree),
    )


def _operand(builder: Builder, tree: Tree[Token]) -> target_ast.KernelOperand:
    """A pattern, with a name in front or without."""
    *name, pattern = children(tree) if kind_of(tree) == "named_pattern" else [tree]
    dtype, shape, levels, wanted, already, panels, vectors = slots(pattern)
    [width] = children(vectors) or [None]
    in_bytes = vectors is not None and kind_of(vectors) == "in_bytes"
    *named, farther = levels.children
    extents = children(shape)
    rest = bool(extents) and extents[0].type == "REST"
    return target_ast.KernelOperand(
        name=str(name[0]) if name else "",
        dtype=str(dtype),
        rest=rest,
        shape=tuple(_extent(builder, extent) for extent in extents[rest:]),
        levels=names(named),
        order=_order(builder, wanted),
        panels=tuple(panel(builder, own) for own in children(panels)),
        vector=builder.integer(width) if in_bytes else None,
        lanes=None if in_bytes or width is None else _extent(builder, width),
        farther=farther is not None,
        already=already is not None,
        span=builder.span(tree),
    )


def _extent(builder: Builder, token: Token) -> int | str:
    return builder.integer(token) if token.type == "INTEGER" else str(token)


def _order(builder: Builder, wanted: Tree[Token] | None) -> tuple[int, ...] | None:
    """Absent is row-major only; ``any`` is ()."""
    if wanted is None:
        return None
    [which] = children(wanted)
    return () if isinstance(which, Token) else order(builder, which)
