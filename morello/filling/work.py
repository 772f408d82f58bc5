"""The unit of work: one goal, searched with all that is below it, in any process of any machine.

What is sent is text and numbers. A worker reads its own definitions with the files of the user
beside them, and takes over the coefficients: its own machine may be calibrated, or be another one.
Then its fingerprint of the goal has to be the one that was sent. A worker with other rules or
kernels, or of another version, would write pages that answer no question of whoever asked.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from morello.arguments import goal_of
from morello.codegen.goals import context_for, goal_specs
from morello.compiler import solve_spec
from morello.definitions import Definitions, load_definitions
from morello.errors import MorelloError
from morello.ir.goal import Goal
from morello.ir.target import Coefficient, Target
from morello.language.source import Source
from morello.memo.fingerprint import FingerprintsOf
from morello.memo.memo import Memo
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.planning.budget import Budget
from morello.search.search import UNLIMITED, Progress

TABLES = 64 << 20
"""Bytes of solved tables that a worker keeps in memory: its pages are in a file."""


class UnfitWorkerError(MorelloError):
    """A worker that can solve no goal."""


class OtherDefinitionsError(UnfitWorkerError):
    """It has other definitions than whoever sent it a goal."""


class UnwritableError(UnfitWorkerError):
    """It cannot keep what it solves."""


class Setting(Struct, frozen=True):
    """What all goals of a run have in common.

    Attributes:
        sources: Files of definitions beside those of plugins.
        coefficients: Of each target by name, by full name.
        budget: Of each search.
        threads: Of each search; None for as many as there are cores.
        single_goals: Whether only what each goal needs is solved, and no goal covers another.
    """

    sources: tuple[Source, ...]
    coefficients: Mapping[str, Mapping[str, float]]
    budget: Budget = UNLIMITED
    threads: int | None = None
    single_goals: bool = False

    def within(self, threads: int, bytes: int | None) -> Setting:
        """The same for a worker of so many threads and so much memory, if that is limited."""
        budget = self.budget
        if budget == UNLIMITED and bytes is not None:
            budget = replace(budget, bytes=max(1, bytes))
        return replace(self, budget=budget, threads=threads)


class Task(Struct, frozen=True):
    """A goal on its way. ``number`` is its place in the list; ``fingerprint`` see above."""

    number: int
    source: Source
    spec: str
    defines: Mapping[str, int]
    target: str
    fingerprint: str

    def __str__(self) -> str:
        sizes = [f"{name}={value}" for name, value in self.defines.items()]
        return f"{' '.join([self.spec, *sizes])} for {self.target}"


class Solved(Struct, frozen=True):
    """What a worker says of a goal that it has solved.

    Attributes:
        worker: Which one, for people.
        families: How many were solved.
        cells: Specs of them.
        seconds: From the goal's text to its pages.
        cpu: Seconds of the process.
        coarsening: What was left out of the search, if anything.
        pages: A file of them, where the worker has none in common with whoever asked.
        warnings: About the worker's memo.
    """

    worker: str
    families: int
    cells: int
    seconds: float
    cpu: float
    coarsening: str | None
    pages: bytes | None = None
    warnings: tuple[str, ...] = ()


def setting_of(
    definitions: Definitions,
    sources: Sequence[Source],
    targets: Sequence[str],
    budget: Budget | None = None,
) -> Setting:
    """What workers need to work as this process would."""
    values = {
        name: {n: c.value for n, c in definitions.targets[name].every_coefficient.items()}
        for name in targets
    }
    return Setting(tuple(sources), values, budget or UNLIMITED)


def definitions_of(setting: Setting) -> Definitions:
    """This process's definitions, with the files and coefficients of a setting.

    Raises:
        OtherDefinitionsError: They have a target less.
        MorelloError: The files are wrong.
    """
    found = load_definitions(setting.sources, fitted=False, warn=False)
    targets = dict(found.targets)
    for name, values in setting.coefficients.items():
        if name not in targets:
            raise OtherDefinitionsError(
                f"{here()} has no target '{name}'", help="install the same plugins everywhere"
            )
        targets[name] = _with(targets[name], values)
    return replace(found, targets=targets)


def _with(target: Target, values: Mapping[str, float]) -> Target:
    """The target itself where nothing changes: what was worked out for it holds."""
    if all(values.get(n, c.value) == c.value for n, c in target.every_coefficient.items()):
        return target

    def change(name: str, coefficient: Coefficient) -> Coefficient:
        return replace(coefficient, value=values.get(name, coefficient.value))

    return target.with_coefficients(change)


def here() -> str:
    """This process, for people."""
    return f"{platform.node() or 'this machine'}, process {os.getpid()}"


_FINGERPRINTS = FingerprintsOf()


def fingerprint_of(context: Context, goal: Goal) -> str:
    """What the tables of a goal depend on: the same in two processes that can share pages."""
    prints = _FINGERPRINTS(context)
    families = [spec.family for spec in goal_specs(context.target, goal)]
    joined = b"".join(prints.of(context.searched(family)) for family in families)
    return blake2b(joined, digest_size=16).hexdigest()


class Solver:
    """Solves goals in this process."""

    def __init__(self, setting: Setting) -> None:
        """Read definitions.

        Raises:
            OtherDefinitionsError: They have a target less.
            MorelloError: The files of the setting are wrong.
        """
        self._setting = setting
        self._definitions = definitions_of(setting)

    def solve(
        self, task: Task, memo: Memo, progress: Callable[[Progress], None] | None = None
    ) -> Solved:
        """Solve a goal into a memo that is open, and fills.

        Raises:
            OtherDefinitionsError: This process would solve another goal.
            UnwritableError: The memo cannot be written.
            NoImplementationError: Nothing implements the goal.
            MorelloError: It is wrong, or exceeds the budget.
        """
        started, cpu = time.perf_counter(), time.process_time()
        definitions, setting = self._definitions, self._setting
        goal, target = goal_of(task.source, task.spec, task.defines, task.target, definitions)
        if fingerprint_of(context_for(definitions, target), goal) != task.fingerprint:
            raise OtherDefinitionsError(
                f"{here()} has other rules, kernels or another version than asked for '{task}'",
                help="install the same version and plugins everywhere",
            )
        statistics = solve_spec(
            goal,
            target,
            definitions=definitions,
            memo=memo,
            budget=setting.budget,
            workers=setting.threads,
            progress=progress,
        )
        if memo.store is None or not memo.store.writable:
            raise UnwritableError(
                f"{here()} cannot keep what it has solved", help="is there room on the disk?"
            )
        return Solved(
            here(),
            statistics.families,
            statistics.cells,
            time.perf_counter() - started,
            time.process_time() - cpu,
            None if statistics.coarsening is None else str(statistics.coarsening),
        )
