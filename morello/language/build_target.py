"""Lark tree of an ``.mtarget`` file to targets and primitives; the rest is in `build_kernels`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lark import Token, Tree

from morello.language import target_ast
from morello.language.build_common import Builder, children, dotted, kind_of, names, slots, text
from morello.language.build_expressions import expression
from morello.language.build_kernels import function, kernel, macro

_SOURCE = re.compile(r"[ \t]*;?[ \t]*#[ \t]*([^\n]*)")


def target_file(builder: Builder, tree: Tree[Token]) -> target_ast.TargetFile:
    """The whole file."""
    declarations = children(tree)
    targets = (_target(builder, d) for d in declarations if kind_of(d) == "target")
    primitives = (_primitives(builder, d) for d in declarations if kind_of(d) == "primitives")
    kernels = (k for d in declarations if kind_of(d) == "kernel" for k in kernel(builder, d))
    functions = (function(builder, d) for d in declarations if kind_of(d) == "function")
    definitions = (_definition(builder, d) for d in declarations if kind_of(d) == "definition")
    macros = (macro(builder, d) for d in declarations if kind_of(d) == "macro")
    return target_ast.TargetFile(
        tuple(targets),
        tuple(primitives),
        tuple(kernels),
        tuple(functions),
        tuple(definitions),
        tuple(macros),
    )


def _target(builder: Builder, tree: Tree[Token]) -> target_ast.TargetDecl:
    name, base, doc, body = slots(tree)
    items = children(body)
    single = {kind_of(i): i for i in items if kind_of(i) not in ("level", "coefficient")}
    builder.once((kind_of(i), i) for i in items if kind_of(i) in single)
    return target_ast.TargetDecl(
        name=dotted(name),
        name_span=builder.span(name),
        doc=text(doc),
        base=dotted(base) if base else None,
        emitter=str(children(single["emitter"])[0]) if "emitter" in single else None,
        sizes=_integers(builder, children(single.get("sizes"))),
        page=_size(builder, children(single["page"])[0]) if "page" in single else None,
        flags=tuple(text(flag) for flag in children(single.get("flags"))),
        headers=tuple(text(header) for header in children(single.get("headers"))),
        features=tuple(text(feature) for feature in children(single.get("features"))),
        implied=tuple(text(feature) for feature in children(single.get("implied"))),
        compiler=_command(single.get("compiler")),
        runner=_command(single.get("runner")),
        passes=names(children(single["passes"])) if "passes" in single else None,
        levels=tuple(_level(builder, item) for item in items if kind_of(item) == "level"),
        coefficients=_coefficients(builder, items),
        span=builder.span(tree),
    )


def _command(item: Tree[Token] | None) -> str | None:
    """The text of an item that has one, if the item is there."""
    return None if item is None else text(children(item)[0])


def _integers(builder: Builder, tokens: Iterable[Token]) -> tuple[int, ...]:
    return tuple(builder.integer(token) for token in tokens)


def _size(builder: Builder, tree: Tree[Token]) -> int:
    """``48 KiB`` or ``64``."""
    return builder.integer(*slots(tree))


# --------------------------------------------------------------------------- levels


def _level(builder: Builder, tree: Tree[Token]) -> target_ast.LevelDecl:
    name, *items = children(tree)
    properties = [item for item in items if kind_of(item) != "coefficient"]
    builder.once((kind_of(item), item) for item in properties)
    return target_ast.LevelDecl(
        name=str(name),
        properties=tuple((kind_of(item), _property(builder, item)) for item in properties),
        in_vectors=any(tree.find_data("vectors")),
        coefficients=_coefficients(builder, items),
        span=builder.span(tree),
    )


def _property(builder: Builder, tree: Tree[Token]) -> tuple[int, ...]:
    """The numbers of a property: a size, a number of vectors, a list of widths, or none."""
    parts = children(tree)
    if not parts or isinstance(parts[0], Token):
        return _integers(builder, parts)
    amount = parts[0]
    if kind_of(amount) == "vectors":
        return _integers(builder, children(amount))
    return (_size(builder, amount),)


def _coefficients(
    builder: Builder, items: Iterable[Tree[Token]]
) -> tuple[target_ast.CoefficientDecl, ...]:
    chosen = [item for item in items if kind_of(item) == "coefficient"]
    return tuple(_coefficient(builder, item) for item in chosen)


def _coefficient(builder: Builder, tree: Tree[Token]) -> target_ast.CoefficientDecl:
    """The comment that ends the line is part of the declaration: the number's source."""
    name, value, doc = children(tree)
    span = builder.span(tree)
    comment = _SOURCE.match(builder.source.text, span.end)
    return target_ast.CoefficientDecl(
        name=str(name),
        value=builder.real(value),
        doc=text(doc),
        source=comment[1].strip() if comment else "",
        span=span,
    )


# --------------------------------------------------------------------------- primitives


def _primitives(builder: Builder, tree: Tree[Token]) -> target_ast.PrimitivesDecl:
    dtype, lanes, target, *entries = children(tree)
    return target_ast.PrimitivesDecl(
        dtype=str(dtype),
        lanes=builder.integer(lanes),
        target=dotted(target),
        entries=tuple(_entries(entries)),
        span=builder.span(tree),
    )


def _definition(builder: Builder, tree: Tree[Token]) -> target_ast.DefinitionDecl:
    name, *parts = children(tree)
    place = next(i for i, part in enumerate(parts) if isinstance(part, Tree))  # of the target
    signature, (target, doc, cycles, *equations) = parts[:place], parts[place:]
    *parameters, dtype = map(str, signature)
    return target_ast.DefinitionDecl(
        name=str(name),
        name_span=builder.span(name),
        parameters=tuple(parameters),
        dtype=dtype,
        target=dotted(target),
        doc=text(doc),
        cycles=str(cycles),
        equations=tuple(_equation(builder, part) for part in equations),
        span=builder.span(tree),
    )


def _equation(builder: Builder, tree: Tree[Token]) -> target_ast.Equation:
    name, value = children(tree)
    return target_ast.Equation(
        name=str(name),
        name_span=builder.span(name),
        value=expression(builder, value),
        span=builder.span(tree),
    )


def _entries(tokens: list[Token]) -> Iterator[tuple[str, str, str | None]]:
    """Group ``NAME STRING [NAME]``: a name that no text follows is the coefficient."""
    for index, token in enumerate(tokens):
        if token.type != "STRING":
            continue
        after, follower = [*tokens[index + 1 :], None, None][:2]
        cycles = after is not None and (follower is None or follower.type != "STRING")
        yield str(tokens[index - 1]), text(token), str(after) if cycles else None
