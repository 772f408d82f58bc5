"""Contenders in processes of their own, which rest while others are measured.

Pools of threads disturb each other: those of one library wait for work, awake, while another one's
are at it. A process that is stopped does not.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from morello.toolchain.timing import Contender


@contextmanager
def apart(make: Callable[..., Contender | None], *arguments: Any) -> Iterator[Contender | None]:
    """A contender that ``make(*arguments)`` makes in a new process, where that gives one.

    Both have to be such that they can be sent there. The process ends with the context.
    """
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, make, arguments), daemon=True)
    process.start()
    there.close()
    assert process.pid is not None
    number = process.pid

    def run(count: int) -> None:
        os.kill(number, signal.SIGCONT)
        here.send(count)
        here.recv()
        os.kill(number, signal.SIGSTOP)

    try:
        if here.recv():
            os.kill(number, signal.SIGSTOP)
            yield run
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
