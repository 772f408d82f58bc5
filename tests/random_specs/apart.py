"""Runs functions in processes of their own, several at once, each within a time of a processor."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Task = tuple[int, Callable[[], dict[str, Any]]]

WALL_FACTOR = 20
"""A process that waits, such as for threads that do not end, is ended after so many times its
seconds of a processor."""


def apart(tasks: Iterable[Task], jobs: int, seconds: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Results by number, as they come.

    A process that is ended by a signal gives ``{"signal": its number}``: SIGXCPU and SIGKILL are
    those of its time.
    """
    waiting = iter(tasks)
    running: dict[int, tuple[int, int, float, bytearray]] = {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            task = next(waiting, None)
            more = task is not None
            if task is not None:
                reading, child = _start(task[1], seconds)
                running[reading] = (task[0], child, time.monotonic(), bytearray())
        ready = select.select(list(running), [], [], 1.0)[0]
        yield from _collected(running, ready)
        _end_late(running, seconds * WALL_FACTOR)


def _collected(
    running: dict[int, tuple[int, int, float, bytearray]], ready: list[int]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for reading in ready:
        number, child, _, text = running[reading]
        part = os.read(reading, 1 << 16)
        if part:
            text += part
            continue
        os.close(reading)
        del running[reading]
        _, status = os.waitpid(child, 0)
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        yield number, {"signal": signalled} if signalled or not text else json.loads(text)


def _end_late(running: dict[int, tuple[int, int, float, bytearray]], seconds: float) -> None:
    for _, child, started, _ in running.values():
        if time.monotonic() - started > seconds:
            os.kill(child, signal.SIGKILL)


def _start(function: Callable[[], dict[str, Any]], seconds: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return reading, child
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        text = json.dumps(function()).encode()
        while text:
            text = text[os.write(writing, text) :]
    finally:
        os._exit(0)
