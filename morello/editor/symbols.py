"""Names and what is to be said of them, from syntax trees and from the tables of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from morello.ir.dtypes import DTYPES
from morello.language import ast, spec_ast, target_ast
from morello.language.functions import ARITHMETIC, ATTRIBUTES, FUNCTIONS
from morello.language.places import text_of, within
from morello.language.source import Span

File = ast.RulesFile | target_ast.TargetFile | spec_ast.SpecFile


class Symbol(Struct, frozen=True):
    """A name: what it is the name of, and where it is declared, if that is in a file.

    ``signature`` is how it is written, in the language itself; ``doc`` a sentence; ``body`` more of
    the declaration. ``owner`` is the target that has it, for what targets have each their own.
    ``members`` are names that follow a dot: operands, scalars and dimensions of an operator.
    """

    kind: str
    name: str
    signature: str = ""
    doc: str = ""
    span: Span | None = None
    body: str = ""
    owner: str = ""
    members: tuple[tuple[str, str], ...] = ()


def language_symbols(emitters: Iterable[str]) -> Iterator[Symbol]:
    """What no file declares: functions, attributes, element types, and emitters of plugins."""
    for name, signature in FUNCTIONS.items():
        text = f"{name}({signature.form}) -> {signature.result}"
        kind = "function" if name in ARITHMETIC else "query"  # of a Spec: not for sizes of specs
        yield Symbol(kind, name, text, signature.doc)
    for (base, name), result in ATTRIBUTES.items():
        yield Symbol("attribute", name, f"{base}.{name} -> {result}")
    for name, dtype in DTYPES.items():
        doc = f"An element type of {dtype.bytes} byte{'' if dtype.bytes == 1 else 's'}."
        yield Symbol("dtype", name, name, doc)
    for name in emitters:
        yield Symbol("emitter", name, f"emitter {name}")


def symbols_of(file: File) -> Iterator[Symbol]:
    """What a file declares."""
    match file:
        case ast.RulesFile():
            yield from map(_operator, file.operators)
            for rule in file.rules:
                span = rule.name_span
                yield Symbol("rule", rule.name, f"rule {rule.name}", rule.doc, span)
        case target_ast.TargetFile():
            yield from _of_targets(file)
        case spec_ast.SpecFile():
            for spec in file.specs:
                yield Symbol("spec", spec.name, f"spec {spec.name}", span=spec.name_span)


def _operator(node: ast.OperatorDecl) -> Symbol:
    inputs = ", ".join(text_of(parameter.span) for parameter in node.inputs)
    scalars = ", ".join(text_of(scalar.span) for scalar in node.scalars)
    given = "; ".join(filter(None, (inputs, scalars)))
    signature = f"op {node.name}({given}) -> {text_of(node.output.span)}"
    body = "\n".join(text_of(statement.span) for statement in node.statements)
    members = tuple(dict(_members(node)).items())
    span = node.name_span
    return Symbol("operator", node.name, signature, node.doc, span, body, members=members)


def _members(node: ast.OperatorDecl) -> Iterator[tuple[str, str]]:
    parameters = (*node.inputs, node.output)
    for parameter in parameters:
        yield parameter.name, text_of(parameter.span)
    for scalar in node.scalars:
        yield scalar.id, "scalar"
    indices = [index for parameter in parameters for index in parameter.indices]
    indices += [index for s in node.statements for index in s.target.indices]
    for index in indices:
        yield from ((name, "dimension") for name, _ in index.terms)


def _of_targets(file: target_ast.TargetFile) -> Iterator[Symbol]:
    for target in file.targets:
        base = f" extends {target.base}" if target.base else ""
        signature = f"target {target.name}{base}"
        yield Symbol("target", target.name, signature, target.doc, target.name_span)
        for coefficient in target.coefficients:
            yield _coefficient(coefficient, target.name, coefficient.name)
        for level in target.levels:
            text = text_of(level.span).partition("coefficient")[0].rstrip(" ;")
            span = within(level.span, level.name)
            yield Symbol("level", level.name, text, span=span, owner=target.name)
            for coefficient in level.coefficients:
                full = f"{level.name}.{coefficient.name}"
                yield _coefficient(coefficient, target.name, full)
    for kernel in file.kernels:
        signature = f"kernel {kernel.name} on {kernel.target}"
        body = f"match {text_of(kernel.match.span)}"
        span = kernel.name_span
        yield Symbol("kernel", kernel.name, signature, kernel.doc, span, body, kernel.target)
    for function in file.functions:
        signature = f"function {function.name} on {function.target}"
        yield Symbol("C function", function.name, signature, function.doc, function.name_span)
    for definition in file.definitions:
        shown = f"({', '.join(definition.parameters)}: {definition.dtype})"
        signature = f"function {definition.name}{shown} on {definition.target}"
        yield Symbol("C function", definition.name, signature, definition.doc, definition.name_span)
    for macro in file.macros:
        signature = f"macro {macro.name}({', '.join(macro.parameters)}) on {macro.target}"
        yield Symbol("macro", macro.name, signature, macro.doc, macro.name_span)
    for primitives in file.primitives:
        for name, text, _ in primitives.entries:
            yield Symbol("entry", name, f'{name} "{text}"', owner=primitives.target)


def _coefficient(node: target_ast.CoefficientDecl, target: str, name: str) -> Symbol:
    source = f"  # {node.source}" if node.source else ""
    signature = f"coefficient {name} = {node.value:g} cycles{source}"
    span = within(node.span, node.name)
    return Symbol("coefficient", node.name, signature, node.doc, span, owner=target)
