"""Notes about rules and kernels that a set of compiled specs has no use for.

A note holds for that set and for nothing else, and says so. N001: a rule never fires. N002: a rule
or kernel fires and never wins. N003: a kernel that no rule reaches. N004: panels that a kernel
takes and nothing wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from morello.ir.layout import height_of, panel_of, panel_text
from morello.ir.rule import Rule
from morello.ir.target import Microkernel
from morello.language import target_ast
from morello.language.diagnostics import Diagnostic, by_place
from morello.language.places import within
from morello.language.source import Span
from morello.report.usage.counts import InPanels
from morello.report.usage.reasons import why_kernel_never_fires, why_rule_never_fires
from morello.report.usage.tally import Compile, Tally


def notes(tallies: Iterable[Tally]) -> list[Diagnostic]:
    """What is worth knowing of each rule and kernel, over the compiles that could use it."""
    return by_place(note for tally in tallies if tally.compiles for note in _notes(tally))


def _notes(tally: Tally) -> Iterator[Diagnostic]:
    item = tally.item
    if tally.fired and not tally.won:
        yield _never_wins(tally)
    if isinstance(item, Microkernel):
        yield from _panels(tally, item) if tally.fired else [_unreached(tally, item)]
    elif not tally.fired:
        searches = [searched for compile in tally.compiles for searched in compile.use.searches]
        yield _note(
            "N001",
            f"rule '{item.name}' never fires",
            item.declaration.name_span,
            f"in none of {_counted(tally.compiles)}",
            why_rule_never_fires(item, searches),
        )


def _never_wins(tally: Tally) -> Diagnostic:
    kind, name = tally.key
    label = f"fires in {len(tally.fired)} of {_counted(tally.compiles)}, and is chosen in none"
    if tally.closest is None:
        compile, _ = max(tally.fired, key=lambda pair: pair[1])
        help = f"it applies to no Spec of a chosen program; it fires most in {compile}"
    else:
        compile, nearest = tally.closest
        dearer = "just" if nearest.ratio == 1 else f"{nearest.ratio:.4g} times"
        help = (
            f"the nearest that it came: {dearer} the cost of what was chosen for {nearest.spec} "
            f"of {compile}; 'morello explain --why' shows of what"
        )
    return _note("N002", f"{kind} '{name}' never wins", _place(tally.item), label, help)


def _unreached(tally: Tally, kernel: Microkernel) -> Diagnostic:
    searches = [searched for compile in tally.compiles for searched in compile.use.searches]
    return _note(
        "N003",
        f"no rule reaches kernel '{kernel.name}'",
        _place(kernel),
        f"in none of {_counted(tally.compiles)}",
        why_kernel_never_fires(kernel, searches),
    )


def _panels(tally: Tally, kernel: Microkernel) -> Iterator[Diagnostic]:
    """Of panels that a pattern names: those that no operand of a program came in.

    Where the kernel itself is in no program, only those that are not even tried.
    """
    for pattern in kernel.match.operands:
        for panel in map(panel_of, pattern.panels):
            one = InPanels(kernel.name, pattern, panel)
            if any(one in compile.use.taken for compile in tally.compiles):
                continue
            offered = sum(one in compile.use.offered for compile in tally.compiles)
            if offered and not tally.won:
                continue
            label = f"in no program of {_counted(tally.compiles)}"
            help = (
                f"rules try them in {offered} of these, and what is chosen is without"
                if offered
                else "no rule brings an operand to it in these, and no spec has one that is"
            )
            yield _note(
                "N004",
                f"nothing wants panels of {panel_text(panel)} for kernel '{kernel.name}'",
                _place_of_panels(pattern, panel),
                label,
                help,
            )


def _place(item: Rule | Microkernel) -> Span:
    return item.declaration.name_span


def _place_of_panels(pattern: target_ast.KernelOperand, panel: int) -> Span:
    after = pattern.span.source.text.find("panels", pattern.span.start)
    first = str(height_of(panel) or panel)
    return within(pattern.span, first, after=max(pattern.span.start, after))


def _counted(compiles: tuple[Compile, ...]) -> str:
    return f"{len(compiles)} compile{'' if len(compiles) == 1 else 's'}"


def _note(code: str, message: str, span: Span, label: str, help: str) -> Diagnostic:
    return Diagnostic(code, message, span, label, help, "note")
