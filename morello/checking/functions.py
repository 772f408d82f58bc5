"""Checks of the functions in C that primitives, kernels and macros call, with inheritance.

That a function computes what its sentence says is not checked here: the operators whose kernels
call it are executed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from morello.checking.lineages import on_targets
from morello.ir.functions import Function, called
from morello.ir.target import Target
from morello.language import target_ast
from morello.language.clauses import ClauseKind
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.source import Span

_OF_TYPE = r"[^;{}()]|__attribute__\s*\(\((?:[^;{}()]|\([^;{}()]*\))*\)\)"
"""What may stand before a function's name: words of its type, and attributes of that."""


def check_functions(
    files: Sequence[target_ast.TargetFile],
    targets: Mapping[str, Target],
    declared: Collection[str],
    collector: Collector,
) -> dict[str, dict[str, Function]]:
    """Check the functions of all targets, and that who calls one has it.

    Args:
        files: Parsed ``.mtarget`` files.
        targets: Targets that could be built, each after its base.
        declared: Names of all targets, including those that could not be built.
        collector: Takes the errors.

    Returns:
        For each target its functions by name, those that it inherits first.
    """
    every = chain.from_iterable(f.functions for f in files)
    codes = "T070", "T071"
    known, right = on_targets(every, "function", targets, declared, collector, codes)
    for node in right:
        _check(node, collector)
    names = {name for _, name in known}
    functions = {key: _function(node, names) for key, node in known.items()}
    found = {
        name: {f.name: f for base in t.lineage for f in functions.values() if f.target == base}
        for name, t in targets.items()
    }
    for target, has in found.items():
        _circles(target, has, collector)
    for kernel in chain.from_iterable(f.kernels for f in files):
        _between(kernel, names, collector)
    homes = {name: target for target, name in reversed(known)}
    for what, target, place, text in _callers(files):
        if target in found:
            _visible(what, target, place, text, found[target], homes, collector)
    return found


def _check(node: target_ast.FunctionDecl, collector: Collector) -> None:
    if not node.doc.strip():
        message = f"function '{node.name}' has no sentence that says what it computes"
        collector.error("T072", message, node.name_span, help='write it in quotes before "emit"')
    if not re.search(rf"\bstatic\s+inline\b(?:{_OF_TYPE})*\b{node.name}\s*\(", node.text):
        message = f"the text of function '{node.name}' does not define it"
        help = f"write 'static inline TYPE {node.name}(...) {{ ... }}'"
        collector.error("T073", message, node.name_span, "not in its text", help)


def _function(node: target_ast.FunctionDecl, known: Collection[str]) -> Function:
    calls = tuple(name for name in called(node.text) if name in known and name != node.name)
    return Function(node.name, node.doc, node.target, node.text, calls, node)


def _circles(target: str, functions: Mapping[str, Function], collector: Collector) -> None:
    """Report functions that call each other: none of them could stand before the others.

    Of circles on several targets those are reported that one of the target's own functions is in.
    """
    for name, function in functions.items():
        path = _way_back(name, functions)
        own = any(functions[n].target == target for n in path)
        if path and own and name == min(path):
            shown = " -> ".join(f"'{n}'" for n in (*path, name))
            message = f"functions call each other without end: {shown}"
            place = function.declaration.name_span
            collector.error("T074", message, place, help="make one function of them")


def _way_back(name: str, functions: Mapping[str, Function]) -> list[str]:
    """Names on a way of calls from a function back to itself; none if there is no such way."""
    before: dict[str, str] = {}
    pending = [name]
    while pending:
        caller = pending.pop()
        for callee in functions[caller].calls:
            if callee not in functions:
                continue  # of another target, which is reported
            if callee == name:
                path = [caller]
                while path[0] != name:
                    path.insert(0, before[path[0]])
                return path
            if callee not in before:
                before[callee] = caller
                pending.append(callee)
    return []


def _between(kernel: target_ast.KernelDecl, known: Collection[str], collector: Collector) -> None:
    for name in chain(*kernel.clauses.of_kind(ClauseKind.AROUND)):
        if name not in known:
            message = (
                f"kernel '{kernel.name}' stands between calls of '{name}', which is no function"
            )
            place = within(kernel.span, name, after=kernel.cost.span.end)
            collector.error("T076", message, place, "unknown", collector.suggestion(name, known))


def _callers(files: Sequence[target_ast.TargetFile]) -> Iterator[tuple[str, str, Span, str]]:
    """Who may call functions: what it is, its target, where it is, its text."""
    for file in files:
        for f in file.functions:
            yield f"function '{f.name}'", f.target, f.name_span, f.text
        for k in file.kernels:
            around = " ".join(f"{name}();" for name in chain(*k.clauses.of_kind(ClauseKind.AROUND)))
            yield f"kernel '{k.name}'", k.target, k.name_span, f"{around} {k.template or ''}"
        for m in file.macros:
            yield f"macro '{m.name}'", m.target, m.name_span, m.template
        for p in file.primitives:
            body = max(p.span.start, p.span.source.text.find("{", p.span.start))
            for word, text, _ in p.entries:
                yield f"primitive '{word}'", p.target, within(p.span, word, after=body), text


def _visible(
    what: str,
    target: str,
    place: Span,
    text: str,
    functions: Mapping[str, Function],
    homes: Mapping[str, str],
    collector: Collector,
) -> None:
    for name in called(text):
        if name in homes and name not in functions:
            message = f"{what} calls '{name}', which '{target}' does not have"
            help = f"'{name}' is on '{homes[name]}', which '{target}' does not extend"
            collector.error("T075", message, place, "calls it", help)
