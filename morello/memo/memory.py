"""What was solved, kept in memory: the tables of whole searches, and decisions by Spec.

A search for one goal solves every Spec below it. A later goal that is among those is answered from
the tables. Decisions are recorded by the names of rules and kernels with their parameters, never as
an index into something that could be enumerated in another order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache

from cachetools import Cache, LRUCache

from morello.rewriting.alternatives import Context
from morello.search.reconstruct import Decision, PlanNode
from morello.search.refusals import no_program
from morello.search.solution import Solution
from morello.spec.spec import Spec

BUDGET = 1 << 30
"""Bytes of tables that are kept."""


class Memo:
    """Solved tables within a budget of bytes, the least recently used forgotten first.

    It may be used from several threads; a search runs outside of the lock.
    """

    def __init__(self, budget: int = BUDGET) -> None:
        self._solutions: LRUCache[int, Solution] = LRUCache(budget, getsizeof=lambda s: s.bytes)
        self._lock = threading.Lock()
        self._next = 0

    def solution(self, context: Context, goal: Spec, solve: Callable[[], Solution]) -> Solution:
        """A solution that covers the goal: one that is known, or else a new one.

        Raises:
            NoImplementationError: Nothing implements the goal, as is known or turns out.
        """
        known = self._known(context, goal)
        if known is None:
            return self._keep(solve())
        if known.intensity(goal) == float("inf"):
            raise no_program(known, goal)
        return known

    def _known(self, context: Context, goal: Spec) -> Solution | None:
        with self._lock:
            for key in list(self._solutions):
                known = Cache.__getitem__(self._solutions, key)  # only looks: that is no use
                if known.context.same_definitions(context) and known.covers(goal):
                    return self._solutions[key]  # this look-up marks it as used
        return None

    def _keep(self, found: Solution) -> Solution:
        with self._lock:
            self._next += 1
            if found.bytes <= self._solutions.maxsize:
                self._solutions[self._next] = found
        return found

    @property
    def solutions(self) -> int:
        """Number of searches whose tables are kept."""
        return len(self._solutions)


@cache
def process_memo() -> Memo:
    """Shared by all compiles of this process that do not bring their own."""
    return Memo()


def decisions(plan: PlanNode) -> dict[Spec, Decision]:
    """Every decision of a plan by its Spec."""
    found: dict[Spec, Decision] = {}
    pending = [plan]
    while pending:
        node = pending.pop()
        if node.spec not in found:
            found[node.spec] = node.decision
            pending += node.children
    return found
