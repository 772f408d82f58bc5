"""Who solves goals: this process, or others on this machine, which share the memo's file."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from morello.errors import InternalError, MorelloError
from morello.filling.work import TABLES, Setting, Solved, Solver, Task, UnwritableError
from morello.memo.memo import Memo
from morello.records import replace
from morello.resources import available_cores, memory_budget
from morello.search.search import Progress
from morello.startup.process import ENDING, INTERRUPTED, terminate

STOPPING_SECONDS = 20.0
"""What a worker gets to write what it has solved, before it is killed."""


class LostWorkerError(MorelloError):
    """A worker ended before its goal was solved: it was killed, or its machine is gone."""


class Outcome(Struct, frozen=True):
    """What became of a task that was begun."""

    task: Task
    found: Solved | MorelloError


class Workers(Protocol):
    """Some that solve goals at the same time."""

    @property
    def free(self) -> int:
        """How many more tasks can be begun."""
        ...

    def begin(self, task: Task) -> None:
        """Have a task solved."""
        ...

    def outcomes(self) -> Sequence[Outcome]:
        """Wait until some tasks that were begun have ended, or a moment; those that have."""
        ...

    def close(self) -> None:
        """Stop all, after they have written what they can."""
        ...


class ThisProcess:
    """Solves one goal at a time, with all cores; ``progress`` is of each search."""

    def __init__(
        self, setting: Setting, memo: Memo, progress: Callable[[Task, Progress], None]
    ) -> None:
        self._setting, self._memo, self._progress = setting, memo, progress
        self._solver: Solver | None = None
        self._begun: list[Task] = []

    @property
    def free(self) -> int:
        """One, unless a task waits for `outcomes`."""
        return 0 if self._begun else 1

    def begin(self, task: Task) -> None:
        """It is solved in `outcomes`."""
        self._begun.append(task)

    def outcomes(self) -> Sequence[Outcome]:
        """Solve what was begun."""
        task = self._begun.pop()
        try:
            self._solver = self._solver or Solver(self._setting)
            solved = self._solver.solve(task, self._memo, lambda step: self._progress(task, step))
            return [Outcome(task, solved)]
        except MorelloError as error:
            return [Outcome(task, error)]

    def close(self) -> None:
        """Nothing is left behind."""


@dataclass(slots=True)
class _Worker:
    """One process, what connects it, and what it does."""

    process: BaseProcess
    connection: Connection
    task: Task | None = None


@dataclass(slots=True)
class Processes:
    """So many processes, begun as they are needed, and anew where one is lost.

    Each has an equal share of cores and of memory.
    """

    count: int
    setting: Setting
    memo: Path
    _workers: list[_Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        threads = max(1, available_cores() // self.count)
        self.setting = self.setting.within(threads, memory_budget() // self.count)

    @property
    def free(self) -> int:
        """How many do nothing."""
        return self.count - sum(worker.task is not None for worker in self._workers)

    def begin(self, task: Task) -> None:
        """Give it to a process that does nothing, or a new one."""
        worker = next((w for w in self._workers if w.task is None), None) or self._started()
        worker.task = task
        with suppress(OSError):  # it is lost: that is an outcome
            worker.connection.send(task)

    def outcomes(self) -> Sequence[Outcome]:
        """Wait for one of them."""
        ready = wait([w.connection for w in self._workers if w.task is not None])
        found = []
        for worker in [w for w in self._workers if w.connection in ready]:
            assert worker.task is not None
            task, worker.task = worker.task, None
            try:
                found.append(Outcome(task, worker.connection.recv()))
            except (EOFError, OSError):
                worker.process.join()
                self._workers.remove(worker)
                found.append(Outcome(task, _lost(worker.process)))
        return found

    def close(self) -> None:
        """Interrupt what is at work, and wait; kill what does not end, or all if interrupted."""
        deadline = time.monotonic() + STOPPING_SECONDS
        try:
            for worker in self._workers:
                with suppress(OSError):
                    worker.connection.send(None)
                if worker.task is not None:
                    worker.process.terminate()
            for worker in self._workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
                worker.connection.close()
            self._workers.clear()

    def _started(self) -> _Worker:
        context = get_context("spawn")
        own, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, self.setting, self.memo), daemon=True
        )
        process.start()
        theirs.close()
        worker = _Worker(process, own)
        self._workers.append(worker)
        return worker


@contextmanager
def _told_by_its_status() -> Iterator[None]:
    """What interrupts this process ends it quietly."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        sys.exit(getattr(interrupt, "status", INTERRUPTED))


def _lost(process: BaseProcess) -> LostWorkerError:
    code = process.exitcode or 0
    why = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
    help = "if it took too much memory: fewer --jobs, or a --budget"
    return LostWorkerError(f"process {process.pid} {why}", help=help)


def _serve(connection: Connection, setting: Setting, memo: Path) -> None:
    """What a worker does: solve what it is sent, until nothing more comes."""
    for number in ENDING:
        signal.signal(number, terminate)
    warnings: list[str] = []
    fill = not setting.single_goals
    with (
        suppress(EOFError, OSError),  # whoever asks has gone
        _told_by_its_status(),
        Memo.open(memo, warn=warnings.append, budget=TABLES, fill=fill) as opened,
    ):
        solver: Solver | None = None
        while (task := connection.recv()) is not None:
            try:
                solver = solver or Solver(setting)
                found: Solved | MorelloError = solver.solve(task, opened)
            except UnwritableError as error:
                found = UnwritableError(": ".join([str(error), *warnings]), help=error.help)
            except MorelloError as error:
                found = error
            except Exception as error:  # a fault of this package: it ends the run
                found = InternalError(f"{type(error).__name__}: {error}")
            if isinstance(found, Solved) and warnings:
                found = replace(found, warnings=tuple(warnings))
                warnings.clear()
            connection.send(found)
