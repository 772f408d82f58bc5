"""Contests: several programs for one goal, built, verified and timed by turns; the fastest wins.

The predicted cost of programs that are close to each other says little about which is faster. What
is not here: which programs take part, which is for `morello.compiler` to say, and who holds a
contest: `contests.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, to_builtins

from morello.codegen.generate import MOST_DRAWN, MOST_PROGRAMS
from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.reference.compare import MismatchError
from morello.report.documents import Document
from morello.report.plan import Plan
from morello.resources import processor
from morello.runtime.execution import Executable
from morello.runtime.racing import race
from morello.runtime.timing import Timing, contenders_of
from morello.search.search import Progress
from morello.toolchain.host import fixed_clock
from morello.toolchain.machine import Machine

Report_co = TypeVar("Report_co", covariant=True)
"""What a verification says."""


class Measurement(Struct, frozen=True):
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
        document: Document = to_builtins(self)
        return document


class Place(Struct, frozen=True):
    """Where programs were timed.

    Attributes:
        processor: Its name, where it is known.
        clock: Hertz, where it is known to be fixed.
        compiler: The C compiler, for people.
        runner: The command that ran them, if there was one.
    """

    processor: str | None
    clock: float | None
    compiler: str
    runner: str | None = None


class Result(Struct, Generic[Report_co], frozen=True):
    """What a contest has found.

    Attributes:
        winner: Which program, from 0.
        measurements: Of each, in the order of prediction.
        place: Where it was held.
        verification: What the comparison of the winner with the reference says.
    """

    winner: int
    measurements: tuple[Measurement, ...]
    place: Place
    verification: Report_co


class Contestant(Protocol[Report_co]):
    """What takes part: a `morello.compiler.Kernel`."""

    @property
    def plan(self) -> Plan: ...
    @property
    def source(self) -> str: ...
    @property
    def cost(self) -> float: ...
    @property
    def machine(self) -> Machine: ...
    def executable(self) -> AbstractContextManager[Executable]: ...
    def verify(self) -> Report_co: ...
    def random_arguments(self) -> list[Array]: ...


def check_counts(count: int, drawn: int | None) -> None:
    """Demand that so many programs can take part.

    Args:
        count: How many are to.
        drawn: From how many plans these are taken; none if they are the cheapest.

    Raises:
        UsageError: There are to be fewer than 1, or more than `MOST_PROGRAMS`; or `MOST_DRAWN`.
    """
    if not 1 <= count <= MOST_PROGRAMS:
        shown = "so many" if count > MOST_PROGRAMS else str(count)
        raise UsageError(
            f"cannot measure {shown} programs", help=f"measure from 1 to {MOST_PROGRAMS:,}"
        )
    if drawn is not None and not 1 <= drawn <= MOST_DRAWN:
        shown = "so many" if drawn > MOST_DRAWN else str(drawn)
        raise UsageError(f"cannot draw {shown} plans", help=f"draw from 1 to {MOST_DRAWN:,}")


def hold_contest(
    kernels: Sequence[Contestant[Report_co]], report: Callable[[Progress], None]
) -> Result[Report_co]:
    """The fastest of some programs for one goal, and how long each takes.

    All work on the same arrays; see `morello.runtime.racing`. Equal times are won by the cheaper
    prediction.

    Args:
        kernels: The programs, the cheapest first. They take the same arguments.
        report: Called before each is built, and before they are timed.

    Raises:
        MorelloError: A program cannot be built, or is wrong; it is named.
    """
    verified = []
    for place, kernel in enumerate(kernels):
        report(Progress(place, len(kernels), "building and verifying"))
        verified.append(_verify(kernel, place, len(kernels)))
    report(Progress(len(kernels), len(kernels), "timing"))
    arrays = kernels[0].random_arguments()
    with ExitStack() as stack:
        functions = {str(i): stack.enter_context(k.executable()) for i, k in enumerate(kernels)}
        contenders, clock = contenders_of(functions, arrays)
        timings = list(race(contenders, clock=clock).values())
    best = min(range(len(kernels)), key=lambda n: (-len(timings[n].runs), timings[n].low))
    where = place_of(kernels[0].machine)
    rows = tuple(
        _measurement(place, kernel, timings[place], where.clock, place == best)
        for place, kernel in enumerate(kernels)
    )
    return Result(best, rows, where, verified[best])


def place_of(machine: Machine) -> Place:
    """What is known of a machine. Of another one than this, little is."""
    return Place(
        processor() if machine.is_here else None,
        fixed_clock() if machine.is_here else None,
        str(machine.compiler),
        machine.runner,
    )


def _verify(kernel: Contestant[Report_co], place: int, count: int) -> Report_co:
    try:
        return kernel.verify()
    except MismatchError as error:
        raise MorelloError(
            f"program {place + 1} of {count} is wrong: {error}\nIt is: {kernel.plan.summary()}",
            help="a rule or a kernel that it uses is wrong; 'morello check --execute' finds which",
        ) from error


def _measurement(
    place: int, kernel: Contestant[object], timing: Timing, hertz: float | None, chosen: bool
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
