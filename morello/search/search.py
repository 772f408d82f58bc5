"""The search as one call: plan within a budget, solve, hand back the tables."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TypedDict, Unpack

import numpy as np
from msgspec import Struct

from morello.ir.spec import Spec, Variant
from morello.resources import available_cores, memory_budget
from morello.rewriting.context import Context
from morello.search.planning.budget import Budget
from morello.search.planning.demand import Task
from morello.search.planning.within_budget import Planned, plan_within
from morello.search.results.refusals import implemented
from morello.search.results.solution import Solution
from morello.search.solving.compiled import compiled_solver
from morello.search.solving.solve import solve_variant
from morello.search.solving.step_plan import StepPlanner
from morello.search.solving.workers import run_in_order
from morello.search.tables.memo_backend import MemoBackend, NullMemo
from morello.search.tables.scratch import Scratch
from morello.search.tables.solved import Solved

NO_MEMO = NullMemo()

UNLIMITED = Budget()
"""As far as memory reaches."""

WORTH_WORKERS = 1_000_000
"""Specs from which on threads are worth being started, where it is not said how many."""


class Progress(Struct, frozen=True):
    """How far a search is. ``total_cells`` and ``families`` are 0 until they are known."""

    done_cells: int
    total_cells: int
    phase: str
    families: int = 0


def solve_goal(
    context: Context,
    goal: Spec,
    *,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget = UNLIMITED,
    workers: int | None = None,
    memo: MemoBackend = NO_MEMO,
    single_goal: bool = False,
) -> Solution:
    """Solve a goal and everything below it, whether or not there is a program for it.

    Where that exceeds the budget, or what memory there is, a coarser target is searched instead:
    the solution has that in its context and says what was dropped.

    Args:
        context: Target, operators and rules.
        goal: The Spec.
        progress: Called now and then; before the first Spec is solved, with their number.
        budget: How much may be done.
        workers: Threads that solve; by default as many as there are cores, if it is worth it.
        memo: What was solved before.
        single_goal: Whether only what this goal needs is solved, and less is sure to be there for
            other ones.

    Raises:
        NoImplementationError: No choice of alternatives leads to kernels only, at any size.
        MorelloError: Even the coarsest search exceeds the budget.
    """
    report = progress or _silent
    with _uncollected():
        planned = plan_within(
            context,
            goal,
            budget,
            memory_budget(),
            lambda phase: report(Progress(0, 0, phase)),
            memo,
            single_goal,
        )
        if workers is None:
            workers = available_cores() if planned.specs >= WORTH_WORKERS else 1
        solved: dict[Variant, Solved] = {}
        try:
            _solve(planned, workers, report, solved)
        except KeyboardInterrupt:
            # Tables depend on those below alone: what was solved by now is solved for good.
            memo.keep(planned.context, _solution(planned, solved).tried)
            raise
    return _solution(planned, solved)


def _solution(planned: Planned, solved: dict[Variant, Solved]) -> Solution:
    return Solution(
        planned.context,
        {family: node.alternatives for family, node in planned.graph.nodes.items()},
        solved,
        frozenset(task.variant for task in planned.tasks if task.recalled),
        planned.coarsening,
    )


class Options(TypedDict, total=False):
    """Those of `solve_goal`."""

    progress: Callable[[Progress], None] | None
    budget: Budget
    workers: int | None
    memo: MemoBackend
    single_goal: bool


def search(context: Context, goal: Spec, **options: Unpack[Options]) -> Solution:
    """Solve a goal for which there has to be a program: see `solve_goal`.

    Raises:
        NoImplementationError: Nothing implements the goal; it says what was refused and why.
        MorelloError: Even the coarsest search exceeds the budget.
    """
    return implemented(solve_goal(context, goal, **options), goal)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let the garbage collector rest: what a search makes, it keeps, in hardly any cycles.

    To look through it again and again was a tenth of the time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Tables:
    """Costs and choices of all tasks, in one piece of memory each."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        cells = [task.box.cells for task in tasks]
        ends = np.cumsum(cells).tolist()
        costs, choices = np.empty(sum(cells), np.float32), np.empty(sum(cells), np.int16)
        places = [slice(end - count, end) for end, count in zip(ends, cells, strict=True)]
        pairs = list(zip(tasks, places, strict=True))
        self.costs = {t.variant: t.box.in_memory(costs[place]) for t, place in pairs}
        self.choices = {t.variant: t.box.in_memory(choices[place]) for t, place in pairs}
        self._boxes = {task.variant: task.box for task in tasks}
        self._compiled = compiled_solver()
        self._planner, self._scratch, self._lock = StepPlanner(), Scratch(), Lock()

    def solve(self, number: int) -> None:
        """Solve one task, its children being solved."""
        task = self.tasks[number]
        tables = (task, self._boxes, self.costs, self.choices[task.variant])
        if self._compiled is None or not self._compiled.solve(*tables):
            with self._lock:  # what numpy works with is of one thread at a time
                solve_variant(*tables, self._planner, self._scratch)

    def solved(self, task: Task) -> Solved:
        """What was found for a task."""
        variant = task.variant
        costs, choices = task.box.table(self.costs[variant]), task.box.table(self.choices[variant])
        return Solved(task.box, costs, choices, task.options)


def _solve(
    planned: Planned,
    workers: int,
    report: Callable[[Progress], None],
    solved: dict[Variant, Solved],
) -> None:
    """Solve all tasks, children before parents; ``solved`` has what is done, whatever happens."""
    tasks = planned.tasks[::-1]
    tables = _Tables(tasks)
    total, families = planned.specs, len(planned.families)
    done = 0
    report(Progress(done, total, "searching", families))

    def finished(number: int) -> None:
        nonlocal done
        task = tasks[number]
        solved[task.variant] = tables.solved(task)
        done += task.box.cells
        report(Progress(done, total, "searching", families))

    numbers = {task.variant: number for number, task in enumerate(tasks)}
    waits = [{numbers[v] for v in task.children if v in numbers} for task in tasks]
    run_in_order(waits, tables.solve, finished, workers)


def _silent(_: Progress) -> None:
    """Nobody asked."""
