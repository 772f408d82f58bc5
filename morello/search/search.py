"""The search as one call: discover families, plan the cells, solve, hand back the tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from morello.resources import available_cores
from morello.rewriting.alternatives import Context
from morello.search.box import Box
from morello.search.graph import discover
from morello.search.known import Known, Nothing
from morello.search.needs import Task, plan_tasks
from morello.search.options import Option
from morello.search.refusals import no_family, no_program
from morello.search.schedule import run
from morello.search.solution import Solution
from morello.search.solve import Choices, Solved, solve_variant
from morello.search.sweep import Scratch, SweepPlanner
from morello.spec.spec import Spec, Variant

NOTHING_KNOWN = Nothing()

CELL_LIMIT = 2_000_000_000
"""Specs that a search may have: eight gigabytes of tables."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is. ``total_cells`` is 0 until it is known."""

    done_cells: int
    total_cells: int
    phase: str


def search(
    context: Context,
    goal: Spec,
    *,
    progress: Callable[[Progress], None] | None = None,
    cell_limit: int = CELL_LIMIT,
    workers: int | None = None,
    known: Known = NOTHING_KNOWN,
) -> Solution:
    """Solve a goal and everything below it.

    Args:
        context: Target, operators and rules.
        goal: The Spec.
        progress: Called now and then.
        cell_limit: Largest number of Specs to solve.
        workers: Families to solve at a time; by default as many as there are cores.
        known: What was solved before, and where to leave what is solved now.

    Raises:
        NoImplementationError: Nothing implements the goal; it says what was refused and why.
        MorelloError: There are more Specs than the limit.
    """
    report = progress or _silent
    report(Progress(0, 0, "finding families"))
    graph = discover(context, goal.family)
    if goal.family not in graph:
        raise no_family(context, goal)
    tasks = plan_tasks(
        context, graph, goal, cell_limit, lambda _: report(Progress(0, 0, "planning")), known
    )
    keep = partial(known.keep, context)
    solved = _solve(tasks, workers or available_cores(), report, keep)
    tried = {family: node.alternatives for family, node in graph.nodes.items()}
    solution = Solution(context, tried, solved, not any(task.recalled for task in tasks))
    if solution.intensity(goal) == float("inf"):
        raise no_program(solution, goal)
    return solution


class _Workspace(threading.local):
    """What a thread needs for itself."""

    def __init__(self) -> None:
        self.scratch = Scratch()


def _solve(
    tasks: list[Task],
    workers: int,
    report: Callable[[Progress], None],
    keep: Callable[[Variant, Box, Sequence[Option], Choices], None],
) -> dict[Variant, Solved]:
    """Solve all tasks, children before parents."""
    by_variant = {task.variant: task for task in reversed(tasks)}
    boxes = {variant: task.box for variant, task in by_variant.items()}
    solved: dict[Variant, Solved] = {}
    planner, workspace, lock = SweepPlanner(), _Workspace(), threading.Lock()
    total = sum(box.cells for box in boxes.values())
    done = 0

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
            report(Progress(done, total, "searching"))

    waits = {v: task.children & by_variant.keys() for v, task in by_variant.items()}
    run(waits, work, workers)
    return solved


def _silent(_: Progress) -> None:
    """Nobody asked."""
