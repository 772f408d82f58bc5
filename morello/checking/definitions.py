"""Checks of functions that are defined by equations, and in which of a target's lanes they are.

A definition is a primitive that is made of others. It is there for an element type with so many
lanes where the target does not write it itself, and has all that the definition is made of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from morello.checking.kinds import KnownNames, Typed, expect, infer
from morello.checking.primitives import Table
from morello.ir.dtypes import DTYPES, DTYPES_ARE
from morello.ir.primitives import SHIFTS, TYPE, entry_of, primitives_in
from morello.ir.target import Definition, Primitives, Target
from morello.language import ast, target_ast
from morello.language.diagnostics import Collector
from morello.language.functions import ARITHMETIC, LANES
from morello.language.places import within
from morello.language.source import Span
from morello.language.traverse import children, subexpressions, with_children
from morello.records import replace

Key = tuple[str, str]
"""Element type and name."""


def check_definitions(
    files: Sequence[target_ast.TargetFile],
    targets: Mapping[str, Target],
    declared: Collection[str],
    tables: Mapping[str, Table],
    collector: Collector,
) -> dict[str, Table]:
    """Check the definitions of all targets, and add them to the primitives.

    Args:
        files: Parsed ``.mtarget`` files.
        targets: Targets that could be built, each after its base.
        declared: Names of all targets, including those that could not be built.
        tables: For each target its primitives.
        collector: Takes the errors.

    Returns:
        For each target its primitives, with those that are defined.
    """
    own: dict[str, dict[Key, Definition]] = {}
    for node in chain.from_iterable(f.definitions for f in files):
        before = len(collector.diagnostics)
        known = own.setdefault(node.target, {})
        _check(node, targets, declared, known, collector)
        if len(collector.diagnostics) == before:
            known[node.dtype, node.name] = _definition(node)
    return {
        name: _extended(tables[name], _inherited(target, own, collector))
        for name, target in targets.items()
    }


def _check(
    node: target_ast.DefinitionDecl,
    targets: Mapping[str, Target],
    declared: Collection[str],
    known: Mapping[Key, Definition],
    collector: Collector,
) -> None:
    head = node.name_span.end
    if node.target not in declared:
        message = f"function '{node.name}' is on '{node.target}', which is not a target"
        help = collector.suggestion(node.target, declared)
        place = within(node.span, node.target, after=head)
        collector.error("T071", message, place, "unknown", help)
    if (node.dtype, node.name) in known:
        message = f"function '{node.name}' of {node.dtype} is defined twice on '{node.target}'"
        first = known[node.dtype, node.name].declaration.name_span
        help = f"the first definition is at {first}; remove one of them"
        collector.error("T070", message, node.name_span, "second definition", help)
    if node.dtype not in DTYPES:
        place = within(node.span, node.dtype, after=head)
        collector.error("T032", f"unknown dtype '{node.dtype}'", place, "not a dtype", DTYPES_ARE)
    if not node.doc.strip():
        message = f"function '{node.name}' has no sentence that says what it computes"
        collector.error("T072", message, node.name_span, help='write it in quotes before "cost"')
    target = targets.get(node.target)
    if target is not None and node.cycles not in target.coefficients:
        place = within(node.span, node.cycles, after=head)
        help = collector.suggestion(node.cycles, target.coefficients)
        message = f"unknown coefficient '{node.cycles}'"
        collector.error("T033", message, place, f"'{target.name}' has no such", help)
    _equations(node, collector)


def _equations(node: target_ast.DefinitionDecl, collector: Collector) -> None:
    names: dict[str, Typed] = {}
    for name in node.parameters:
        if name in names:
            _twice(name, within(node.span, name, after=node.name_span.end), collector)
        names[name] = Typed("number")
    functions = {**ARITHMETIC, **LANES}
    *steps, last = node.equations
    for step in steps:
        if step.name in names or step.name == node.name:
            _twice(step.name, step.name_span, collector)
        kind = infer(step.value, KnownNames(names, functions), collector)
        names[step.name] = kind
    expect(last.value, "number", KnownNames(names, functions), collector, what="the value")
    if last.name != node.name:
        message = f"the last equation of '{node.name}' is of '{last.name}'"
        help = f"end with '{node.name} = ...': that is its value"
        collector.error("T077", message, last.name_span, "not the function", help)
    for equation in node.equations:
        for expr in subexpressions(equation.value):
            _shift(expr, collector)


def _twice(name: str, place: Span, collector: Collector) -> None:
    message = f"'{name}' stands for two values"
    collector.error("T078", message, place, "again", "give it a name of its own")


def _shift(expr: ast.Expr, collector: Collector) -> None:
    """How far bits are moved stands in the instruction."""
    match expr:
        case ast.Call(function=function, args=(_, count)) if function in SHIFTS:
            whole = isinstance(count, ast.Number) and count.value in range(1, 32)
            if not whole:
                message = f"'{function}' moves bits by a whole number of places, from 1 to 31"
                collector.error("K005", message, count.span, "not such a number")


def _definition(node: target_ast.DefinitionDecl) -> Definition:
    """The definition, its equations put in for their names. They share what they have in common."""
    values: dict[str, ast.Expr] = {
        name: ast.Element(name, (), span=node.name_span) for name in node.parameters
    }
    for equation in node.equations:
        values[equation.name] = _with(values, equation.value)
    value = values.pop(node.name)
    named = {name: value for name, value in values.items() if name not in node.parameters}
    return Definition(
        node.name, node.dtype, node.parameters, value, named, node.cycles, node.doc, node
    )


def _with(values: Mapping[str, ast.Expr], expr: ast.Expr) -> ast.Expr:
    match expr:
        case ast.Name(id=name):
            return values[name]
        case ast.Call(function=dtype, args=(value,), span=span) if dtype in DTYPES:
            return ast.Computed(_with(values, value), dtype, span=span)
        case ast.Element():
            return expr
    return with_children(expr, [_with(values, child) for child in children(expr)])


def needed(definition: Definition) -> set[Key]:
    """Element type and name of the primitives that a definition is made of."""
    dtypes = dict.fromkeys(definition.parameters, definition.dtype)
    return {*primitives_in(definition.value, definition.dtype, dtypes)}


def _inherited(
    target: Target, own: Mapping[str, Mapping[Key, Definition]], collector: Collector
) -> dict[Key, Definition]:
    """The target's definitions, each after those that it needs."""
    found: dict[Key, Definition] = {}
    for base in target.lineage:
        found |= own.get(base, {})
    needs = {key: needed(definition) & found.keys() for key, definition in found.items()}
    order: dict[Key, Definition] = {}
    while ready := [k for k, others in needs.items() if k not in order and others <= order.keys()]:
        order |= {key: found[key] for key in ready}
    for key in found.keys() - order.keys():
        if found[key].declaration.target == target.name:
            message = f"function '{key[1]}' is defined by itself, or by what is defined by it"
            collector.error("T079", message, found[key].declaration.name_span, "in a circle")
    return order


def _extended(table: Table, definitions: Mapping[Key, Definition]) -> Table:
    extended: Table = dict(table)
    for (dtype, name), definition in definitions.items():
        for lanes in [lanes for own, lanes in table if own == dtype]:
            has = extended[dtype, lanes]
            if TYPE not in has.entries or name in has.entries:
                continue
            needs = sorted(needed(definition))
            missing = [(d, p) for d, p in needs if not _written(extended, d, lanes, p)]
            if missing:
                lacks = dict.fromkeys(f"'{entry_of(p)}' for {d}" for d, p in missing)
                lacking = {**has.lacking, name: tuple(lacks)}
                extended[dtype, lanes] = replace(has, lacking=lacking)
            else:
                extended[dtype, lanes] = _with_entry(has, definition)
    return extended


def _written(table: Table, dtype: str, lanes: int, primitive: str) -> bool:
    has = table.get((dtype, lanes))
    return has is not None and has.text(primitive) is not None


def _with_entry(has: Primitives, definition: Definition) -> Primitives:
    called = definition.called_in(has.lanes)
    arguments = ", ".join(f"{{{i}}}" for i in range(len(definition.parameters)))
    entry = (f"{called}({arguments})", definition.coefficient)
    return replace(
        has,
        entries={**has.entries, definition.name: entry},
        definitions={**has.definitions, definition.name: definition},
    )
