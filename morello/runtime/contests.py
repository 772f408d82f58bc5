"""Who holds contests between programs (`morello.runtime.autotune`), and what that one is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from morello.definitions import Definitions
from morello.ir.goal import Goal
from morello.ir.programs.emitted import EmitOptions
from morello.ir.target import Target
from morello.language.source import Source
from morello.runtime.autotune import Contestant, Result, hold_contest
from morello.runtime.machines import machine_for
from morello.search.search import Progress
from morello.toolchain.machine import Machine

Report = TypeVar("Report")
"""What a verification says."""


class Contested(Struct, frozen=True):
    """What the programs of a contest are for, and how their C was written.

    Attributes:
        definitions: That they were found with.
        source: Of the spec.
        spec: Its name, where the file has several.
        defines: Values of its parameters.
        goal: The same, checked.
        target: What it is compiled for.
        options: Of whoever writes C.
        note: What stands in its heading.
    """

    definitions: Definitions
    source: Source
    spec: str | None
    defines: Mapping[str, int]
    goal: Goal
    target: Target
    options: EmitOptions
    note: str


class Contest(Protocol[Report]):
    """Who holds contests."""

    def check(self, goal: Goal, target: Target) -> None:
        """Demand, before any work is done, that one can be held; MorelloError if not."""

    def hold(
        self,
        asked: Contested,
        kernels: Sequence[Contestant[Report]],
        report: Callable[[Progress], None],
    ) -> Result[Report]:
        """Hold one between kernels, the cheapest first; MorelloError where one is wrong."""


class Here(Struct, Generic[Report], frozen=True):
    """Contests on this machine, or on one that is named."""

    machine: Machine | None = None

    def check(self, goal: Goal, target: Target) -> None:
        """Demand that it can run the target's programs, and that its times count.

        Raises:
            MorelloError: There is no C compiler, or it cannot.
        """
        machine = machine_for(target, self.machine)
        machine.require_timing(f"'{goal.name}'")
        machine.require(target.flags, target.features, f"'{goal.name}'")
        _ = machine.compiler  # raises where there is none

    def hold(
        self,
        asked: Contested,
        kernels: Sequence[Contestant[Report]],
        report: Callable[[Progress], None],
    ) -> Result[Report]:
        """See `hold_contest`; kernels have their own machine."""
        return hold_contest(kernels, report)
