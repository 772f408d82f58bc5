"""Workers of a Dask scheduler: goals go there, and files of pages come back.

Dask gives the goal of a worker that is lost to another one. A worker with other definitions gets no
second goal.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import distributed
from distributed.scheduler import KilledWorker

from morello.errors import InternalError, MorelloError
from morello.filling.work import OtherDefinitionsError, Setting, Solved, Solver, Task
from morello.filling.workers import LostWorkerError, Outcome
from morello.memo.memo import Memo
from morello.memo.transfer import export_memo
from morello.search.search import UNLIMITED

_CLIENT: Any = distributed.Client
_WAIT: Any = distributed.wait
"""Its functions have no types, though it says that it has."""

CONNECTING_SECONDS = 10.0
MOMENT = 1.0
"""Seconds after which it is looked which workers there are."""

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
        self._address = address
        try:
            self._client: Any = _CLIENT(address, timeout=CONNECTING_SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise MorelloError(
                f"there is no scheduler at '{address}': {error}",
                help="begin one: dask scheduler; and workers: dask worker ADDRESS",
            ) from error
        self._setting = setting
        self._warn = warn
        self._begun: dict[Any, Task] = {}
        self._unfit: set[str] = set()
        self._known: list[str] = []
        self._looked = -MOMENT

    @property
    def free(self) -> int:
        """How many more goals there are workers for."""
        count = len(self._workers())
        return max(0, count + (count + AHEAD - 1) // AHEAD - len(self._begun))

    def begin(self, task: Task) -> None:
        """Send it to any worker that has not turned out to be unfit."""
        allowed = self._workers() if self._unfit else None
        future = self._client.submit(
            solve_on_worker, self._setting, task, pure=False, workers=allowed, retries=0
        )
        self._begun[future] = task

    def outcomes(self) -> Sequence[Outcome]:
        """Wait for some, at most a moment."""
        if not self._begun:
            time.sleep(MOMENT)
            self._require_scheduler()
            return []
        try:
            with self._client.as_current():
                begun = list(self._begun)
                done = _WAIT(begun, MOMENT, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            self._require_scheduler()
            return []
        found = []
        for future in done:
            outcome = self._outcome(future, self._begun.pop(future))
            if outcome is not None:
                found.append(outcome)
        return found

    def close(self) -> None:
        """Take back what was sent, and leave the scheduler as it is."""
        with suppress(Exception):  # it may be gone
            self._client.cancel(list(self._begun), force=True)
        self._begun.clear()
        with suppress(Exception):
            self._client.close()

    def _workers(self) -> list[str]:
        """Addresses of those that are fit, as of a moment ago."""
        if time.monotonic() - self._looked >= MOMENT:
            self._looked = time.monotonic()
            try:
                self._known = sorted(self._client.nthreads())
            except (OSError, ValueError) as error:
                raise self._gone() from error
        return [address for address in self._known if address not in self._unfit]

    def _outcome(self, future: Any, task: Task) -> Outcome | None:
        """What a worker said; none where another one has the task now."""
        try:
            address, found = future.result()
        except KilledWorker as error:
            return Outcome(task, LostWorkerError(str(error).split(". ")[0]))
        except distributed.client.FutureCancelledError as error:
            raise self._gone() from error
        if not isinstance(found, OtherDefinitionsError):
            return Outcome(task, found)
        if address not in self._unfit:
            self._unfit.add(address)
            self._warn(f"worker {address} gets no more goals: {found}")
        if not self._workers():
            raise OtherDefinitionsError(
                f"no worker is fit: {found}", help="install the same version and plugins everywhere"
            )
        self.begin(task)
        return None

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "connecting"):
            raise self._gone()

    def _gone(self) -> MorelloError:
        return MorelloError(
            f"the scheduler at '{self._address}' is gone",
            help="what came back is kept: begin again with --resume",
        )


_SOLVING = threading.RLock()
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
        own = replace(setting, threads=worker.state.nthreads)
        limit = worker.memory_manager.memory_limit
        if setting.budget == UNLIMITED and limit:
            own = replace(own, budget=replace(setting.budget, bytes=int(limit * MEMORY_SHARE)))
        _KEPT[:] = [(setting, Solver(own))]
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
