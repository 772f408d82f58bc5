"""Filling a corpus: programs of listed goals are drawn, built, verified and measured.

Each goal's programs are a pool (`morello.search.results.pool`): its choice, and others that would
be best if coefficients were others. They are measured twice, by turns with a chain of instructions
that tells cycles (`morello.calibration.measuring`): once when they are built, and again after the
next goal's. What both runs agree on is no accident of the moment.

A goal whose file is there is passed over, so that an interrupted collection goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from msgspec import Struct

from morello.calibration.measuring import chain, cycles_by_turns
from morello.checking.goal_list import ListedGoal
from morello.compiler import compile_programs
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.ir.target import Target
from morello.kernel import Kernel
from morello.learning.apart import on_one_core
from morello.learning.corpus import Group, MeasuredProgram, kept, write_group
from morello.learning.remaking import digest, recipe_for
from morello.memo.memo import Memo
from morello.ranking.description import Describer
from morello.ranking.features import SCHEMA
from morello.records import replace
from morello.resources import available_cores, processor_model
from morello.runtime.timing import Contender, contender
from morello.search.search import Progress
from morello.toolchain.build import STANDARD_FLAGS
from morello.toolchain.compilers import find_compiler
from morello.toolchain.machine import Machine

PROGRAMS = 24
"""Of a goal, unless the caller says otherwise."""

DRAWN = 256
"""Plans that these are taken from."""

TURNS = 11
"""Of a run."""

SECONDS_OF_A_RUN = 20.0
"""What a run may take; of slow programs there are fewer turns, at least `FEWEST`."""

FEWEST = 5

LEAST_SHARE = 0.9
"""Of a core, that this process must have had while it measured."""


class BusyError(MorelloError):
    """The machine does other work, so that times do not count."""


class Collected(Struct, frozen=True):
    """What became of a goal: its group with its file, or why there is none."""

    goal: ListedGoal
    path: Path | None = None
    group: Group | None = None
    refused: MorelloError | None = None


@dataclass(slots=True)
class _Pending:
    """A goal's programs between their runs."""

    goal: ListedGoal
    group: Group
    contenders: dict[str, Contender]
    threads: int
    runs: list[dict[str, tuple[float, ...]]]


def collect(
    definitions: Definitions,
    target: Target,
    goals: Sequence[ListedGoal],
    directory: Path,
    report: Callable[[Progress], None],
    *,
    programs: int = PROGRAMS,
    seconds: float | None = None,
    busy: bool = False,
    verify: bool = True,
    known: Collection[str] = (),
) -> Iterator[Collected]:
    """Measure programs of goals, in an order that mixes them; what becomes of each, as it is known.

    Args:
        definitions: Operators, rules, emitters.
        target: What is compiled for; this machine must be able to run it.
        goals: What is measured. Of those for several threads the time on the wall counts.
        directory: Where the groups are kept.
        report: Called before each step.
        programs: How many of each goal, at most.
        seconds: After so many no other goal is begun.
        busy: Whether to measure on a machine that does other work.
        verify: Whether each program is compared with the reference before it is measured.
        known: Names of files of groups that are passed over, beside those that are there.

    Raises:
        BusyError: The machine does other work.
        MorelloError: There is no C compiler, or this machine cannot run the target's programs.
    """
    compiler = find_compiler()
    here = Machine(compiler)
    here.require(target.flags, target.features, f"what is compiled for '{target.name}'")
    if not busy and os.getloadavg()[0] > available_cores() / 2:
        raise _busy(f"other work keeps {os.getloadavg()[0]:.1f} processors busy")
    collecting = _Collecting(definitions, target, directory, programs, busy, verify, chain())
    directory.mkdir(parents=True, exist_ok=True)
    named = [(goal, collecting.group(goal, str(compiler))) for goal in goals]
    # Each goal once, in the order of hashes: whenever it ends, there are some of all kinds.
    asked = [pair for _, pair in sorted({pair[1].key: pair for pair in named}.items())]
    pending: _Pending | None = None
    started = time.monotonic()
    for place, (goal, group) in enumerate(asked):
        if seconds is not None and time.monotonic() - started > seconds:
            break
        if group.file in known or (directory / group.file).exists():
            continue

        def tell(phase: str, place: int = place, goal: ListedGoal = goal) -> None:
            report(Progress(place, len(asked), f"{goal}: {phase}"))

        try:
            built = collecting.build(goal, group, tell)
        except MorelloError as error:
            yield Collected(goal, refused=error)
            continue
        if pending is not None:
            tell("measuring the one before again")
            collecting.measure(pending)
            yield collecting.finish(pending)
        tell("measuring")
        collecting.measure(built)
        pending = built
    if pending is not None:
        collecting.measure(pending)
        yield collecting.finish(pending)


class _Collecting(Struct, frozen=True):
    """What all goals share."""

    definitions: Definitions
    target: Target
    directory: Path
    programs: int
    busy: bool
    verify: bool
    clock: Contender

    def group(self, goal: ListedGoal, compiler: str) -> Group:
        """The goal's group, without programs."""
        coefficients = {n: c.value for n, c in self.target.every_coefficient.items()}
        return Group(
            goal.source.text,
            goal.spec,
            goal.defines,
            self.target.name,
            coefficients,
            processor_model(),
            compiler,
            (*STANDARD_FLAGS, *self.target.flags),
            goal.held_out,
            SCHEMA,
        )

    def build(self, goal: ListedGoal, group: Group, tell: Callable[[str], None]) -> _Pending:
        """Search, draw, build and verify."""
        kernels = compile_programs(
            goal.source,
            goal.spec,
            goal.defines,
            self.target,
            self.programs,
            DRAWN,
            definitions=self.definitions,
            memo=Memo(),
            progress=lambda step: tell(step.phase),
        )
        tell("building")
        with ThreadPoolExecutor(available_cores()) as executor:
            list(executor.map(lambda kernel: kernel.function, kernels))
        describer = Describer()
        found = {}
        contenders = {}
        arrays = kernels[0].random_arguments()
        for kernel in kernels:
            if self.verify:
                tell("verifying")
                kernel.verify()
            program = _described(kernel, describer)
            found[program.text] = program
            contenders[program.text] = contender(kernel.function, arrays)
        complete = replace(group, programs=tuple(found.values()))
        return _Pending(goal, complete, contenders, kernels[0].goal.threads, [])

    def measure(self, pending: _Pending) -> None:
        """One run."""
        alone = pending.threads == 1
        timer = time.process_time_ns if alone else time.perf_counter_ns
        with on_one_core() if alone else nullcontext():
            before = self._share()
            turns = self._turns(pending.contenders)
            runs = cycles_by_turns(pending.contenders, self.clock, turns, timer)
            share = median([before, self._share()])
        if share < LEAST_SHARE and not self.busy:
            raise _busy(f"it had {share:.0%} of a processor while it measured")
        pending.runs.append(runs)

    def _turns(self, contenders: dict[str, Contender]) -> int:
        """As many turns as there is time for."""
        started = time.perf_counter()
        for run in contenders.values():
            run(1)
        one = time.perf_counter() - started
        return max(FEWEST, min(TURNS, int(SECONDS_OF_A_RUN / max(one, 1e-9))))

    def _share(self) -> float:
        """How much of a core this process has."""
        shares = []
        for _ in range(5):
            wall, own = time.perf_counter(), time.process_time()
            self.clock(2_000_000)
            shares.append((time.process_time() - own) / (time.perf_counter() - wall))
        return median(shares)

    def finish(self, pending: _Pending) -> Collected:
        """Write the group."""
        programs = tuple(
            replace(p, runs=tuple(_rounded(run[p.text]) for run in pending.runs))
            for p in pending.group.programs
        )
        group = replace(pending.group, programs=programs)
        return Collected(pending.goal, write_group(self.directory, group), group)


def _described(kernel: Kernel, describer: Describer) -> MeasuredProgram:
    described = kept(describer.of(kernel.plan))
    return MeasuredProgram(
        recipe_for(kernel.plan),
        kernel.cost,
        described.features,
        digest(kernel.source),
        len(kernel.source),
        graph=described.graph,
    )


def _rounded(turns: Sequence[float]) -> tuple[float, ...]:
    """Of a measurement the first digits count."""
    return tuple(float(f"{turn:.6g}") for turn in turns)


def _busy(message: str) -> BusyError:
    return BusyError(message, help="let the machine rest, or measure all the same: --busy")
