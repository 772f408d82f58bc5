"""Solved goals, each searched once for all tests, and ways to walk through their tables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import inf, prod

from morello.ir.spec import Spec, Variant
from morello.ir.target import Target
from morello.report.plan import Plan, Tree
from morello.rewriting.context import Context
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.results.reconstruct import PlanNode, reconstruct
from morello.search.results.solution import Solution
from morello.search.results.solved_view import SolvedView
from morello.search.search import search
from morello.search.tables.box import IRRELEVANT, Box
from tests.search.goals import Wanted
from tests.search.machines import context


@cache
def solved(name: str, wanted: Wanted) -> Solution:
    """The tables of a goal on a target by name."""
    return search(context(name), wanted.spec(context(name).target))


@cache
def plan_of(name: str, wanted: Wanted) -> PlanNode:
    """The plan of a goal on a target by name."""
    return reconstruct(solved(name, wanted), wanted.spec(context(name).target))


def one_tree(root: PlanNode, solved: SolvedView) -> Plan:
    """The plan of one Spec."""
    return Plan((Tree("out", root, solved),))


def cost(used: Context, wanted: Wanted) -> float:
    """Least intensity of a goal; infinite where nothing implements it."""
    spec = wanted.spec(used.target)
    try:
        return search(used, spec).intensity(spec)
    except NoImplementationError:
        return inf


def cell(
    target: Target, variant: Variant, box: Box, ranks: tuple[int, ...], *, full: bool = False
) -> Spec:
    """The Spec at these ranks of a box.

    Of a level that is no coordinate of the family nothing is in use, or, if ``full``, all.
    """
    values = [int(axis[rank]) for axis, rank in zip(box.axes, ranks, strict=True)]
    sizes, used = values[: box.dimensions], values[box.dimensions :]
    for position, level in enumerate(target.bounded):
        if used[position] == IRRELEVANT:
            used[position] = (level.capacity or 0) if full else 0
    return Spec(variant.family, tuple(sizes), tuple(used), variant.packing)


def cells(solution: Solution, *, full: bool = False) -> Iterator[Spec]:
    """Every Spec of every variant of a solution; ``full`` as in `cell`."""
    for variant, box in solution.boxes.items():
        for ranks in product(*map(range, box.shape)):
            yield cell(solution.context.target, variant, box, ranks, full=full)


def volume(spec: Spec) -> int:
    """Number of iterations."""
    return prod(spec.sizes)


def nodes(plan: PlanNode) -> Iterator[PlanNode]:
    """Every distinct node of a plan."""
    seen: set[int] = set()
    pending = [plan]
    while pending:
        node = pending.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            pending += node.children
