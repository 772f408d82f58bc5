"""Checks of a target's levels of memory and of named coefficients, with inheritance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, takewhile

from msgspec import Struct

from morello.ir.target import Coefficient, Level
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.source import Span

TRANSFERS = (
    "fetch",
    "fetch_strided",
    "fetch_paged",
    "fetch_short",
    "fetch_alone",
    "fetch_crowded",
    "store",
    "store_strided",
    "store_paged",
    "store_short",
    "store_alone",
    "store_crowded",
)
"""The coefficients that a level may have.

Cycles for each line, for each row that is apart (at most so many for each line of it), for each
line of a row that is read by itself (of several side by side, a share), and for each line where
more rows are read side by side than there are streams.
"""

SOURCES = ("calibrated", "measured", "manual")


def check_coefficients(
    declared: Sequence[target_ast.CoefficientDecl], collector: Collector
) -> dict[str, Coefficient]:
    """Check coefficients that stand in one block.

    Returns:
        Coefficients by name, in cycles.
    """
    found: dict[str, Coefficient] = {}
    for node in declared:
        place = within(node.span, node.name, after=node.span.start + len("coefficient"))
        if node.name in found:
            message = f"coefficient '{node.name}' is given twice"
            collector.error("T010", message, place, "second time")
        if not math.isfinite(node.value) or node.value < 0:
            message = f"coefficient '{node.name}' is {node.value:g} cycles; it must be 0 or more"
            collector.error("T011", message, place, help="a negative cost would reward work")
        words = node.source.split()
        if not words or words[0].rstrip(":;,.") not in SOURCES:
            given = f"'{node.source}'" if words else "nothing"
            message = f"coefficient '{node.name}' does not say where its number is from"
            help = f"write '# {', '.join(SOURCES[:-1])} or {SOURCES[-1]}' at the end of its line"
            collector.error("T012", message, place, f"{given} given as its source", help)
        found[node.name] = Coefficient(node.name, float(node.value), node.doc, node.source)
    return found


def check_levels(
    declaration: target_ast.TargetDecl, inherited: Sequence[Level], collector: Collector
) -> tuple[Level, ...]:
    """Check a target's levels and join them with those that it inherits.

    A level that the base has too keeps what is not given again. A new one is nearer than the level
    that stands before it in the text, or the farthest where none does.

    Args:
        declaration: The target; its levels go from the farthest to the nearest.
        inherited: Levels of the base, nearest first.
        collector: Takes the errors.

    Returns:
        Levels, nearest first, with their distances.
    """
    forms = [_inherited_form(level) for level in reversed(inherited)]
    own: set[str] = set()
    position = 0
    for node in declaration.levels:
        place = _named(node)
        if node.name in own:
            collector.error("T020", f"level '{node.name}' is declared twice", place, "second time")
            continue
        own.add(node.name)
        known = next((i for i, form in enumerate(forms) if form.name == node.name), None)
        form = _form(node, None if known is None else forms[known], collector)
        if known is None:
            forms.insert(position, form)
        else:
            forms[known] = form
        position = (position if known is None else known) + 1
        _consistent(form, place, collector)
    _farthest(declaration, forms, collector)
    _beside(declaration, forms, collector)
    return tuple(_levels(forms))


def _beside(
    declaration: target_ast.TargetDecl, forms: Sequence[_Form], collector: Collector
) -> None:
    """Levels where arguments are follow the farthest, those of smaller arguments later."""
    beside = list(takewhile(lambda form: "arguments" in form.properties, forms[1:]))
    nodes = {node.name: node for node in declaration.levels}
    for form in forms[1 + len(beside) :]:
        if "arguments" in form.properties and form.name in nodes:
            message = f"'{form.name}' is where arguments are, but not beside the farthest level"
            help = "declare it after the farthest, before all others"
            collector.error("T023", message, _named(nodes[form.name]), help=help)
    for farther, nearer in pairwise(beside):
        own = [nodes[form.name] for form in (nearer, farther) if form.name in nodes]
        if own and (nearer.number("arguments") or 0) >= (farther.number("arguments") or 0):
            message = f"no argument is ever at '{farther.name}': '{nearer.name}' is nearer"
            help = f"let '{nearer.name}' have smaller arguments than '{farther.name}'"
            collector.error("T023", message, _named(own[0]), help=help)


def _named(node: target_ast.LevelDecl) -> Span:
    return within(node.span, node.name, after=node.span.start + len("level"))


def _levels(forms: Sequence[_Form]) -> Iterator[Level]:
    """Nearest first. Where arguments are is as far away as the farthest, which it is beside."""
    distance = 0
    for form in reversed(forms):
        yield _level(form, distance)
        distance += "arguments" not in form.properties


class _Form(Struct, frozen=True):
    """A level as it is declared: capacity in bytes or, if ``in_vectors``, in registers."""

    name: str
    properties: Mapping[str, tuple[int, ...]]
    in_vectors: bool
    coefficients: Mapping[str, Coefficient]

    def number(self, name: str) -> int | None:
        """The only number of a property."""
        values = self.properties.get(name)
        return values[0] if values else None

    @property
    def addressable(self) -> bool:
        return "not_addressable" not in self.properties


def _inherited_form(level: Level) -> _Form:
    properties: dict[str, tuple[int, ...]] = {}
    if level.capacity is not None:
        properties["capacity"] = (level.capacity * level.capacity_unit,)
        if level.addressable:
            properties["capacity_unit"] = (level.capacity_unit,)
    if level.arguments:
        properties["arguments"] = (level.arguments,)
    if level.streams:
        properties["streams"] = (level.streams,)
    if level.line > 1:
        properties["line"] = (level.line,)
    if level.vectors:
        properties["vector"] = level.vectors
    if level.cache:
        properties["cache"] = ()
    if not level.addressable:
        properties["not_addressable"] = ()
    return _Form(level.name, properties, not level.addressable, level.coefficients)


def _form(node: target_ast.LevelDecl, base: _Form | None, collector: Collector) -> _Form:
    for name, values in node.properties:
        shown = name.split("_")[-1]
        if any(value < 1 for value in values):
            message = f"'{shown}' of level '{node.name}' is {min(values)}; the least is 1"
            collector.error("T021", message, within(node.span, shown))
    coefficients = check_coefficients(node.coefficients, collector)
    for coefficient in node.coefficients:
        if coefficient.name not in TRANSFERS:
            place = within(coefficient.span, coefficient.name)
            message = f"a level has no coefficient '{coefficient.name}'"
            help = collector.suggestion(coefficient.name, TRANSFERS)
            collector.error("T013", message, place, "not known here", help)
    properties = dict(node.properties)
    in_vectors = node.in_vectors
    if base is not None:
        in_vectors = node.in_vectors if "capacity" in properties else base.in_vectors
        properties = {**base.properties, **properties}
        coefficients = {**base.coefficients, **coefficients}
    return _Form(node.name, properties, in_vectors, coefficients)


def _consistent(form: _Form, place: Span, collector: Collector) -> None:
    """Properties that need each other or exclude each other."""
    for wrong, message, help in (
        *(_memory_rules(form) if form.addressable else _register_rules(form)),
        (
            "cache" in form.properties and "line" not in form.properties,
            "is a cache, so it needs a line",
            "such as 'line 64'",
        ),
    ):
        if wrong:
            collector.error("T021", f"level '{form.name}' {message}", place, help=help)


def _memory_rules(form: _Form) -> tuple[tuple[bool, str, str], ...]:
    capacity, unit = form.number("capacity"), form.number("capacity_unit")
    remainder = bool(capacity and unit and not form.in_vectors and capacity % unit)
    return (
        (
            form.in_vectors,
            "is addressable, so its capacity is in bytes",
            "give bytes, such as 'capacity 32 KiB', or say 'not addressable'",
        ),
        (
            "vector" in form.properties,
            "is addressable, so it has no vectors",
            "remove 'vector', or say 'not addressable'",
        ),
        (
            "cache" in form.properties and capacity is None,
            "is a cache, so it needs a capacity",
            "such as 'capacity 32 KiB'",
        ),
        (
            capacity is not None and unit is None and not form.in_vectors,
            "has a capacity, so it needs a unit, the step in which it is counted",
            "such as 'capacity_unit 2 KiB'",
        ),
        (
            "arguments" in form.properties and ("cache" in form.properties or capacity is not None),
            "is where arguments are, so it has no capacity and is no cache",
            "nothing is placed there: 'arguments' says how large one may be that is there at first",
        ),
        (
            remainder,
            f"has a capacity of {capacity} bytes, no multiple of its capacity unit, {unit}",
            "choose a unit that divides the capacity",
        ),
    )


def _register_rules(form: _Form) -> tuple[tuple[bool, str, str], ...]:
    return (
        (
            "capacity" not in form.properties,
            "is not addressable, so it needs a capacity",
            "such as 'capacity 16 vectors'",
        ),
        (
            "capacity" in form.properties and not form.in_vectors,
            "is not addressable, so its capacity is in vectors",
            "such as 'capacity 16 vectors'",
        ),
        (
            "vector" not in form.properties,
            "is not addressable, so it needs the widths of its vectors, in bytes",
            "such as 'vector 4, 32'",
        ),
        (
            "capacity_unit" in form.properties,
            "is not addressable, so it has no capacity unit",
            "remove 'capacity_unit': registers are counted one by one",
        ),
        (
            "arguments" in form.properties,
            "is not addressable, so it keeps no arguments",
            "remove 'arguments'",
        ),
        (
            "cache" in form.properties,
            "is not addressable, so it is no cache",
            "remove 'cache' or 'not addressable'",
        ),
    )


def _farthest(
    declaration: target_ast.TargetDecl, forms: Sequence[_Form], collector: Collector
) -> None:
    if not forms:
        message = f"target '{declaration.name}' has no levels, and inherits none"
        collector.error("T022", message, declaration.name_span, help="such as 'level mem { }'")
        return
    farthest = forms[0]
    if not farthest.addressable or "capacity" in farthest.properties:
        own = next((n for n in declaration.levels if n.name == farthest.name), None)
        place = declaration.name_span if own is None else within(own.span, farthest.name)
        reason = "has a capacity" if farthest.addressable else "is not addressable"
        message = f"'{farthest.name}' is the farthest level, but {reason}"
        help = "levels go from the farthest, which is memory without a limit, to the nearest"
        collector.error("T022", message, place, help=help)


def _level(form: _Form, distance: int) -> Level:
    capacity_unit = form.number("capacity_unit") if form.addressable else 1
    capacity = form.number("capacity")
    return Level(
        name=form.name,
        distance=distance,
        capacity=None if capacity is None else capacity // (capacity_unit or 1),
        capacity_unit=capacity_unit or 1,
        line=form.number("line") or 1,
        cache="cache" in form.properties,
        addressable=form.addressable,
        vectors=form.properties.get("vector", ()),
        arguments=form.number("arguments") or 0,
        streams=form.number("streams") or 0,
        coefficients=form.coefficients,
    )
