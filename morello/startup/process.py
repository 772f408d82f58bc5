"""What holds while the command is being imported, and what signals do from then on.

* Ctrl-C ends the process at once and says so in one line. Modules of others turn an exception in
  the middle of an import into errors of all kinds, and there is nothing to clean up yet. Later it
  is a `KeyboardInterrupt`, as everywhere. SIGTERM and SIGHUP then end the command in the same way,
  so that it removes its temporary files and stops what it has started.
* Garbage is not collected. Nearly all that imports make stays, and to look through it time and
  again takes a tenth of the start. It is never looked at later either. What a search makes stays
  until it ends: it is looked through seldom. Nor is anything looked through as the process exits,
  where Python does so twice: that was 3 to 8% of a ``morello compile``.
* The BLAS in numpy is told to start no threads, which would take as long as the rest of numpy. The
  search has no use for it; the reference of a ``--verify`` then multiplies on one core. A number
  that the user has set stays.

This module must import nothing that takes time.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Callable
from typing import NoReturn

INTERRUPTED = 130
"""Exit status of a process that was interrupted, as shells have it."""

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end; one that is ignored stays so."""

BLAS_THREADS = "OPENBLAS_NUM_THREADS"

OBJECTS = 50_000
"""Made since the last time, before the youngest are looked through; usually 700."""


class Terminated(KeyboardInterrupt):
    """Like Ctrl-C, for another signal; ``status`` is the exit status that shells expect."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


def begin() -> Callable[[], None]:
    """Call this before anything else is imported, and what it returns when that is done."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    few_threads = BLAS_THREADS not in os.environ
    gc.disable()
    atexit.register(gc.freeze)
    if interruptible:  # and not ignored, as for what runs in the background
        signal.signal(signal.SIGINT, _end_at_once)
    if few_threads:
        os.environ[BLAS_THREADS] = "1"

    def finish() -> None:
        gc.freeze()
        gc.enable()
        gc.set_threshold(OBJECTS)
        if few_threads:  # what this process starts is not its business
            os.environ.pop(BLAS_THREADS, None)
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, terminate)

    return finish


def _end_at_once(_signal: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


def terminate(number: int, _frame: object) -> NoReturn:
    """Unwind; the same signal again must not interrupt that."""
    signal.signal(number, signal.SIG_IGN)
    raise Terminated(number)
