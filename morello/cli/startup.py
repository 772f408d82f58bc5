"""What holds while the command is being imported, and ends when it runs.

* Ctrl-C ends the process at once and says so in one line. Modules of others turn an exception in
  the middle of an import into errors of all kinds, and there is nothing to clean up yet. Later it
  is a `KeyboardInterrupt`, as everywhere.
* Garbage is not collected. Nearly all that imports make stays, and to look through it time and
  again takes a tenth of the start; it is never looked at again.
* The BLAS in numpy, which the search does not use, is told to start no threads: that alone takes
  as long as the rest of numpy. A number that the user has set stays.

This module must import nothing that takes time.
"""

from __future__ import annotations

import gc
import os
import signal

INTERRUPTED = 130
"""Exit status of a process that was interrupted, as shells have it."""


def begin() -> None:
    """Call this before anything else is imported."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and is not ignored
        signal.signal(signal.SIGINT, _end_at_once)
    gc.disable()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def finish() -> None:
    """Call this once, when the imports are over."""
    gc.freeze()
    gc.enable()
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_at_once(_signal: int, _frame: object) -> None:
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
