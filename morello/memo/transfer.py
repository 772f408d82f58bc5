"""A memo as a file to ship: copies of its pages in a new file, and pages of such a file copied in.

The checksum of every page is compared on the way, in both directions, so that a damaged one is
never passed on. An imported page is believed to be right for its fingerprint: a search still
applies the choices that it names through their rules and kernels, so that a wrong one can cost
time, but not correctness.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.memo.codec import DamagedPageError, said_to_cover
from morello.memo.database import Warn
from morello.memo.records import SELECT_SEALED, Key, Sealed, insertion, sealed_of
from morello.memo.schema import FAILURES, Kind, connect, is_intact, kind_of, set_up
from morello.memo.store import AT_ONCE, Store
from morello.memo.union import unite

BYTES_AT_ONCE = 64 << 20
"""Of pages that wait to be written."""


class Imported(Struct, frozen=True):
    """Numbers of pages: copied, covered by what was there, damaged, and new ones of united ones."""

    copied: int
    known: int
    damaged: int
    united: int = 0


def export_memo(store: Store, path: Path, keys: Iterable[Key] | None = None) -> int:
    """Write pages of the store to a new file, which appears when it is complete.

    Args:
        store: What has them.
        path: The new file.
        keys: Those to write; None for all.

    Returns:
        The number of pages.

    Raises:
        UsageError: There is something at the path.
        MorelloError: It cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(f"{str(path)!r} exists", help="name a file that does not exist yet")
    partial = path.absolute().with_name(f".{path.name}.{os.getpid()}")
    try:
        pages = _write(store.sealed(keys), partial)
        partial.replace(path)
    except (*FAILURES, OSError) as error:
        raise MorelloError(
            f"cannot write {str(path)!r}: {error}", help="is there a directory, and room in it?"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return pages


def _write(found: Iterator[Sealed], path: Path) -> int:
    pages = 0
    with closing(connect(path, "rwc")) as connection:
        set_up(connection)
        connection.execute("PRAGMA journal_mode = DELETE")  # one file, readable in any directory
        connection.execute("BEGIN")
        for page in found:
            connection.execute(*insertion(page, int(time.time())))
            pages += 1
        connection.execute("COMMIT")
    return pages


def import_memo(store: Store, path: Path, *, warn: Warn, united: bool = True) -> Imported:
    """Copy the pages of another file into the store. That file is only read.

    Args:
        store: Where to.
        path: A file that ``export_memo`` wrote, or any memo.
        warn: Takes a message for each page that is damaged, and left out.
        united: Whether pages that overlap become one (`morello.memo.union`). It is left out where
            pages are to be those that were solved, in whatever order they come.

    Raises:
        UsageError: The path is no memo of this version.
        MorelloError: The file is damaged, or the store cannot be written; what had been copied
            before stays.
    """
    _check(path)
    copying = _Copying(store)
    known = damaged = 0
    try:
        with closing(_reading(path.resolve())) as connection:
            if not is_intact(connection):
                raise _damaged(path, "its schema is not that of a memo", 0)
            # Of a family the largest first: those that it covers are known by then.
            for row in connection.execute(
                f"{SELECT_SEALED} ORDER BY fingerprint, family, cells DESC"
            ):
                if copying.covers(*row[:3]):
                    known += 1
                    continue
                try:
                    page = sealed_of(row)
                except DamagedPageError as error:
                    warn(f"{error}; it is left out")
                    damaged += 1
                else:
                    copying.add(page)
            copying.write()
        new = unite(store, sorted(copying.changed)) if united else 0
    except FAILURES as error:
        raise _damaged(path, str(error), copying.copied) from error
    return Imported(copying.copied, known, damaged, new)


@dataclass(slots=True)
class _Copying:
    """Pages on their way into a store, so many in each transaction."""

    store: Store
    copied: int = 0
    waiting: list[Sealed] = field(default_factory=list)
    there: dict[tuple[bytes, str], list[bytes]] = field(default_factory=dict)
    """Encoded axes of the pages of families, in the store or on their way."""
    changed: set[tuple[bytes, str]] = field(default_factory=set)
    """Families that have had pages, and have more now."""
    bytes: int = 0

    def covers(self, fingerprint: object, family: object, axes: object) -> bool:
        """Whether the store has a page that covers one, or will; it is as its row says."""
        if not (isinstance(fingerprint, bytes) and isinstance(family, bytes)):
            return False
        key = (fingerprint, family.decode(errors="replace"))
        if key not in self.there:
            if not self.waiting:
                self.there.clear()  # families come one after the other
            self.there[key] = self.store.axes(*key)
        return any(said_to_cover(there, axes) for there in self.there[key])

    def add(self, page: Sealed) -> None:
        self.waiting.append(page)
        there = self.there[page.fingerprint, page.family]
        if there:
            self.changed.add((page.fingerprint, page.family))
        there.append(page.axes)
        self.bytes += len(page.data)
        if len(self.waiting) >= AT_ONCE or self.bytes >= BYTES_AT_ONCE:
            self.write()

    def write(self) -> None:
        if not self.store.write_sealed(self.waiting, self.there):
            raise MorelloError(
                "the pages cannot be copied: the memo cannot be written",
                help="name another one with --memo",
            )
        self.copied += len(self.waiting)
        self.waiting.clear()
        self.there.clear()
        self.bytes = 0


def _check(path: Path) -> None:
    try:
        kind = kind_of(path) if path.is_file() or not path.exists() else Kind.FOREIGN
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if kind is not Kind.OURS:
        raise UsageError(
            f"expected a memo of this version in {str(path)!r}, found {kind.value}",
            help="write one with 'morello memo export'",
        )


def _reading(path: Path) -> sqlite3.Connection:
    """Without any file beside it, unless there is one already: then the memo may be in use."""
    in_use = Path(f"{path}-wal").exists()
    return connect(path, "ro" if in_use else "ro&immutable=1")


def _damaged(path: Path, reason: str, copied: int) -> MorelloError:
    return MorelloError(
        f"{str(path)!r} is damaged ({reason}); {copied} of its pages were copied",
        help="ask for a new copy of the file",
    )
