"""Checks of the operand patterns of kernels: levels, dtypes, widths, layouts and ranks."""

from __future__ import annotations

from collections.abc import Sequence

from morello.checking.kinds import counted
from morello.checking.panels import wrong_panels
from morello.ir.dtypes import DTYPES
from morello.ir.operators import Operator
from morello.ir.target import Level, Target
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.indices import written
from morello.language.places import within
from morello.records import replace


def pattern_variables(match: target_ast.KernelMatch) -> dict[str, target_ast.KernelOperand]:
    """Variables in the shapes of a match, each with the first operand that has it."""
    found: dict[str, target_ast.KernelOperand] = {}
    for pattern in match.operands:
        for extent in pattern.shape:
            if isinstance(extent, str):
                found.setdefault(extent, pattern)
    return found


def check_pattern(
    pattern: target_ast.KernelOperand, target: Target, collector: Collector, *, along: bool
) -> None:
    """Check what one operand's pattern says by itself.

    Args:
        pattern: The pattern.
        target: The kernel's target, whose levels it may name.
        collector: Takes the errors, T047 (dtype), T048 (level, vector) and T049 (shape, layout).
        along: Whether it is for operands along rows, which have vectors in memory too.
    """
    after_name = pattern.span.start + len(pattern.name)
    if pattern.dtype != target_ast.ANY and pattern.dtype not in DTYPES:
        place = within(pattern.span, pattern.dtype, after=after_name)
        help = collector.suggestion(pattern.dtype, [*DTYPES, target_ast.ANY])
        message = f"unknown dtype '{pattern.dtype}'"
        collector.error("T047", message, place, "not a dtype", help)
    for name in pattern.levels:
        if name not in target.level_by_name:
            place = within(pattern.span, name, after=after_name)
            message = f"unknown level '{name}'"
            help = collector.suggestion(name, [*target.level_by_name, "farther"])
            collector.error("T048", message, place, f"'{target.name}' has no such level", help)
    if pattern.farther and pattern.levels[-1] == target.farthest.name:
        message = f"no level is farther than '{target.farthest}'"
        place = within(pattern.span, "farther", after=after_name)
        collector.error("T048", message, place, help="remove 'or farther'")
    _vector(pattern, target, along, collector)
    _shape(pattern, collector)


def on_target(match: target_ast.KernelMatch, target: Target) -> target_ast.KernelMatch:
    """The same with all levels named that a target has: those that are ``farther``, too."""
    return replace(match, operands=tuple(_on_target(one, target) for one in match.operands))


def _on_target(pattern: target_ast.KernelOperand, target: Target) -> target_ast.KernelOperand:
    last = target.level_by_name.get(pattern.levels[-1])
    if not pattern.farther or last is None:
        return pattern
    farther = tuple(v.name for v in target.levels if v.distance > last.distance)
    return replace(pattern, levels=(*pattern.levels, *farther), farther=False)


def check_rows(kernel: target_ast.KernelDecl, collector: Collector) -> None:
    """Check what is particular to a kernel for rows.

    Args:
        kernel: The kernel, with a match of such a kind.
        collector: Takes the errors, T054.
    """
    match = kernel.match
    along, *others = match.operands
    help = f"{match.kind} op (f32[..., n] at reg vector 64; f32[...] at l1)"
    if not along.rest or len(along.shape) != 1:
        message = "operands along the rows have one dimension, and '...' for further ones of size 1"
        collector.error("T054", message, along.span, "not a row", help)
    for pattern in others:
        if not pattern.rest or pattern.shape:
            message = "operands across the rows have one element: '[...]'"
            collector.error("T054", message, pattern.span, "not one element", help)
    if kernel.template is not None:
        message = f"a kernel for any {match.kind} operator is written from its meaning"
        help = "write 'emit definition', or match one operator by name"
        collector.error("T054", message, match.operator_span, "with a template", help)


def _vector(
    pattern: target_ast.KernelOperand, target: Target, along: bool, collector: Collector
) -> None:
    known = [target.level_by_name[n] for n in pattern.levels if n in target.level_by_name]
    if len(known) != len(pattern.levels):
        return
    registers = [level for level in known if not level.addressable]
    if along and not registers:
        registers = [level for level in target.levels if not level.addressable]
    if pattern.lanes is not None:
        _lanes(pattern, registers, along, collector)
        return
    width = pattern.vector
    place = pattern.span
    if width is not None:
        after = pattern.span.source.text.rfind("vector", 0, pattern.span.end)
        place = within(pattern.span, str(width), after=max(pattern.span.start, after))
    for level in registers:
        offered = ", ".join(str(v) for v in level.vectors)
        if width is None:
            message = f"an operand at '{level.name}' needs a vector width"
            help = f"add 'vector' and one of: {offered}"
            collector.error("T048", message, place, "no vector width", help)
        elif width not in level.vectors:
            message = f"level '{level.name}' has no vectors of {width} bytes"
            collector.error("T048", message, place, "not offered", f"it offers: {offered}")
    if width is not None and not registers:
        message = f"level '{known[-1].name}' is addressable, so it has no vectors"
        collector.error("T048", message, place, help="remove 'vector'")
    dtype = DTYPES.get(pattern.dtype)
    if width is not None and dtype is not None and width % dtype.bytes:
        message = f"a vector of {width} bytes does not hold whole elements of {dtype}"
        collector.error("T048", message, place, f"{dtype} has {dtype.bytes} bytes")


def _lanes(
    pattern: target_ast.KernelOperand, registers: Sequence[Level], along: bool, collector: Collector
) -> None:
    """Vectors of so many lanes: of each type of as many bytes as that takes."""
    after = pattern.span.source.text.rfind("lanes", 0, pattern.span.end) + len("lanes")
    place = within(pattern.span, str(pattern.lanes), after=max(pattern.span.start, after))
    if not isinstance(pattern.lanes, int):
        message = f"'{pattern.lanes}' is no parameter of the kernel"
        help = "say how many, or write 'for any x L' after the kernel's name"
        collector.error("T048", message, place, help=help)
        return
    if not along and pattern.lanes != 1:
        message = "only rows have vectors of so many lanes"
        collector.error("T048", message, place, help="say how many bytes: 'vector 64'")
        return
    dtypes = [DTYPES[pattern.dtype]] if pattern.dtype in DTYPES else list(DTYPES.values())
    widths = {pattern.width(dtype.bytes) for dtype in dtypes}
    for level in registers:
        if not widths & {*level.vectors}:
            offered = ", ".join(str(v) for v in level.vectors)
            message = f"level '{level.name}' has no vectors of {counted(pattern.lanes, 'lane')}"
            help = f"it offers so many bytes: {offered}"
            collector.error("T048", message, place, "not offered", help)


def _shape(pattern: target_ast.KernelOperand, collector: Collector) -> None:
    rank = len(pattern.shape)
    if pattern.order and sorted(pattern.order) != list(range(rank)):
        message = f"layout {pattern.order} does not order {counted(rank, 'dimension')}"
        after = max(pattern.span.start, pattern.span.source.text.find("layout", pattern.span.start))
        place = within(pattern.span, "layout", after=after)
        help = f"name each of 0 to {rank - 1} once, the slowest first; or write 'layout any'"
        collector.error("T049", message, place, help=help if rank else "write 'layout any'")
    for message, help in filter(None, (wrong_panels(panel, rank) for panel in pattern.panels)):
        after = pattern.span.source.text.find("panels", pattern.span.start)
        place = within(pattern.span, "panels", after=max(pattern.span.start, after))
        collector.error("T049", message, place, help=help)
    for extent in pattern.shape:
        if isinstance(extent, int) and extent < 1:
            message = f"a dimension of size {extent}; the least is 1"
            place = within(pattern.span, str(extent))
            collector.error("T049", message, place, "never matches")


def check_ranks(match: target_ast.KernelMatch, operator: Operator, collector: Collector) -> None:
    """Check that the operator can have operands of the ranks that a match names.

    Args:
        match: A match that names the operator, with as many operands as it has.
        operator: The operator.
        collector: Takes the errors, T049.
    """
    before = len(collector.diagnostics)
    for parameter, pattern in zip(operator.parameters, match.operands, strict=True):
        rank, single = len(pattern.shape), sum(not i.group for i in parameter.indices)
        grouped = single < len(parameter.indices)
        # '...' stands for dimensions that are left out; a group for any number of them.
        too_few, too_many = rank < single and not pattern.rest, rank > single and not grouped
        if too_few or too_many:
            form = f"{parameter.name}: {parameter.dtype}[{written(parameter.indices)}]"
            shown = counted(rank, "dimension")
            message = f"'{parameter.name}' of '{operator.name}' cannot have {shown}"
            help = f"it is declared as {form}"
            collector.error("T049", message, pattern.span, shown, help)
    exact = not any(pattern.rest for pattern in match.operands)
    if exact and len(collector.diagnostics) == before:
        ranks = tuple(len(pattern.shape) for pattern in match.operands)
        if operator.group_rank(ranks) is None:
            message = f"'{operator.group}...' has not the same number of dimensions everywhere"
            collector.error("T049", message, match.operator_span, "never matches")
