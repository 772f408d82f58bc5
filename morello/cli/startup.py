"""What holds while the command is being imported, and ends when it runs.

* Ctrl-C ends the process at once and says so in one line. Modules of others turn an exception in
  the middle of an import into errors of all kinds, and there is nothing to clean up yet. Later it
  is a `KeyboardInterrupt`, as everywhere.
* Garbage is not collected. Nearly all that imports make stays, and to look through it time and
  again takes a tenth of the start. It is never looked at later either.
* The BLAS in numpy is told to start no threads, which would take as long as the rest of numpy. The
  search has no use for it; the reference of a ``--verify`` then multiplies on one core. A number
  that the user has set stays.

This module must import nothing that takes time.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable

INTERRUPTED = 130
"""Exit status of a process that was interrupted, as shells have it."""

BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def begin() -> Callable[[], None]:
    """Call this before anything else is imported, and what it returns when that is done."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    few_threads = BLAS_THREADS not in os.environ
    gc.disable()
    if interruptible:  # and not ignored, as for what runs in the background
        signal.signal(signal.SIGINT, _end_at_once)
    if few_threads:
        os.environ[BLAS_THREADS] = "1"

    def finish() -> None:
        gc.freeze()
        gc.enable()
        if few_threads:  # what this process starts is not its business
            os.environ.pop(BLAS_THREADS, None)
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    return finish


def _end_at_once(_signal: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
