"""What is declared on targets, and which declarations of a name some target would have both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from morello.ir.target import Target
from morello.language import target_ast
from morello.language.diagnostics import Collector
from morello.language.places import within

Key = tuple[str, str]
"""A target, and a name on it."""

_Decl = TypeVar("_Decl", target_ast.FunctionDecl, target_ast.MacroDecl)


def clash(target: str, other: str, targets: Mapping[str, Target]) -> bool:
    """Whether what is on one target and what is on another come together, by inheritance too."""
    return target == other or any({target, other} <= {*t.lineage} for t in targets.values())


def on_targets(
    nodes: Iterable[_Decl],
    what: str,
    targets: Mapping[str, Target],
    declared: Collection[str],
    collector: Collector,
    codes: tuple[str, str],
) -> tuple[dict[Key, _Decl], list[_Decl]]:
    """Declarations by target and name, the first of each, and those of them that are right.

    Args:
        nodes: Declarations that each have a name and a target.
        what: What they declare, for errors.
        targets: Targets that could be built.
        declared: Names of all targets, including those that could not be built.
        collector: Takes the errors.
        codes: Those of a name that is declared twice, and of a target that there is not.
    """
    twice, unknown = codes
    known: dict[Key, _Decl] = {}
    right = []
    for node in nodes:
        others = (k for k in known.values() if k.name == node.name)
        first = next((k for k in others if clash(node.target, k.target, targets)), None)
        known.setdefault((node.target, node.name), node)
        if first is not None:
            message = f"{what} '{node.name}' is declared twice"
            help = f"the first one is at {first.name_span}; rename or remove one of them"
            collector.error(twice, message, node.name_span, "second declaration", help)
        elif node.target not in declared:
            message = f"{what} '{node.name}' is on '{node.target}', which is not a target"
            place = within(node.span, node.target, after=node.name_span.end)
            help = collector.suggestion(node.target, declared)
            collector.error(unknown, message, place, "unknown", help)
        else:
            right.append(node)
    return known, right
