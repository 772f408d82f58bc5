"""From declared operators to checked ones: names, dtypes, dimensions, statements.

Codes ``O...`` are errors of the declaration; the expressions in it are checked in `meanings`. What
an operator costs and how it is computed is not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TypeGuard

from morello.checking.extents import (
    check_elsewhere,
    check_index,
    check_output,
    declared_divisions,
    declared_sizes,
)
from morello.checking.kinds import NOTHING_AROUND, NUMBER, Around, KnownNames, Typed, expect
from morello.checking.meanings import check_value, occurrences, with_sizes
from morello.ir.dtypes import DTYPES, DTYPES_ARE
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.functions import ARITHMETIC
from morello.language.indices import written
from morello.language.places import within
from morello.language.traverse import names, subexpressions
from morello.records import replace


def check_operators(files: Sequence[ast.RulesFile], collector: Collector) -> dict[str, Operator]:
    """Check every operator of all files together.

    Args:
        files: Parsed ``.mrules`` files, in any order.
        collector: Takes the errors; the result may be used only if it stayed empty.

    Returns:
        Operators by name, in the order of declaration. Wrong ones are kept, so that rules that
        name them are not errors as well.
    """
    operators: dict[str, Operator] = {}
    for declaration in chain.from_iterable(f.operators for f in files):
        first = operators.get(declaration.name)
        if first is not None:
            _duplicate(declaration, first.declaration, collector)
            continue
        operators[declaration.name] = check_operator(declaration, collector)
    return operators


def _duplicate(
    declaration: ast.OperatorDecl, first: ast.OperatorDecl, collector: Collector
) -> None:
    collector.error(
        "O001",
        f"operator '{declaration.name}' is declared twice",
        declaration.name_span,
        "second declaration",
        help=f"the first one is at {first.name_span}; rename or remove one of them",
    )


def check_operator(
    declaration: ast.OperatorDecl, collector: Collector, around: Around = NOTHING_AROUND
) -> Operator:
    """Check one declaration; the operator may be used only if there were no errors.

    ``around``: where it is the statement of a spec, what that has.
    """
    _parameters(declaration, collector)
    *before, last = declaration.statements
    known = {p.name: p for p in declaration.inputs}
    stated = declared_sizes(declaration, collector)
    tileable = declared_divisions(declaration, collector)
    check_output(declaration.output.indices, dict(stated), collector)
    parts = []
    for statement in before:
        _local(declaration, statement, known, collector)
        check_output(statement.target.indices, dict(stated), collector)
        target = statement.target
        parameter = ast.TensorParameter(
            target.tensor, declaration.output.dtype, target.indices, span=target.span
        )
        parts.append(_part(declaration, statement, known, parameter, stated, tileable))
        known.setdefault(target.tensor, parameter)
    parts.append(_part(declaration, last, known, declaration.output, stated, tileable))
    poisoned = False
    for part in parts:
        _target(part, collector)
        poisoned |= check_value(part, known, collector, around)
        check_elsewhere(part, collector)
        _dimensions(part, collector)
    if not poisoned:
        _unused(declaration, {s for part in parts for s in part.least}, collector)
    parts = list(map(with_sizes, parts))
    if not before:
        return parts[0]
    declared = (s.id for s in declaration.scalars)
    return Operator(
        name=declaration.name,
        doc=declaration.doc,
        inputs=declaration.inputs,
        output=declaration.output,
        scalars=tuple(dict.fromkeys((*declared, *(s for part in parts for s in part.scalars)))),
        statement=parts[-1].statement,
        declaration=declaration,
        parts=tuple(parts),
        stated=stated,
        tileable=tileable,
    )


def _part(
    declaration: ast.OperatorDecl,
    statement: ast.Statement,
    known: Mapping[str, ast.TensorParameter],
    output: ast.TensorParameter,
    stated: Sequence[tuple[str, ast.Factor]],
    tileable: Sequence[str],
) -> Operator:
    """One statement as an operator, of what it reads."""
    alone = len(declaration.statements) == 1
    read = dict.fromkeys(e.tensor for e in subexpressions(statement.value) if _is_element(e))
    inputs = declaration.inputs if alone else tuple(known[n] for n in read if n in known)
    dims = {d for p in (*inputs, output) for i in p.indices for d, _ in i.terms}
    part = Operator(
        name=declaration.name if alone else f"{declaration.name}.{output.name}",
        doc=declaration.doc,
        inputs=inputs,
        output=output,
        scalars=(),
        statement=statement,
        declaration=declaration,
        stated=tuple(pair for pair in stated if pair[0] in dims),
        tileable=tuple(name for name in tileable if name in dims),
    )
    used = _names_in(statement).union(part.least)
    scalars = tuple(s.id for s in declaration.scalars if alone or s.id in used)
    return replace(part, scalars=scalars)


def _names_in(statement: ast.Statement) -> set[str]:
    """Names in a statement's values."""
    elsewhere = statement.elsewhere
    return names(statement.value) | (set() if elsewhere is None else names(elsewhere))


# --------------------------------------------------------------------------- the head


def _defaults(declaration: ast.OperatorDecl, collector: Collector) -> None:
    """What scalars are by default is made of numbers and of the scalars before them."""
    before: dict[str, Typed] = {}
    for scalar in declaration.scalars:
        if scalar.default is not None:
            what = f"scalar '{scalar.id}' by default"
            expect(scalar.default, "number", KnownNames(before, ARITHMETIC), collector, what=what)
        before = {**before, scalar.id: NUMBER}


def _parameters(declaration: ast.OperatorDecl, collector: Collector) -> None:
    parameters = (*declaration.inputs, declaration.output)
    seen: set[str] = set()
    named = [(p.name, p.span) for p in declaration.inputs]
    named += [(s.id, s.span) for s in declaration.scalars]
    for name, span in (*named, (declaration.output.name, declaration.output.span)):
        if name in seen:
            message = f"operator '{declaration.name}' has two parameters named '{name}'"
            collector.error("O002", message, within(span, name), "second one")
        seen.add(name)
    for parameter in parameters:
        _dtype(parameter, collector)
        for index in parameter.indices:
            check_index(index, {s.id for s in declaration.scalars}, collector)
    _groups(declaration, parameters, collector)
    _defaults(declaration, collector)


def _dtype(parameter: ast.TensorParameter, collector: Collector) -> None:
    dtype = parameter.dtype
    if dtype in DTYPES or re.fullmatch("[A-Z]", dtype):
        return
    place = within(parameter.span, dtype, after=parameter.span.start + len(parameter.name))
    collector.error(
        "O004",
        f"unknown dtype '{dtype}'",
        place,
        "neither a dtype nor a variable",
        help=f"{DTYPES_ARE}; a variable that stands for any dtype is one capital letter, such as T",
    )


def _groups(
    declaration: ast.OperatorDecl,
    parameters: Sequence[ast.TensorParameter],
    collector: Collector,
) -> None:
    groups = [i for p in parameters for i in p.indices if i.group]
    for index in groups:
        if index.terms != groups[0].terms:
            name, first = index.terms[0][0], groups[0].terms[0][0]
            message = f"operator '{declaration.name}' has two groups, '{first}...' and '{name}...'"
            help = "one group of dimensions is all that an operator can have"
            collector.error("O006", message, index.span, "second group", help)
            return
    for parameter in parameters:
        own = [i for i in parameter.indices if i.group]
        if len(own) > 1:
            message = f"'{parameter.name}' has the group '{own[0].terms[0][0]}...' twice"
            collector.error("O006", message, own[1].span, "second time")
        for index in parameter.indices:
            if not index.group and groups and groups[0].terms[0][0] in dict(index.terms):
                name = groups[0].terms[0][0]
                message = f"'{name}' is a group here, so it is written '{name}...'"
                collector.error("O006", message, index.span, "not one dimension")


# --------------------------------------------------------------------------- the statements


def _local(
    declaration: ast.OperatorDecl,
    statement: ast.Statement,
    known: Mapping[str, ast.TensorParameter],
    collector: Collector,
) -> None:
    """A statement that is not the last one computes a new tensor, which some later one reads."""
    name = statement.target.tensor
    place = within(statement.target.span, name)
    if name == declaration.output.name:
        message = f"'{name}' is the output, which the last statement computes"
        help = "give what is computed on the way a name of its own"
        collector.error("O003", message, place, "not the last statement", help)
    elif name in known or name in {s.id for s in declaration.scalars}:
        message = f"operator '{declaration.name}' has a parameter or tensor '{name}' already"
        collector.error("O002", message, place, "second one")


def _target(operator: Operator, collector: Collector) -> None:
    target, output = operator.statement.target, operator.output
    form = f"{output.name}[{written(output.indices)}]"
    if target.tensor != output.name:
        message = f"the statement assigns to '{target.tensor}', but the output is '{output.name}'"
        place = within(target.span, target.tensor)
        collector.error("O008", message, place, "not the output", f"write {form}")
    elif target.indices != output.indices:
        message = (
            f"'{output.name}' is indexed [{written(target.indices)}]; it is declared as {form}"
        )
        collector.error("O008", message, target.span, "other indices", f"write {form}")


# --------------------------------------------------------------------------- dimensions and use


def _dimensions(operator: Operator, collector: Collector) -> None:
    direct = {dimension for dimension, _ in operator.stated}
    direct |= {
        d
        for d, index in occurrences(operator, operator.parameters)
        if index.group or index.terms == ((d, 1),)
    }
    output = dict(occurrences(operator, [operator.output]))
    inputs: dict[str, ast.Index] = {}
    for dimension, index in occurrences(operator, operator.inputs):
        inputs.setdefault(dimension, index)
    for dimension, index in inputs.items():
        if dimension not in direct:
            message = f"nothing tells the size of dimension '{dimension}'"
            help = (
                f"index some operand by '{dimension}' alone, or give it a size: "
                f"where size({dimension}) == a scalar"
            )
            collector.error("O011", message, index.span, "only part of a sum", help)
    if operator.inputs:
        stated = dict(operator.stated)
        for dimension in [d for d in output if d not in inputs and d not in stated]:
            message = f"output dimension '{dimension}' is in no input"
            help = f"give it a size: where size({dimension}) == a scalar or a number"
            collector.error("O011", message, output[dimension].span, "in no input", help)
    reduced = [d for d in inputs if d not in output]
    if reduced and operator.statement.update == "=":
        listed = ", ".join(f"'{d}'" for d in reduced)
        plural = len(reduced) > 1
        message = f"{listed} {'are' if plural else 'is'} reduced, but '=' keeps one value"
        help = "write '+=' (or 'max=', 'min='), or index the output by it"
        collector.error("O012", message, operator.statement.span, help=help)


def _is_element(expr: ast.Expr) -> TypeGuard[ast.Element]:
    return isinstance(expr, ast.Element)


def _unused(
    declaration: ast.OperatorDecl, in_indices: AbstractSet[str], collector: Collector
) -> None:
    values = [s.value for s in declaration.statements]
    read = {e.tensor for v in values for e in subexpressions(v) if _is_element(e)}
    *before, _ = declaration.statements
    tensors = [("input", p.name, p.span) for p in declaration.inputs]
    tensors += [("tensor", s.target.tensor, s.target.span) for s in before]
    for what, name, span in tensors:
        if name not in read:
            message = f"{what} '{name}' is never used"
            collector.error("O013", message, within(span, name), "unused")
    used = set[str]().union(in_indices, *map(_names_in, declaration.statements))
    for scalar in declaration.scalars:
        if scalar.id not in used:
            collector.error("O013", f"scalar '{scalar.id}' is never used", scalar.span, "unused")
