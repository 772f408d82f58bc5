"""Where measuring is not disturbed: in a process of its own, and on one core.

Then nothing that others do in this process counts, and a crash takes nobody along.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from morello.errors import InternalError

Given = TypeVar("Given")
Found = TypeVar("Found")


def apart(function: Callable[[Given], Found], argument: Given) -> Found:
    """What a function of a module returns in a new process.

    Raises:
        InternalError: The process ended without an answer.
    """
    command = [sys.executable, "-c", f"from {__name__} import answer; answer()"]
    call = pickle.dumps((function, argument))
    done = subprocess.run(command, input=call, capture_output=True, check=False)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise InternalError(f"what measures ended with status {done.returncode}: {last}")
    found: Found = pickle.loads(done.stdout)
    return found


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread where it is: it finds its caches as it left them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def answer() -> None:
    """What that process runs: from the standard input to the standard output."""
    call: tuple[Callable[[Any], Any], Any] = pickle.load(sys.stdin.buffer)
    function, argument = call
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # what is printed is no answer
    output.write(pickle.dumps(function(argument)))
