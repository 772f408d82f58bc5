"""Workers of a Dask scheduler: goals go there, and files of pages come back.

Dask gives the goal of a worker that is lost to another one. A worker with other definitions gets no
second goal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import distributed

from morello.errors import InternalError, MorelloError
from morello.filling.scheduler import Scheduler
from morello.filling.work import Setting, Solved, Solver, Task, UnfitWorkerError
from morello.filling.workers import Outcome
from morello.memo.memo import Memo
from morello.memo.transfer import export_memo
from morello.records import replace

MEMORY_SHARE = 0.6
"""Of a worker's limit, what a search may take: from there on Dask itself takes measures."""

AHEAD = 4
"""For so many workers one goal more is sent than they are, so that none waits for its next one."""


class Cluster:
    """The workers of a scheduler, however many there are at the time."""

    def __init__(self, address: str, setting: Setting, warn: Callable[[str], None]) -> None:
        """Connect.

        Raises:
            MorelloError: There is no scheduler.
        """
        self._scheduler = Scheduler(address)
        self._setting = setting
        self._warn = warn
        self._unfit: set[str] = set()
        self._said = False

    @property
    def free(self) -> int:
        """How many more goals there are workers for."""
        count = len(self._fit())
        return max(0, count + (count + AHEAD - 1) // AHEAD - self._scheduler.begun)

    def begin(self, task: Task) -> None:
        """Send it to any worker that has not turned out to be unfit."""
        self._scheduler.call(task, solve_on_worker, self._setting, task, allowed=self._allowed)

    def outcomes(self) -> Sequence[Outcome]:
        """Wait for some, at most a moment."""
        if not self._scheduler.workers() and not self._said:
            self._said = True
            self._warn("the scheduler has no worker yet; begin some: dask worker ADDRESS")
        found = []
        for returned in self._scheduler.returned():
            task = returned.token
            assert isinstance(task, Task)
            if isinstance(returned.value, MorelloError):
                found.append(Outcome(task, returned.value))
                continue
            address, value = returned.value
            if isinstance(value, UnfitWorkerError):
                self._begin_elsewhere(task, address, value)
            else:
                found.append(Outcome(task, value))
        return found

    def close(self) -> None:
        """Take back what was sent, and leave the scheduler as it is."""
        self._scheduler.close()

    def _fit(self) -> list[str]:
        return [address for address in self._scheduler.workers() if address not in self._unfit]

    def _allowed(self) -> list[str] | None:
        return self._fit() if self._unfit else None

    def _begin_elsewhere(self, task: Task, address: str, why: UnfitWorkerError) -> None:
        if address not in self._unfit:
            self._unfit.add(address)
            self._warn(f"worker {address} gets no more goals: {why}")
        if not self._fit():
            raise UnfitWorkerError(f"no worker is fit: {why}", help=why.help)
        self.begin(task)


_SOLVING = threading.Lock()
"""Held by the thread of a worker that searches: a process has one search at a time."""

_KEPT: list[tuple[Setting, Solver]] = []
"""Of the run that a worker process works for."""


def solve_on_worker(setting: Setting, task: Task) -> tuple[str, Solved | MorelloError]:
    """What a worker runs: its address, and the goal with its pages, or why it is refused."""
    worker = distributed.get_worker()
    with _SOLVING:
        try:
            found: Solved | MorelloError = _solved(_solver(setting, worker), task, worker)
        except MorelloError as error:
            found = error
        except Exception as error:  # a fault of this package: it ends the run
            found = InternalError(f"{type(error).__name__}: {error}")
    return worker.address, found


def _solver(setting: Setting, worker: Any) -> Solver:
    if not _KEPT or _KEPT[0][0] != setting:
        limit = worker.memory_manager.memory_limit
        memory = int(limit * MEMORY_SHARE) if limit else None
        _KEPT[:] = [(setting, Solver(setting.within(worker.state.nthreads, memory)))]
    return _KEPT[0][1]


def _solved(solver: Solver, task: Task, worker: Any) -> Solved:
    """The pages of one goal, which are all in a file of their own."""
    warnings: list[str] = []
    with TemporaryDirectory(prefix="morello-", dir=worker.local_directory) as directory:
        path = Path(directory, "pages.sqlite")
        with Memo.open(Path(directory, "memo.sqlite"), warn=warnings.append, fill=True) as memo:
            solved = solver.solve(task, memo)
            assert memo.store is not None
            export_memo(memo.store, path)
        return replace(solved, pages=path.read_bytes(), warnings=tuple(warnings))
