"""Where the code of a target is built and run: here, or as the user or the target says."""

from __future__ import annotations

from morello.errors import MorelloError
from morello.ir.target import Target
from morello.records import replace
from morello.toolchain.machine import Machine, asked_machine


def machine_for(target: Target, asked: Machine | None = None) -> Machine:
    """The machine for a target's code.

    Args:
        target: The target.
        asked: What the user asks for. What it leaves open is as the environment says; then, where
            this machine lacks what the code needs, as the target says; else it is this machine.
    """
    chosen = asked_machine(asked or Machine())
    named = (chosen.cc or not target.compiler) and (chosen.runner or not target.runner)
    if named or not _lacking_here(target):
        return chosen
    return replace(
        chosen, cc=chosen.cc or target.compiler or None, runner=chosen.runner or target.runner
    )


def _lacking_here(target: Target) -> bool:
    """Whether this machine cannot run the target's code, as far as anyone knows."""
    try:
        return bool(Machine().lacks(target.flags, target.features))
    except MorelloError:  # no compiler to ask
        return True
