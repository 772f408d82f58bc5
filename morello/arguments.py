"""What a compile is given: of the right kinds, and what a spec's text asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morello.checking.specs import check_spec
from morello.definitions import Definitions, check_target_of
from morello.errors import UsageError
from morello.ir.goal import Goal
from morello.ir.target import Target
from morello.language.diagnostics import Collector
from morello.language.load import load_source
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.runtime.target_choice import named_target
from morello.search.planning.budget import Budget

if TYPE_CHECKING:
    from morello.building.spec import SpecBuilder

AFFINE = "affine"
LEARNED = "learned"
"""What ranks programs: the costs of the target, or this machine's model."""

KINDS: Mapping[str, tuple[Any, str]] = {
    "spec": (str, "the name of one"),
    "defines": (Mapping, "a mapping from names to whole numbers: {'N': 512}"),
    "target": (str, "the name of one"),
    "definitions": (Definitions, "what morello.load_definitions([...]) gives"),
    "progress": (Callable, "a function of a morello.Progress"),
    "memo": (Memo, "an open one: morello.Memo.open(path)"),
    "budget": ((str, Budget), "a text such as '10 s'"),
    "workers": (int, "how many threads"),
    "measure": (int, "how many programs"),
    "pool": (int, "how many plans"),
    "rank": (str, f"'{AFFINE}' or '{LEARNED}'"),
    "name": (str, "that of the C function"),
}
"""Of which kind each argument of a compile is, unless it is left out, and what to pass."""


def check_kinds(**given: object) -> None:
    """Refuse arguments of other types than `morello.compiler.compile_spec` says."""
    for option, value in given.items():
        kinds, expected = KINDS[option]
        if value is not None and not isinstance(value, kinds):
            found = f"{option}={value!r} is of type {type(value).__name__}"
            raise UsageError(found, help=f"expected {expected}")
    workers, defines = given["workers"], given["defines"]
    if isinstance(workers, int) and workers < 1:
        raise UsageError(f"workers={workers} cannot search", help="give a number of threads")
    for parameter in defines if isinstance(defines, Mapping) else ():
        if not isinstance(parameter, str):
            raise UsageError(f"defines={defines!r} has a name that is no text: {parameter!r}")


def check_name(wanted: str | None, given: str) -> None:
    """Refuse a name for the function that what writes C had to change."""
    if wanted not in (None, given):
        raise UsageError(
            f"no function in C can be called '{wanted}' everywhere", help=f"such as '{given}'"
        )


def goal_of(
    source: Source,
    spec: str | None,
    defines: Mapping[str, int],
    target: str | None,
    definitions: Definitions,
) -> tuple[Goal, Target]:
    """What a file asks for, and for which target."""
    collector = Collector()
    file = parse_spec(source)
    if target is None:
        check_target_of(file, definitions, collector)
    goal = check_spec(file, spec, defines, definitions.operators, collector)
    collector.raise_if_any()
    return goal, _target(definitions, goal.target if target is None else target, goal)


def as_source(given: str | Path | Source | SpecBuilder) -> Source:
    """A spec's text with its name; raises an error where there is none."""
    if isinstance(given, Source):
        return given
    if isinstance(given, str) and any(c in given for c in "\n{"):
        return Source("<text>", given)
    if isinstance(given, str | Path):
        return load_source(Path(given))
    from morello.building.spec import SpecBuilder  # noqa: PLC0415

    if isinstance(given, SpecBuilder):
        return given.source
    raise UsageError(
        f"cannot compile {given!r} ({type(given).__name__})",
        help="pass a path, the text of a spec, or a morello.SpecBuilder",
    )


def _target(definitions: Definitions, name: str | None, goal: Goal) -> Target:
    if name is None:
        known = ", ".join(sorted(definitions.targets))
        raise UsageError(
            f"'{goal.name}' names no target",
            help=f"write 'target NAME' first in the file, or choose one: {known}",
        )
    return named_target(definitions, name)
