"""Measures how long calls take: medians of batches, contenders by turns.

A *contender* is a callable that does its work ``count`` times. A batch is one such call, with a
count for which it takes long enough for the clock. Contenders take turns, each round in another
order, so that whatever else the machine does meets all of them alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from random import Random
from typing import Any

from msgspec import Struct

from morello.errors import UsageError
from morello.runtime.execution import Executable
from morello.runtime.library import CompiledFunction, Passed
from morello.runtime.program import BuiltProgram

Contender = Callable[[int], object]
Clock = Callable[[], int]

REPEATS = 21
WARMUP = 2
MIN_SECONDS = 0.002
"""Seconds that one batch takes at least: far above the clock's resolution."""

LONGEST_BATCH = 3600
"""Seconds that may be asked for: more is a mistake."""

MAX_GROWTH = 100
"""How many times larger the next trial batch may be: short first measurements are noisy."""


class Timing(Struct, frozen=True):
    """Seconds per call. ``runs`` has one value for every batch, of ``batch`` calls, in order."""

    runs: tuple[float, ...]
    batch: int

    @property
    def median(self) -> float:
        """Median over the batches."""
        return statistics.median(self.runs)

    @property
    def low(self) -> float:
        """What a tenth of the batches stay below: little else was going on then."""
        return low(self.runs)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Lower and upper quartile; with a single batch, its value."""
        if len(self.runs) < 2:
            return self.runs[0], self.runs[0]
        lower, _, upper = statistics.quantiles(self.runs, n=4, method="inclusive")
        return lower, upper


def low(runs: Sequence[float]) -> float:
    """What a tenth of some times stay below; of a single one, itself."""
    if len(runs) < 2:
        return runs[0]
    return statistics.quantiles(runs, n=10, method="inclusive")[0]


def repeated(call: Callable[[], object]) -> Contender:
    """A contender from a call without arguments; the loop is in Python."""

    def run(count: int) -> None:
        for _ in range(count):
            call()

    return run


def contender(function: CompiledFunction, arrays: Sequence[Passed]) -> Contender:
    """A contender from a compiled function and all its arguments, outputs last.

    The loop is in C where the library has a driver for it.

    Raises:
        UsageError: An argument does not fit.
    """
    in_c = function.prepare_repeated(arrays)
    if in_c is not None:
        return in_c
    inputs = len(function.signature.inputs)
    outputs: list[Any] = list(arrays[inputs:])
    return repeated(function.bind(*arrays[:inputs], out=outputs))


class _ReportedClock:
    """Nanoseconds that programs say their calls took: not the time until they are started."""

    def __init__(self) -> None:
        self._now = 0

    def __call__(self) -> int:
        return self._now

    def contender(self, program: BuiltProgram, arrays: Sequence[Passed]) -> Contender:
        """A contender that moves this clock on."""
        timed = program.prepare_timed(arrays)

        def run(count: int) -> None:
            self._now += timed(count)

        return run


def time_functions(
    functions: Mapping[str, Executable],
    arrays: Sequence[Passed],
    *,
    repeats: int,
    warmup: int,
    min_seconds: float,
) -> dict[str, Timing]:
    """Time functions by turns, all on the same arrays for all their arguments.

    For the functions see `contenders_of`, for other arguments and errors `time_alternately`.
    """
    contenders, clock = contenders_of(functions, arrays)
    return time_alternately(
        contenders, repeats=repeats, warmup=warmup, min_seconds=min_seconds, clock=clock
    )


def contenders_of(
    functions: Mapping[str, Executable], arrays: Sequence[Passed]
) -> tuple[dict[str, Contender], Clock | None]:
    """Contenders from functions on the same arrays, and the clock that times them.

    Either all are loaded, or all are programs: these tell the time themselves. No clock is the
    ordinary one.
    """
    clock = _ReportedClock()
    reported = False
    contenders: dict[str, Contender] = {}
    for name, function in functions.items():
        if isinstance(function, BuiltProgram):
            contenders[name], reported = clock.contender(function, arrays), True
        else:
            contenders[name] = contender(function, arrays)
    return contenders, clock if reported else None


def time_alternately(
    contenders: Mapping[str, Contender],
    *,
    repeats: int = REPEATS,
    warmup: int = WARMUP,
    min_seconds: float = MIN_SECONDS,
    clock: Clock | None = None,
    before: Callable[[str], object] = lambda _: None,
) -> dict[str, Timing]:
    """Time contenders by turns.

    Args:
        contenders: By name; see `repeated` and `contender`.
        repeats: Batches of each that count.
        warmup: Batches of each before those, besides the ones that find the batches' sizes.
        min_seconds: How long a batch takes at least.
        clock: What tells the time, in nanoseconds; by default `time.perf_counter_ns`.
        before: Called with the name of a contender before each of its batches, those that find
            their size too, and not timed.

    Raises:
        UsageError: ``repeats`` is below 1, ``warmup`` below 0, ``min_seconds`` not between 0 and
            `LONGEST_BATCH`; or one is no number.
    """
    _check_numbers(repeats, warmup, min_seconds)
    clock = clock or time.perf_counter_ns

    def timed(name: str, count: int) -> float:
        """Seconds of a batch."""
        before(name)
        start = clock()
        contenders[name](count)
        return (clock() - start) * 1e-9

    batches = {name: batch_size(partial(timed, name), min_seconds) for name in contenders}
    runs: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(warmup + repeats):
        # Who comes before leaves its mark too, in the caches and on the processor's clock.
        for name in Random(turn).sample(names, len(names)):
            seconds = timed(name, batches[name]) / batches[name]
            if turn >= warmup:
                runs[name].append(seconds)
    return {name: Timing(tuple(runs[name]), batches[name]) for name in names}


def _check_numbers(repeats: object, warmup: object, min_seconds: object) -> None:
    if not (isinstance(repeats, int) and isinstance(warmup, int) and repeats > 0 <= warmup):
        raise UsageError(
            f"cannot time {repeats!r} batches after {warmup!r}",
            help="expected whole numbers: 'repeats' at least 1, 'warmup' at least 0",
        )
    if not (isinstance(min_seconds, int | float) and 0 <= min_seconds <= LONGEST_BATCH):
        raise UsageError(
            f"no batch can take min_seconds={min_seconds!r}",
            help=f"expected a number of seconds from 0 to {LONGEST_BATCH:g}",
        )


def batch_size(timed: Callable[[int], float], min_seconds: float) -> int:
    """How many calls take at least so many seconds."""
    count = 1
    while (seconds := timed(count)) < min_seconds:
        growth = 1.2 * min_seconds / max(seconds, 1e-9)
        count = ceil(count * min(max(growth, 1.5), MAX_GROWTH))
    return count
