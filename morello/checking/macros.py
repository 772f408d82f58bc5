"""Checks of the macros that templates of kernels share, with inheritance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from morello.checking.lineages import on_targets
from morello.checking.templates import check_template, names_used
from morello.ir.target import Target
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within


def check_macros(
    files: Sequence[target_ast.TargetFile],
    targets: Mapping[str, Target],
    declared: Collection[str],
    collector: Collector,
    *,
    template_functions: Collection[str] | None,
) -> dict[str, dict[str, target_ast.MacroDecl]]:
    """Check the macros of all targets. How they are called is checked with who calls them.

    Args:
        files: Parsed ``.mtarget`` files.
        targets: Targets that could be built, each after its base.
        declared: Names of all targets, including those that could not be built.
        collector: Takes the errors.
        template_functions: Functions that templates may call; none accepts any.

    Returns:
        For each target its macros by name, with those that it inherits.
    """
    every = chain.from_iterable(f.macros for f in files)
    known, _ = on_targets(every, "macro", targets, declared, collector, ("T062", "T063"))
    names = {name for _, name in known}
    kernels = chain.from_iterable(f.kernels for f in files)
    used = {name for k in kernels for name in names & names_used(k.template or "")}
    for node in known.values():
        _check(node, names, used, template_functions, collector)
    return {
        name: {m.name: m for m in known.values() if m.target in target.lineage}
        for name, target in targets.items()
    }


def _check(
    node: target_ast.MacroDecl,
    macros: Collection[str],
    used: Collection[str],
    functions: Collection[str] | None,
    collector: Collector,
) -> None:
    if not node.doc.strip():
        message = f"macro '{node.name}' has no sentence that says what it writes"
        collector.error("T064", message, node.name_span, help='write it in quotes before "emit"')
    if node.name not in used:
        message = f"no template uses macro '{node.name}'"
        collector.error("T066", message, node.name_span, "never used", "remove it")
    before = len(collector.diagnostics)
    check_template(node, node.parameters, functions, collector, macros={}, foreign=macros)
    if len(collector.diagnostics) > before:
        return
    for parameter in dict.fromkeys(node.parameters):
        if parameter not in names_used(node.template):
            message = f"macro '{node.name}' does not use its parameter '{parameter}'"
            place = within(node.span, parameter, after=node.name_span.end)
            collector.error("T066", message, place, "never used", "remove it")
