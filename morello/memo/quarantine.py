"""Moving a damaged file out of the way while nobody else has it open.

SQLite finds the journals of a database by its name: a file that is renamed while another process
has it open would end with that process' journal beside the wrong file. So every process that has
a memo open holds a shared lock on a file beside it, and whoever renames it needs the lock alone.
Locks end with the process, however it ends; the lock's file stays, empty.
"""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, which renames no file that another process has open
    SHARED = ALONE = 0
else:
    SHARED, ALONE = fcntl.LOCK_SH, fcntl.LOCK_EX

_JOURNALS = ("-wal", "-shm", "-journal")
_WAIT_SECONDS = 2.0
_PAUSE_SECONDS = 0.01


class FileLock:
    """A lock that processes share while they use a file, or that one of them has alone."""

    def __init__(self, path: Path) -> None:
        """Does not lock yet.

        Args:
            path: Of the file that is to be protected; the lock is ``PATH.lock``.

        Raises:
            OSError: The lock's file cannot be opened.
        """
        self._file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)

    def share(self) -> bool:
        """Hold it together with others; False where another has it alone, and keeps it."""
        return self._hold(SHARED)

    def own(self) -> bool:
        """Hold it alone; False where others hold it, and keep it: then it is shared as before."""
        if self._hold(ALONE):
            return True
        self.share()  # a change of kind that fails has given up the lock
        return False

    def close(self) -> None:
        """Give it up; it cannot be used any more."""
        os.close(self._file)

    def _hold(self, kind: int) -> bool:
        end = time.monotonic() + _WAIT_SECONDS
        while kind:
            try:
                fcntl.flock(self._file, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    return False
                time.sleep(_PAUSE_SECONDS)
            else:
                return True
        return True


def move_aside(path: Path) -> Path:
    """Rename a file, with its journals, to the first ``PATH.damaged-N`` that is free.

    Raises:
        OSError: It cannot be renamed.
    """
    names = (path.with_name(f"{path.name}.damaged-{number}") for number in count(1))
    target = next(name for name in names if not name.exists())
    for suffix in _JOURNALS:  # first: a new file of that name must never meet an old journal
        journal = Path(f"{path}{suffix}")
        if journal.exists():
            journal.rename(f"{target}{suffix}")
    path.rename(target)
    return target
