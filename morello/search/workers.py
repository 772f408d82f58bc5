"""Solving variants in the order of their dependencies, by several processes on shared tables.

Threads were tried: most of the work is in array operations, which run side by side, but they are
short, and what is between them does not: two threads took as long as one. Processes are forked when
all is planned, so that nothing but the tables, in shared memory, and the numbers of variants passes
between them. A table depends on its children's alone: results do not depend on the order.

Other threads of the process, a progress bar's or a user's, are not there in a child, but locks that
they held when it was forked are, held forever. A child computes and writes to its pipe: of locks it
meets only those of `functools.cached_property`, which has some before Python 3.12.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import cached_property
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import numpy as np

from morello.errors import MorelloError

Work = Callable[[int], None]


def shared_array(length: int, dtype: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """A vector that forked processes share, full of zeros."""
    size = max(length * np.dtype(dtype).itemsize, 1)
    return np.frombuffer(mmap.mmap(-1, size), dtype, length)


def can_fork() -> bool:
    """Whether processes can be forked safely here."""
    return sys.platform == "linux"


class _Order:
    """What may be begun: items for which nothing is waited any more, the earliest first."""

    def __init__(self, waits: Sequence[Set[int]]) -> None:
        self._left = [len(before) for before in waits]
        self._after: list[list[int]] = [[] for _ in waits]
        for item, before in enumerate(waits):
            for other in before:
                self._after[other].append(item)
        self.ready = deque(item for item, left in enumerate(self._left) if not left)

    def done(self, item: int) -> None:
        """What waited for this item alone is ready."""
        for other in self._after[item]:
            self._left[other] -= 1
            if not self._left[other]:
                self.ready.append(other)


def run_here(waits: Sequence[Set[int]], work: Work, finished: Work) -> None:
    """Call ``work`` and then ``finished`` for every item, after those that it waits for."""
    order = _Order(waits)
    while order.ready:
        item = order.ready.popleft()
        work(item)
        finished(item)
        order.done(item)


def run_apart(waits: Sequence[Set[int]], work: Work, finished: Work, workers: int) -> None:
    """The same, ``work`` in so many forked processes: it may change shared memory only.

    Args:
        waits: For each item, by number, others that it waits for. Without cycles.
        work: What to do; it is called once for each item, in one of the processes.
        finished: Called here after each.
        workers: How many processes.

    Raises:
        MorelloError: A process ended before its work was done.
        Exception: What ``work`` raised.
    """
    order = _Order(waits)
    pool: list[_Worker] = []
    try:
        for _ in range(workers):
            pool.append(_Worker(work, pool))
        idle = deque(pool)
        busy: list[_Worker] = []
        while order.ready or busy:
            while order.ready and idle:
                busy.append(idle.popleft())
                busy[-1].connection.send(order.ready.popleft())
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                item = worker.result()
                busy.remove(worker)
                idle.append(worker)
                finished(item)
                order.done(item)
    finally:
        for worker in pool:
            worker.stop()


class _Worker:
    """A forked process that does one item after the other."""

    def __init__(self, work: Work, others: Sequence[_Worker]) -> None:
        """Fork.

        Args:
            work: What it does with each item.
            others: Those that were forked before.
        """
        self.connection, own = Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are other threads
            self._process = os.fork()
        if self._process:
            own.close()
            return
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted, and stops it
            for connection in (self.connection, *(other.connection for other in others)):
                connection.close()  # so that the end of the parent is seen as the end of the pipe
            _release_locks()
            _serve(work, own)
        finally:
            os._exit(0)

    def result(self) -> int:
        """The item that is done, or what its work raised."""
        try:
            found: int | Exception = self.connection.recv()
        except (EOFError, OSError):
            raise MorelloError(
                "a process of the search ended before its work was done",
                help="memory may be short: set a smaller budget, such as --budget '1 GiB'",
            ) from None
        if isinstance(found, Exception):
            raise found
        return found

    def stop(self) -> None:
        """End the process, whatever it does, and wait for its end."""
        with suppress(OSError):
            self.connection.close()
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._process, 0)


def _release_locks() -> None:
    """New locks for the cached properties of this package, where they have any."""
    package = __name__.partition(".")[0]
    modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == package]
    classes = {c for m in modules for c in vars(m).values() if isinstance(c, type)}
    for found in (value for c in classes for value in vars(c).values()):
        if isinstance(found, cached_property) and hasattr(found, "lock"):
            found.lock = threading.RLock()


def _serve(work: Work, connection: Connection) -> None:
    """Do what is asked for until nobody asks any more."""
    with suppress(EOFError, OSError):
        while True:
            item = connection.recv()
            try:
                work(item)
            except Exception as error:
                connection.send(error)
            else:
                connection.send(item)
