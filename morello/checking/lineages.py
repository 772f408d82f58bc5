"""Which declarations of a name some target would have both."""

from __future__ import annotations

from collections.abc import Mapping

from morello.ir.target import Target


def clash(target: str, other: str, targets: Mapping[str, Target]) -> bool:
    """Whether what is on one target and what is on another come together, by inheritance too."""
    return target == other or any({target, other} <= {*t.lineage} for t in targets.values())
