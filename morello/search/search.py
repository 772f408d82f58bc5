"""The search as one call: discover families, plan the cells, solve, hand back the tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from morello.rewriting.alternatives import Context
from morello.search.box import Box
from morello.search.gather import Table
from morello.search.graph import discover
from morello.search.needs import plan_tasks
from morello.search.refusals import no_family, no_program
from morello.search.solution import Solution
from morello.search.solve import solve_family
from morello.search.sweep import SweepPlanner
from morello.spec.spec import Family, Spec

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
) -> Solution:
    """Solve a goal and everything below it.

    Args:
        context: Target, operators and rules.
        goal: The Spec.
        progress: Called now and then.
        cell_limit: Largest number of Specs to solve.

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
        context, graph, goal, cell_limit, lambda _: report(Progress(0, 0, "planning"))
    )
    total = sum(task.box.cells for task in tasks)
    boxes: dict[Family, Box] = {task.family: task.box for task in tasks}
    tables: dict[Family, Table] = {}
    planner = SweepPlanner()
    done = 0
    for task in reversed(tasks):
        tables[task.family] = solve_family(task, boxes, tables, planner)
        done += task.box.cells
        report(Progress(done, total, "searching"))
    tried = {task.family: tuple(bound.alternative for bound in task.bounds) for task in tasks}
    solution = Solution(context, tried, boxes, tables)
    if solution.intensity(goal) == float("inf"):
        raise no_program(solution, goal)
    return solution


def _silent(_: Progress) -> None:
    """Nobody asked."""
