"""The memo's database, whatever state its file is in: reads and transactions that never fail.

What goes wrong is said once, through a callback, and costs at most what the file could have
answered:

* a damaged file is moved aside and a new one begun, when it is opened or at any later moment;
* a foreign file is never touched, an error if the user named it, and else moved aside like damage;
* a newer file is never touched, and work goes on without one;
* where it cannot be written (read-only, full, locked for too long) it is read, and not written;
* where it cannot be read either, work goes on without one.

What the rows mean is known to ``store.py``.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

from morello.errors import UsageError
from morello.memo.quarantine import FileLock, move_aside
from morello.memo.schema import FAILURES, Kind, connect, is_empty, is_intact, kind_of, set_up

Warn = Callable[[str], None]
Rows = list[tuple[Any, ...]]
Statement = tuple[str, Sequence[object]]

_NO_PATH = {errno.ELOOP, errno.ENAMETOOLONG}
"""What the system says of a path that no file can have."""

_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_ERROR,  # our statements are right: the schema is not
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,
}
"""Primary result codes that only a damaged file gives, with the statements of this package."""


class Database:
    """A connection to the file, or to nothing. Not locked: its owner calls it from one thread."""

    def __init__(self, path: Path, *, named: bool, warn: Warn) -> None:
        """Open the file, or begin it; its directory is created.

        Args:
            path: Where it is, or is to be.
            named: Whether the user chose the path, so that a wrong one is the user's error.
            warn: Takes each message, a sentence without a newline.

        Raises:
            UsageError: A path that the user named holds something else.
        """
        self._path = path.absolute()
        self._named = named
        self._warn = warn
        self._connection: sqlite3.Connection | None = None
        self._lock: FileLock | None = None
        self._writable = False
        self._unwritable = ""  # why, as long as that has not been said
        self._inode: int | None = None
        self._open()

    @property
    def path(self) -> Path | None:
        """The file that is read; None where work goes on without one."""
        return self._path if self._connection else None

    @property
    def writable(self) -> bool:
        """Whether what is written is kept, as far as is known."""
        return self._writable

    def read(self, query: str, values: Sequence[object] = ()) -> Rows:
        """All rows of a query; none where the file cannot be read (any more)."""
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except FAILURES as error:
            if _is_damage(error):
                self._replace(str(error))
            else:
                self._go_without(f"cannot be read ({error})")
            return []

    def write(self, statements: Sequence[Statement], *, again: bool = True) -> bool:
        """Execute statements in one transaction: all of them, or none.

        Returns:
            Whether they were. If not, that was said, now or before.
        """
        if self._connection is None or not self._writable:
            self._say_unwritable()
            return False
        try:
            _transaction(self._connection, statements)
        except FAILURES as error:
            if _is_damage(error):
                self._replace(str(error))
                # Once: what the new file takes for damage too would be so for ever.
                return again and self.write(statements, again=False)
            self._stop_writing(str(error))
            self._say_unwritable()
            return False
        return True

    def try_to_write(self, statements: Sequence[Statement]) -> None:
        """Like ``write``, for what is not worth a message: where it fails, nothing is lost."""
        if self._connection and self._writable and statements:
            with suppress(*FAILURES):
                _transaction(self._connection, statements)

    def shrink(self) -> None:
        """Give the room of deleted rows back; where that fails, it is used for other rows."""
        if self._connection and self._writable:
            with suppress(*FAILURES):
                self._connection.execute("VACUUM")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file. What is called after it finds nothing and writes nothing."""
        self._writable = False
        if self._connection:
            with suppress(*FAILURES):
                self._connection.close()
        self._connection = None
        if self._lock:
            self._lock.close()
        self._lock = None

    # -------------------------------------------------------------------- opening

    def _open(self) -> None:
        if not self._has_place():
            return
        with suppress(OSError):  # a read-only directory: then nothing is moved either
            self._lock = FileLock(self._path)
            if not self._lock.share():
                self._go_without("is being repaired by another process")
                return
        try:
            self._inode = _inode(self._path)
            kind = kind_of(self._path)
        except OSError as error:
            self._go_without(f"cannot be read ({error.strerror})")
            return
        self._open_kind(kind)

    def _has_place(self) -> bool:
        """Whether the path is, or may become, a file in a directory."""
        try:
            if not S_ISREG(self._path.stat().st_mode):
                self._refuse("is not a file")
                return False
        except OSError as error:
            if error.errno in _NO_PATH:
                self._refuse(f"leads nowhere ({error.strerror})")
                return False
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            self._refuse("is not in a directory")
            return False
        except OSError as error:
            self._go_without(f"cannot be created ({error.strerror})")
            return False
        self._path = self._path.resolve()
        return True

    def _open_kind(self, kind: Kind) -> None:
        match kind:
            case Kind.NEWER:
                self._go_without("was written by a newer version, and is left as it is")
            case Kind.FOREIGN if self._named:
                self._refuse("is not a memo, and is left as it is")
            case Kind.FOREIGN | Kind.DAMAGED:
                self._replace(f"found {kind.value}")
            case Kind.NEW | Kind.OURS:
                self._connect()

    def _connect(self) -> None:
        """Open for writing, else for reading, else go without."""
        try:
            self._begin()
        except (*FAILURES, OSError) as error:
            if _is_damage(error):
                self._replace(str(error))
                return
            self._connect_to_read(error)
        self._check()

    def _begin(self) -> None:
        """Open for writing, and set up what is empty.

        Raises:
            sqlite3.Error, UnicodeError, OSError: That is not possible.
        """
        connection = connect(self._path, "rwc")
        self._connection, self._inode = connection, _inode(self._path)
        set_up(connection)
        self._writable = True

    def _connect_to_read(self, error: Exception) -> None:
        self._disconnect()
        busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        if busy or not self._path.exists() or not self._path.stat().st_size:
            self._go_without(f"cannot be opened ({error})")
            return
        for mode in ("ro", "ro&immutable=1"):  # a write-ahead journal needs files beside it
            try:
                self._connection = connect(self._path, mode)
            except FAILURES as last:
                if _is_damage(last):
                    self._replace(str(last))
                    return
            else:
                self._stop_writing(str(error))
                return
        self._go_without(f"cannot be opened ({error})")

    def _check(self) -> None:
        if self._connection is None:
            return
        try:
            intact, empty = is_intact(self._connection), is_empty(self._connection)
        except FAILURES as error:
            if _is_damage(error):
                self._replace(str(error))
            else:
                self._go_without(f"cannot be read ({error})")
            return
        if empty and not self._writable:
            self._go_without(f"cannot be begun ({self._unwritable})")
        elif not intact:
            self._replace("its schema is not that of a memo")

    # -------------------------------------------------------------------- what goes wrong

    def _refuse(self, reason: str) -> None:
        if not self._named:
            self._go_without(reason)
            return
        self.close()
        raise UsageError(
            f"the memo's path {str(self._path)!r} {reason}",
            help="name a memo, or a file that does not exist yet",
        )

    def _go_without(self, reason: str) -> None:
        self.close()
        self._warn(f"the memo {str(self._path)!r} {reason}; going on without it")

    def _stop_writing(self, reason: str) -> None:
        self._writable = False
        self._unwritable = reason

    def _say_unwritable(self) -> None:
        if self._connection and self._unwritable:
            self._warn(
                f"the memo {str(self._path)!r} cannot be written ({self._unwritable}); "
                "it is read, and what is solved from now on is not kept"
            )
            self._unwritable = ""

    def _disconnect(self) -> None:
        self._writable = False
        if self._connection:
            with suppress(*FAILURES):
                self._connection.close()
        self._connection = None

    def _replace(self, reason: str) -> None:
        """Move the damaged file aside and begin a new one, unless another process has."""
        self._disconnect()
        if self._lock is None:
            self._go_without(f"is damaged ({reason}) and cannot be moved")
            return
        try:
            if not self._lock.own():
                self._go_without(f"is damaged ({reason}) and in use by another process")
                return
            self._move_aside(reason)
            self._begin()
            self._lock.share()
        except (*FAILURES, OSError) as error:
            self._go_without(f"is damaged ({reason}) and cannot be replaced ({error})")

    def _move_aside(self, reason: str) -> None:
        """Unless another file, or none, is now where the damaged one was.

        Raises:
            OSError: It cannot be moved.
        """
        if self._inode != _inode(self._path) or self._inode is None:
            return
        target = move_aside(self._path)
        self._warn(
            f"the memo {str(self._path)!r} was damaged ({reason}); "
            f"it is now {target.name!r}, and a new one is begun"
        )


def _inode(path: Path) -> int | None:
    """What tells a file from another one that takes its name; None for no file."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _transaction(connection: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement, values in statements:
            connection.execute(statement, values)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(*FAILURES):
                connection.execute("ROLLBACK")


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    # An extended result code has its primary one in the lowest byte.
    return isinstance(error, UnicodeError) or (code is not None and code & 0xFF in _DAMAGE)
