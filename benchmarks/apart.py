"""Contenders in processes of their own, which rest while others are measured.

Pools of threads disturb each other: those of one library wait for work, awake, while another one's
are at it. A process that is stopped does not. When it goes on, its threads may be on one processor,
and wait for each other until they are apart, some 20 ms later; calls take up to a hundred times as
long till then. `Apart.wake` makes calls that nobody times.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.harness import wake
from morello.runtime.timing import Contender


class Apart:
    """A contender in a process, which is stopped but while it is called."""

    def __init__(self, process: int, connection: Connection) -> None:
        self._process = process
        self._connection = connection

    def wake(self) -> None:
        """Let the process go on until the next call, and call the contender till it is awake."""
        os.kill(self._process, signal.SIGCONT)
        wake(partial(self._ask, 1))

    def __call__(self, count: int) -> None:
        """The contender's work, ``count`` times."""
        os.kill(self._process, signal.SIGCONT)
        self._ask(count)
        os.kill(self._process, signal.SIGSTOP)

    def _ask(self, count: int) -> None:
        self._connection.send(count)
        self._connection.recv()


@contextmanager
def apart(make: Callable[..., Contender | None], *arguments: Any) -> Iterator[Apart | None]:
    """A contender that ``make(*arguments)`` makes in a new process, where that gives one.

    Both have to be such that they can be sent there. The process ends with the context.
    """
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, make, arguments), daemon=True)
    process.start()
    there.close()
    assert process.pid is not None
    try:
        if here.recv():
            os.kill(process.pid, signal.SIGSTOP)
            yield Apart(process.pid, here)
        else:
            yield None
    finally:
        process.kill()
        process.join()


def _serve(
    connection: Connection, make: Callable[..., Contender | None], arguments: tuple[Any, ...]
) -> None:
    contender = make(*arguments)
    connection.send(contender is not None)
    while contender is not None:
        try:
            count = connection.recv()
        except EOFError:
            return
        contender(count)
        connection.send(count)
