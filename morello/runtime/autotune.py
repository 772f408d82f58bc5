"""Contests: several programs for one goal, built, verified and timed by turns; the fastest wins.

The predicted cost of programs that are close to each other says little about which is faster. What
is not here: which programs take part, which is for `morello.compiler` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

from morello.codegen.generate import MOST_DRAWN, MOST_PROGRAMS
from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.ir.target import Target
from morello.reference.compare import MismatchError
from morello.report.documents import Document
from morello.report.plan import Plan
from morello.runtime.execution import Executable
from morello.runtime.racing import race
from morello.runtime.timing import Timing, contenders_of
from morello.search.search import Progress
from morello.toolchain.host import fixed_clock
from morello.toolchain.machine import Machine


@dataclass(frozen=True, slots=True)
class Measurement:
    """One program of a contest.

    ``rank`` is its place by prediction, from 1. ``seconds`` a call are what a tenth of its ``runs``
    stay below, ``quartiles`` the lower and the upper. One with fewer runs than others was given up
    as too slow. ``measured_cycles`` are absent where the clock is not known to be fixed.
    """

    rank: int
    predicted_cycles: float
    runs: int
    seconds: float
    quartiles: tuple[float, float]
    measured_cycles: float | None
    description: str
    chosen: bool

    def to_json(self) -> Document:
        """For tools."""
        return {**asdict(self), "quartiles": list(self.quartiles)}


class Contestant(Protocol):
    """What takes part: a `morello.compiler.Kernel`."""

    @property
    def plan(self) -> Plan: ...
    @property
    def cost(self) -> float: ...
    @property
    def machine(self) -> Machine: ...
    def executable(self) -> AbstractContextManager[Executable]: ...
    def verify(self) -> object: ...
    def random_arguments(self) -> list[Array]: ...


AnyContestant = TypeVar("AnyContestant", bound=Contestant)


def check_contest(
    count: int, drawn: int | None, name: str, target: Target, machine: Machine
) -> None:
    """Demand, before any work is done, that a contest can be held.

    Args:
        count: How many programs are to take part.
        drawn: From how many plans these are taken; none if they are the cheapest.
        name: The function's name, for messages.
        target: What it is compiled for.
        machine: Where it is to run.

    Raises:
        UsageError: There are to be fewer than 1, or more than `MOST_PROGRAMS`; or `MOST_DRAWN`.
        MorelloError: There is no C compiler, the machine cannot run the target's programs, or its
            times do not count.
    """
    if not 1 <= count <= MOST_PROGRAMS:
        shown = "so many" if count > MOST_PROGRAMS else str(count)
        raise UsageError(
            f"cannot measure {shown} programs", help=f"measure from 1 to {MOST_PROGRAMS:,}"
        )
    if drawn is not None and not 1 <= drawn <= MOST_DRAWN:
        shown = "so many" if drawn > MOST_DRAWN else str(drawn)
        raise UsageError(f"cannot draw {shown} plans", help=f"draw from 1 to {MOST_DRAWN:,}")
    machine.require_timing(f"'{name}'")
    machine.require(target.flags, target.features, f"'{name}'")
    _ = machine.compiler  # raises where there is none


def hold_contest(
    kernels: Sequence[AnyContestant], report: Callable[[Progress], None]
) -> tuple[AnyContestant, tuple[Measurement, ...]]:
    """The fastest of some programs for one goal, and how long each takes.

    All work on the same arrays; see `morello.runtime.racing`. Equal times are won by the cheaper
    prediction.

    Args:
        kernels: The programs, the cheapest first. They take the same arguments.
        report: Called before each is built, and before they are timed.

    Raises:
        MorelloError: A program cannot be built, or is wrong; it is named.
    """
    for place, kernel in enumerate(kernels):
        report(Progress(place, len(kernels), "building and verifying"))
        _verify(kernel, place, len(kernels))
    report(Progress(len(kernels), len(kernels), "timing"))
    arrays = kernels[0].random_arguments()
    with ExitStack() as stack:
        functions = {str(i): stack.enter_context(k.executable()) for i, k in enumerate(kernels)}
        contenders, clock = contenders_of(functions, arrays)
        timings = list(race(contenders, clock=clock).values())
    best = min(range(len(kernels)), key=lambda n: (-len(timings[n].runs), timings[n].low))
    hertz = fixed_clock() if kernels[0].machine.is_here else None
    rows = tuple(
        _measurement(place, kernel, timings[place], hertz, place == best)
        for place, kernel in enumerate(kernels)
    )
    return kernels[best], rows


def _verify(kernel: Contestant, place: int, count: int) -> None:
    try:
        kernel.verify()
    except MismatchError as error:
        raise MorelloError(
            f"program {place + 1} of {count} is wrong: {error}\nIt is: {kernel.plan.summary()}",
            help="a rule or a kernel that it uses is wrong; 'morello check --execute' finds which",
        ) from error


def _measurement(
    place: int, kernel: Contestant, timing: Timing, hertz: float | None, chosen: bool
) -> Measurement:
    cycles = None if hertz is None else timing.low * hertz
    return Measurement(
        place + 1,
        kernel.cost,
        len(timing.runs),
        timing.low,
        timing.quartiles,
        cycles,
        kernel.plan.summary(),
        chosen,
    )
