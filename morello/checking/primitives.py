"""Checks of the primitives that an emitter writes C with, with inheritance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from string import Formatter

from morello.checking.kinds import counted
from morello.ir.dtypes import DTYPES, DTYPES_ARE
from morello.ir.primitives import TYPE, arguments_by_primitive
from morello.ir.target import Primitives, Target
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within

Table = dict[tuple[str, int], Primitives]


def check_primitives(
    files: Sequence[target_ast.TargetFile],
    targets: Mapping[str, Target],
    declared: Collection[str],
    collector: Collector,
) -> dict[str, Table]:
    """Check the primitives of all targets.

    Args:
        files: Parsed ``.mtarget`` files.
        targets: Targets that could be built, each after its base.
        declared: Names of all targets, including those that could not be built.
        collector: Takes the errors.

    Returns:
        For each target its primitives by dtype and lanes, with those that it inherits; an entry
        that is given again replaces the inherited one.
    """
    defined = {node.name for file in files for node in file.definitions}
    own: dict[str, dict[tuple[str, int], target_ast.PrimitivesDecl]] = {}
    for node in chain.from_iterable(f.primitives for f in files):
        if node.target not in declared:
            _unknown_target(node, declared, collector)
            continue
        block = own.setdefault(node.target, {})
        key = (node.dtype, node.lanes)
        if key in block:
            message = f"primitives '{node.dtype} x {node.lanes}' on '{node.target}' stand twice"
            help = f"the first ones are at {block[key].span}; join them"
            collector.error("T030", message, node.span, "second time", help)
            continue
        block[key] = node
        _check(node, targets.get(node.target), collector)
        _check_texts(node, defined, collector)
    tables = _inherited(own, targets)
    for name, blocks in own.items():
        if name in targets:
            _check_vectors(targets[name], blocks.values(), tables[name], collector)
    return tables


def _inherited(
    own: Mapping[str, Mapping[tuple[str, int], target_ast.PrimitivesDecl]],
    targets: Mapping[str, Target],
) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    for name, target in targets.items():
        base = target.lineage[-2] if len(target.lineage) > 1 else None
        table = dict(tables[base]) if base else {}
        for key, node in own.get(name, {}).items():
            inherited = table[key].entries if key in table else {}
            entries = {word: (text, cycles) for word, text, cycles in node.entries}
            table[key] = Primitives(node.dtype, node.lanes, {**inherited, **entries})
        tables[name] = table
    return tables


def _unknown_target(
    node: target_ast.PrimitivesDecl, declared: Collection[str], collector: Collector
) -> None:
    message = f"primitives on '{node.target}', which is not a target"
    place = within(node.span, node.target)
    collector.error("T031", message, place, "unknown", collector.suggestion(node.target, declared))


def _check(node: target_ast.PrimitivesDecl, target: Target | None, collector: Collector) -> None:
    if node.dtype not in DTYPES:
        message = f"unknown dtype '{node.dtype}'"
        place = within(node.span, node.dtype, after=node.span.start + len("primitives"))
        collector.error("T032", message, place, "not a dtype", DTYPES_ARE)
    if node.lanes < 1:
        collector.error("T032", "a vector has at least 1 lane", within(node.span, str(node.lanes)))
    body = max(node.span.start, node.span.source.text.find("{", node.span.start))
    seen: set[str] = set()
    for word, _, cycles in node.entries:
        if word in seen:
            message = f"primitive '{word}' is given twice"
            collector.error("T030", message, within(node.span, word, after=body))
        seen.add(word)
        if cycles is not None and target is not None and cycles not in target.coefficients:
            message = f"unknown coefficient '{cycles}'"
            place = within(node.span, cycles, after=body)
            help = collector.suggestion(cycles, target.coefficients)
            collector.error("T033", message, place, f"'{target.name}' has no such", help)


def _check_texts(
    node: target_ast.PrimitivesDecl, defined: Collection[str], collector: Collector
) -> None:
    """Refuse entries that nothing asks for, and texts that have no place for their arguments."""
    known = arguments_by_primitive(max(node.lanes, 1))
    body = max(node.span.start, node.span.source.text.find("{", node.span.start))
    for word, text, _ in node.entries:
        place = within(node.span, word, after=body)
        if word not in known:
            if word not in defined:
                message = f"there is no primitive '{word}' of {counted(node.lanes, 'lane')}"
                help = collector.suggestion(word, [*known, *defined])
                collector.error("T034", message, place, "unknown", help)
        elif known[word] and (reason := _unfillable(text, known[word])):
            message = f"the text of primitive '{word}' cannot be filled in: {reason}"
            help = "{0}, {1} stand for arguments; a brace of C is written twice: {{ or }}"
            collector.error("T035", message, place, help=help)


def _unfillable(text: str, arguments: int) -> str:
    """Why a text has no place for so many arguments, or empty."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(text) if field is not None]
    except ValueError as error:
        return str(error).lower()
    places = set(map(str, range(arguments)))
    wrong = next((field for field in fields if field not in places), None)
    return "" if wrong is None else f"it has {counted(arguments, 'argument')}, not {{{wrong}}}"


def _check_vectors(
    target: Target,
    blocks: Collection[target_ast.PrimitivesDecl],
    table: Table,
    collector: Collector,
) -> None:
    """Refuse vectors without a C type, and numbers of lanes that no register has of any type."""
    widths = target.vector_widths
    sizes = [(lanes, DTYPES[dtype].bytes) for dtype, lanes in table if dtype in DTYPES]
    held = {lanes for lanes, element in sizes if lanes * element in widths}
    for node in blocks:
        place = within(node.span, node.dtype, after=node.span.start + len("primitives"))
        what = f"primitives '{node.dtype} x {node.lanes}' on '{target.name}'"
        if TYPE not in table[node.dtype, node.lanes].entries:
            message = f"{what} have no type"
            collector.error("T036", message, place, help='such as: type "float"')
        elif node.dtype in DTYPES and node.lanes > 1 and node.lanes not in held:
            message = f"{what} fill no register of the target"
            offered = ", ".join(map(str, sorted(widths))) or "none"
            help = f"registers have so many bytes: {offered}; 'vector' of a level says which"
            collector.error("T037", message, place, help=help)
