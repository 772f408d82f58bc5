"""Which target is meant: by name, or the best that this machine can run."""

from __future__ import annotations

from collections.abc import Sequence

from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.ir.target import Target
from morello.language.diagnostics import suggestion

NATIVE = "native"
"""In the place of a target's name: the best one that this machine can run."""


def named_target(definitions: Definitions, name: str) -> Target:
    """The target of a name, which may be `NATIVE`.

    Raises:
        UsageError: There is none.
        MorelloError: As `native_target`.
    """
    known: Sequence[str] = sorted(definitions.targets)
    if name == NATIVE:
        return native_target(definitions)
    if name not in definitions.targets:
        left_out = map(str, definitions.broken)
        help = "; ".join(filter(None, (suggestion(name, [*known, NATIVE]), *left_out)))
        if "," in name:
            help = "name one: only 'morello compile' and morello.compile_for take several"
        raise UsageError(f"there is no target '{name}'", help=help)
    return definitions.targets[name]


def native_target(definitions: Definitions) -> Target:
    """The target that goes furthest beyond what it inherits, of those that this machine can run.

    Raises:
        MorelloError: It can run none.
    """
    from morello.toolchain.machine import Machine  # noqa: PLC0415

    here = Machine()
    for target in sorted(definitions.targets.values(), key=preference):
        if not here.lacks(target.flags, target.features):
            return target
    raise MorelloError(
        "this machine can run none of the targets",
        help=f"there are: {', '.join(sorted(definitions.targets))}",
    )


def preference(target: Target) -> tuple[int, str]:
    """Orders targets, that first which goes furthest beyond what it inherits."""
    return (-len(target.lineage), target.name)
