"""Searches for specs that are about to be compiled: several at a time, each in a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from morello.checking.goal_list import ListedGoal
from morello.definitions import Definitions
from morello.filling.fill import Filled, Filling
from morello.filling.work import Solved, UnfitWorkerError, setting_of
from morello.filling.workers import Processes
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.records import replace
from morello.search.planning.budget import Budget
from morello.search.search import Progress


def search_ahead(
    specs: Mapping[str, str],
    *,
    target: str,
    definitions: Definitions,
    sources: Sequence[Source],
    memo: Memo,
    jobs: int,
    budget: Budget | None,
    progress: Callable[[Progress], None],
) -> dict[str, Solved]:
    """Have each spec searched, so that the memo answers when it is compiled.

    Whatever goes wrong here, a compile meets too, and says so: nothing is lost but time.

    Args:
        specs: The texts, by their names.
        target: For which one.
        definitions: Operators, rules and targets.
        sources: Files of definitions beside those of plugins.
        memo: One in a file; without one that can be written, nothing is searched.
        jobs: How many at the same time, at most.
        budget: Of each search.
        progress: Is told how many are done.

    Returns:
        Of those that were searched, how that went. The memo answers the others already; or there
        was no use in more than one process.
    """
    found: dict[str, Solved] = {}
    if memo.store is None or memo.store.path is None or not memo.store.writable:
        return found
    goals = [(ListedGoal(Source(name, text), name, {}), target) for name, text in specs.items()]
    filling = Filling(definitions, goals, progress, single_goals=True)
    # To begin a process takes as long as a small goal: each gets two at least.
    count = min(jobs, filling.unknown(memo) // 2)
    if count < 2:
        return found
    setting = replace(setting_of(definitions, sources, [target], budget), single_goals=True)
    with closing(Processes(count, setting, memo.store.path)) as workers:
        try:
            for event in filling.run(workers, memo, resume=True, tries=1):
                if isinstance(event, Filled):
                    found[event.task.spec] = event.solved
        except UnfitWorkerError:
            return found
    return found
