"""The search as one call: plan within a budget, solve, hand back the tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from morello.resources import available_cores, memory_budget
from morello.rewriting.alternatives import Context
from morello.search.box import Box
from morello.search.budget import Budget
from morello.search.known import Known, Nothing
from morello.search.options import Option
from morello.search.planning import Planned, plan_within
from morello.search.refusals import NoImplementationError, no_program
from morello.search.schedule import run
from morello.search.solution import Solution
from morello.search.solve import Choices, Solved, solve_variant
from morello.search.sweep import Scratch, SweepPlanner
from morello.spec.spec import Spec, Variant

NOTHING_KNOWN = Nothing()

UNLIMITED = Budget()
"""As far as memory reaches."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is. ``total_cells`` and ``families`` are 0 until they are known."""

    done_cells: int
    total_cells: int
    phase: str
    families: int = 0


def search(
    context: Context,
    goal: Spec,
    *,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget = UNLIMITED,
    workers: int | None = None,
    known: Known = NOTHING_KNOWN,
) -> Solution:
    """Solve a goal and everything below it.

    Where that exceeds the budget, or what memory there is, a coarser target is searched instead:
    the solution has that in its context and says what was dropped.

    Args:
        context: Target, operators and rules.
        goal: The Spec.
        progress: Called now and then; before the first Spec is solved, with their number.
        budget: How much may be done.
        workers: Families to solve at a time; by default as many as there are cores.
        known: What was solved before, and where to leave what is solved now.

    Raises:
        NoImplementationError: Nothing implements the goal; it says what was refused and why.
        MorelloError: Even the coarsest search exceeds the budget.
    """
    report = progress or _silent
    planned = plan_within(
        context, goal, budget, memory_budget(), lambda phase: report(Progress(0, 0, phase)), known
    )
    keep = partial(known.keep, planned.context)
    solved = _solve(planned, workers or available_cores(), report, keep)
    solution = Solution(
        planned.context,
        {family: node.alternatives for family, node in planned.graph.nodes.items()},
        solved,
        not any(task.recalled for task in planned.tasks),
        planned.coarsening,
    )
    if solution.intensity(goal) == float("inf"):
        raise _no_program(solution, goal)
    return solution


def _no_program(solution: Solution, goal: Spec) -> NoImplementationError:
    error = no_program(solution, goal)
    if solution.coarsening is not None:
        error.help += f"; or allow more: this search was {solution.coarsening}"
    return error


class _Workspace(threading.local):
    """What a thread needs for itself."""

    def __init__(self) -> None:
        self.scratch = Scratch()


def _solve(
    planned: Planned,
    workers: int,
    report: Callable[[Progress], None],
    keep: Callable[[Variant, Box, Sequence[Option], Choices], None],
) -> dict[Variant, Solved]:
    """Solve all tasks, children before parents."""
    by_variant = {task.variant: task for task in reversed(planned.tasks)}
    boxes = {variant: task.box for variant, task in by_variant.items()}
    solved: dict[Variant, Solved] = {}
    planner, workspace, lock = SweepPlanner(), _Workspace(), threading.Lock()
    total, families = planned.specs, len(planned.families)
    done = 0
    report(Progress(done, total, "searching", families))

    def work(variant: Variant) -> None:
        nonlocal done
        task = by_variant[variant]
        tables = {child: solved[child].costs for child in task.children if child in solved}
        found = solve_variant(task, boxes, tables, planner, workspace.scratch)
        solved[variant] = found
        if not task.recalled:
            keep(variant, found.box, found.options, found.choices)
        with lock:
            done += task.box.cells
            report(Progress(done, total, "searching", families))

    waits = {v: task.children & by_variant.keys() for v, task in by_variant.items()}
    run(waits, work, workers)
    return solved


def _silent(_: Progress) -> None:
    """Nobody asked."""
