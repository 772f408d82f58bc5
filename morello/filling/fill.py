"""Many goals, in an order in which little is solved twice, and what becomes of each.

The largest goals come first. A goal waits while one of the same variants with sizes at least as
large is being solved: that leaves its answer behind, most often, and then the goal is passed over.
A goal whose worker is lost is given to another one, so many times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import log2, prod
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct

from morello.arguments import goal_of
from morello.checking.goal_list import ListedGoal
from morello.codegen.goals import context_for, goal_specs
from morello.definitions import Definitions
from morello.errors import InternalError, MorelloError
from morello.filling.work import Solved, Task, UnfitWorkerError, fingerprint_of
from morello.filling.workers import LostWorkerError, Workers
from morello.ir.spec import Spec, Variant
from morello.memo.memo import Memo
from morello.memo.records import Key
from morello.memo.transfer import import_memo
from morello.rewriting.context import Context
from morello.search.search import Progress

TRIES = 3
"""Workers that a goal may lose before it is refused: it may be what ends them."""


class PassedOver(Struct, frozen=True):
    """A goal that the memo answers already."""

    task: Task


class Filled(Struct, frozen=True):
    """A goal that was solved; its pages are in the memo."""

    task: Task
    solved: Solved


class Refused(Struct, frozen=True):
    """A goal that could not be solved."""

    task: Task
    error: MorelloError


class Lost(Struct, frozen=True):
    """A goal whose worker was lost; it is begun again."""

    task: Task
    error: LostWorkerError


Event = PassedOver | Filled | Refused | Lost


@dataclass(slots=True)
class _Goal:
    """A goal while it waits. ``larger``: how many that may cover it are not done."""

    task: Task
    context: Context
    specs: tuple[Spec, ...]
    smaller: list[int] = field(default_factory=list)
    larger: int = 0
    covered: bool = False
    lost: int = 0

    @property
    def weight(self) -> float:
        """What grows with the time of its search: the larger come first."""
        total = 0.0
        for spec in self.specs:
            operands = len(spec.family.operands)
            total += operands * (1 + sum(log2(size) for size in spec.sizes))
        return total


class Filling:
    """Goals of one run, checked."""

    def __init__(
        self,
        definitions: Definitions,
        goals: Sequence[tuple[ListedGoal, str]],
        report: Callable[[Progress], None],
        *,
        single_goals: bool = False,
    ) -> None:
        """Read goals, each for a target. Those that are equal count once.

        Args:
            definitions: Operators, rules and targets.
            goals: What is to be solved.
            report: Is told how many are done.
            single_goals: Whether no goal covers another, so that none waits.

        Raises:
            DiagnosticsError: One is wrong.
            UsageError: There is no such target.
        """
        self._report = report
        self._goals: list[_Goal] = []
        seen = set()
        for place, (listed, target) in enumerate(goals):
            report(Progress(place, len(goals), "reading goals"))
            goal, chosen = goal_of(listed.source, listed.spec, listed.defines, target, definitions)
            context = context_for(definitions, chosen)
            specs = tuple(map(context.searched_spec, goal_specs(chosen, goal)))
            task = Task(
                len(self._goals),
                listed.source,
                listed.spec,
                listed.defines,
                target,
                fingerprint_of(context, goal),
            )
            if (target, specs) not in seen:
                seen.add((target, specs))
                self._goals.append(_Goal(task, context, specs))
        if not single_goals:
            self._link()

    def __len__(self) -> int:
        return len(self._goals)

    @property
    def targets(self) -> list[str]:
        """Those of the goals."""
        return sorted({goal.task.target for goal in self._goals})

    def _link(self) -> None:
        """Have each goal wait for those of its variants that are at least as large."""
        alike: defaultdict[tuple[str, tuple[Variant, ...]], list[_Goal]] = defaultdict(list)
        for goal in self._goals:
            alike[goal.task.target, tuple(spec.variant for spec in goal.specs)].append(goal)
        for group in alike.values():
            group.sort(key=lambda goal: -prod(n for spec in goal.specs for n in spec.sizes))
            sizes = np.array([[n for spec in goal.specs for n in spec.sizes] for goal in group])
            for place, goal in enumerate(group):
                below = np.flatnonzero((sizes[place + 1 :] <= sizes[place]).all(axis=1))
                for other in (group[place + 1 + int(n)] for n in below):
                    goal.smaller.append(other.task.number)
                    other.larger += 1
                    other.covered = True

    def run(
        self,
        workers: Workers,
        memo: Memo,
        *,
        resume: bool = False,
        again: Workers | None = None,
        tries: int = TRIES,
    ) -> Iterator[Event]:
        """Have goals solved, once; what becomes of each, as it is known.

        Args:
            workers: Who solves.
            memo: Where pages are, or go to.
            resume: Whether to pass over whatever the memo answers, whoever has solved it.
            again: Who solves goals once more, alone, that the others had no memory for.
            tries: Workers that a goal may lose.

        Raises:
            UnfitWorkerError: No worker can solve goals, or keep what it has solved.
            MorelloError: Pages cannot be written.
        """
        ready = [(-goal.weight, goal.task.number) for goal in self._goals if goal.larger == 0]
        heapify(ready)
        coarse: list[_Goal] = []
        begun = done = 0

        def finish(goal: _Goal) -> None:
            nonlocal done
            done += 1
            for other in map(self._goals.__getitem__, goal.smaller):
                other.larger -= 1
                if other.larger == 0:
                    heappush(ready, (-other.weight, other.task.number))

        while ready or begun:
            while ready and workers.free > 0:
                goal = self._goals[heappop(ready)[1]]
                if (resume or goal.covered) and self._known(memo, goal):
                    finish(goal)
                    yield PassedOver(goal.task)
                else:
                    workers.begin(goal.task)
                    begun += 1
            self._report(Progress(done, len(self), f"{done:,} of {len(self):,} goals"))
            for outcome in workers.outcomes() if ready or begun else ():
                begun -= 1
                goal = self._goals[outcome.task.number]
                event = self._event(memo, goal, outcome.found, tries)
                if isinstance(event, Lost):
                    heappush(ready, (-goal.weight, goal.task.number))
                else:
                    finish(goal)
                if isinstance(event, Filled) and event.solved.coarsening and again is not None:
                    coarse.append(goal)
                else:
                    yield event
        for goal in coarse:
            assert again is not None
            again.begin(goal.task)
            for outcome in again.outcomes():
                yield self._event(memo, goal, outcome.found, tries)

    def _event(self, memo: Memo, goal: _Goal, found: Solved | MorelloError, tries: int) -> Event:
        """What an outcome is; the pages that came with it are kept."""
        if isinstance(found, InternalError | UnfitWorkerError):
            raise found
        if isinstance(found, LostWorkerError) and goal.lost + 1 < tries:
            goal.lost += 1
            return Lost(goal.task, found)
        if isinstance(found, MorelloError):
            return Refused(goal.task, found)
        self._take(memo, found)
        return Filled(goal.task, found)

    def pages(self, memo: Memo) -> Iterator[tuple[Task, Set[Key]]]:
        """Of each goal, the pages that it is answered from; none where it has to be searched."""
        for goal in self._goals:
            found = [memo.recalls(goal.context, spec) for spec in goal.specs]
            yield goal.task, frozenset[Key]().union(*found) if all(found) else frozenset()

    def unknown(self, memo: Memo) -> int:
        """How many the memo does not answer."""
        return sum(not self._known(memo, goal) for goal in self._goals)

    def _known(self, memo: Memo, goal: _Goal) -> bool:
        return all(memo.recalls(goal.context, spec) for spec in goal.specs)

    def _take(self, memo: Memo, solved: Solved) -> None:
        """Keep pages that a worker has sent."""
        if solved.pages is None or memo.store is None:
            return
        with TemporaryDirectory(prefix="morello-") as directory:
            path = Path(directory, "pages.sqlite")
            path.write_bytes(solved.pages)
            import_memo(memo.store, path, warn=_damaged, united=False)


def _damaged(message: str) -> None:
    raise MorelloError(f"a worker has sent a damaged page: {message}")
