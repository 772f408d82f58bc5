"""The memo's file: an SQLite database with one table. How it is told from others, and set up.

The database's header names the application and the version of the schema, so that neither a foreign
file nor a newer one is ever written to, nor even opened. What to do about either is decided in
``database.py``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import suppress
from enum import Enum
from pathlib import Path
from threading import RLock

APPLICATION_ID = int.from_bytes(b"Mrlo", "big")
"""In the header of the database (https://www.sqlite.org/fileformat.html, offset 68)."""

VERSION = 1
"""Of the schema; in the header at offset 60. There is none before it: what says 0 is damaged."""

BUSY_SECONDS = 10.0
"""How long to wait while another process writes. A transaction takes milliseconds."""

PAGES = """CREATE TABLE pages (
  fingerprint BLOB NOT NULL,  -- of the definitions that the page depends on
  family TEXT NOT NULL,
  axes BLOB NOT NULL,         -- what the page answers for, readable without decoding it
  cells INTEGER NOT NULL,
  boxes INTEGER NOT NULL,
  bytes INTEGER NOT NULL,     -- of this row
  created INTEGER NOT NULL,   -- seconds since 1970
  used INTEGER NOT NULL,
  data BLOB NOT NULL,         -- the page, checked against fingerprint and family
  UNIQUE (fingerprint, family, axes)
)"""

FAILURES = (sqlite3.Error, UnicodeError)
"""What SQLite raises. Where a message quotes a damaged schema, it may not be text at all."""

_OPENING = RLock()

_CONNECTED: Counter[tuple[int, int]] = Counter()
"""Device and number of the files to which this process has connections, and how many.

None of them may be opened but by SQLite: who closes a file gives up all locks on it that the
process has. Another process then takes itself for the last one, and removes the journal under our
connections.
"""

_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_LONGEST_BLOB = 1 << 28


class Kind(Enum):
    """What a path holds, by the file's first bytes."""

    NEW = "nothing, or an empty file"
    OURS = "a memo"
    DAMAGED = "a memo that is damaged"
    NEWER = "a memo of a newer version"
    FOREIGN = "something else"


class _Connection(sqlite3.Connection):
    """One that is known to be open until it is closed."""

    _identity: tuple[int, int] | None = None

    def opened(self, path: Path) -> None:
        with suppress(FileNotFoundError):  # someone was quick to remove it: no name leads to it
            found = path.stat()
            self._identity = found.st_dev, found.st_ino
            _CONNECTED[self._identity] += 1

    def close(self) -> None:
        with _OPENING:
            super().close()
            if self._identity is not None:
                _CONNECTED[self._identity] -= 1
            self._identity = None


def kind_of(path: Path) -> Kind:
    """What is there. The content behind the header may be damaged all the same.

    Raises:
        OSError: The file cannot be read.
    """
    try:
        with _OPENING:
            found = path.stat()
            if _CONNECTED[found.st_dev, found.st_ino]:
                return Kind.OURS
            with path.open("rb") as file:
                header = file.read(_HEADER)
    except FileNotFoundError:
        return Kind.NEW
    if not header:
        return Kind.NEW
    database = header.startswith(_MAGIC)
    ours = header[68:72] == APPLICATION_ID.to_bytes(4, "big")
    if len(header) < _HEADER and _MAGIC.startswith(header[: len(_MAGIC)]):
        return Kind.DAMAGED  # cut off: no database is that short
    if not ours:
        return Kind.FOREIGN
    if database and int.from_bytes(header[60:64], "big") > VERSION:
        return Kind.NEWER
    return Kind.OURS if database else Kind.DAMAGED


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection for several threads, which takes its own care of transactions.

    Args:
        path: An absolute path.
        mode: As in SQLite's URIs: ``rw``, ``rwc``, ``ro``, perhaps with more parameters.

    Raises:
        sqlite3.Error, UnicodeError: It cannot be opened, or its schema cannot be read.
    """
    with _OPENING:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=_Connection,
        )
        try:
            connection.text_factory = bytes  # a damaged text need not be UTF-8
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_BLOB)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("SELECT count(*) FROM sqlite_master")
            connection.opened(path)
        except BaseException:
            connection.close()
            raise
    return connection


def set_up(connection: sqlite3.Connection) -> None:
    """Make an empty database a memo, in one transaction; one that is not empty stays as it is.

    Nothing may write before that transaction (``PRAGMA auto_vacuum`` would): a process that is
    killed then would leave a file that nobody knows.

    Only then is the journal switched to write-ahead, where the file system can do that: so the
    header is in the file itself, whatever happens.

    Raises:
        sqlite3.Error, UnicodeError: It is empty and cannot be written.
    """
    if is_empty(connection):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if is_empty(connection):
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                connection.execute(PAGES)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    with suppress(sqlite3.OperationalError):  # in use as it is, or a directory without write access
        connection.execute("PRAGMA journal_mode = WAL")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nobody has set it up yet."""
    return _state(connection) == (0, 0, [])


def is_intact(connection: sqlite3.Connection) -> bool:
    """Whether header and schema are those of this version."""
    return _state(connection) == (APPLICATION_ID, VERSION, [PAGES.encode()])


def _state(connection: sqlite3.Connection) -> tuple[int, int, list[bytes]]:
    """Application, version, and all that the schema declares.

    The index of the table's key has no text of its own.
    """
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    return application, version, [sql for (sql,) in rows]
