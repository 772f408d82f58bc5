"""The store: pages of solved families in one file, and the latest of them decoded in memory.

A page is kept under a fingerprint of the definitions that it depends on and the text of its family;
it answers for every box that its axes cover. The pages of a search are written when it is done
or interrupted, in few transactions: a process that is killed before has kept none of them, and one
that is killed meanwhile has kept whole ones. What can be wrong with the file is dealt with in
``database.py``: here, it finds nothing and keeps nothing.

The store neither solves nor looks into families and fingerprints. Copies of it to ship are made in
``transfer.py``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from cachetools import LRUCache
from msgspec import Struct

from morello.memo.codec import DamagedPageError, axes_said, encode_axes, said_to_cover
from morello.memo.database import Database, Rows, Statement, Warn
from morello.memo.page import Axes, Page
from morello.memo.place import default_path, named_path
from morello.memo.records import (
    SELECT,
    SELECT_SEALED,
    Key,
    Record,
    Sealed,
    insertion,
    record_of,
    sealed,
    sealed_of,
)

Read = TypeVar("Read", Record, Sealed)

BUDGET = 1 << 28
"""Bytes of decoded pages that are kept in memory."""

USE_SECONDS = 3600
"""Uses within this time of the last one noted are not noted: most runs then write nothing."""

_UNKNOWN: Mapping[tuple[bytes, str], Sequence[bytes]] = MappingProxyType({})

_KEYS = "SELECT fingerprint, family, axes FROM pages ORDER BY family, fingerprint, cells"
_AXES = "SELECT axes, used FROM pages WHERE fingerprint = ? AND family = ? ORDER BY cells, axes"
_OF_KEY = "WHERE fingerprint = ? AND family = ? AND axes = ?"
_DELETE = f"DELETE FROM pages {_OF_KEY}"
_DELETE_ROW = "DELETE FROM pages WHERE rowid = ?"
_USE = f"UPDATE pages SET used = ? {_OF_KEY}"
_STATS = """
  SELECT CAST(fingerprint AS BLOB), CAST(family AS TEXT), count(*),
    CAST(total(cells) AS INTEGER), CAST(total(boxes) AS INTEGER), CAST(total(bytes) AS INTEGER)
  FROM pages GROUP BY fingerprint, family ORDER BY family, fingerprint
"""
_BY_USE = """
  SELECT rowid, fingerprint, CAST(bytes AS INTEGER), CAST(used AS INTEGER)
  FROM pages ORDER BY used, rowid
"""


AT_ONCE = 500
"""Statements of a transaction: others wait for the file meanwhile."""


class FamilyStats(Struct, frozen=True):
    """What the file holds of one family under one fingerprint; ``bytes`` are those of its rows."""

    fingerprint: bytes
    family: str
    pages: int
    cells: int
    boxes: int
    bytes: int


class Removed(Struct, frozen=True):
    """What was removed from the file."""

    pages: int
    bytes: int


class Store:
    """Pages in a file. It may be used from several threads, but not across a fork."""

    def __init__(
        self,
        database: Database,
        *,
        warn: Warn,
        budget: int = BUDGET,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Use an open database; ``Store.open`` opens one as well."""
        self._database = database
        self._warn = warn
        self._clock = clock
        self._decoded: LRUCache[tuple[bytes, str], Page] = LRUCache(
            budget, getsizeof=lambda page: page.bytes
        )
        self._used: dict[Key, int] = {}
        self._rejected: set[Key] = set()
        self._mutex = threading.RLock()

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        warn: Warn,
        budget: int = BUDGET,
        clock: Callable[[], float] = time.time,
    ) -> Store:
        """Open a file, or begin it. Only a path that makes no sense is an error.

        Args:
            path: The file that the user names; None for that of the environment, or the default.
            warn: Takes a message, one sentence, about anything that is wrong with the file.
            budget: Bytes of decoded pages that are kept in memory.
            clock: Seconds since 1970.

        Raises:
            UsageError: The path that the user named holds something else.
        """
        named = path or named_path()
        database = Database(named or default_path(), named=named is not None, warn=warn)
        return cls(database, warn=warn, budget=budget, clock=clock)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """The file; None where work goes on without one."""
        return self._database.path

    @property
    def writable(self) -> bool:
        """Whether what is written is kept, as far as is known."""
        return self._database.writable

    def find(self, fingerprint: bytes, family: str, axes: Axes) -> Page | None:
        """A page that covers the axes: the one in memory, else the smallest of the file.

        A page that turns out to be damaged is deleted, and that is said.
        """
        with self._mutex:
            page = self._decoded.get((fingerprint, family))
            if page is not None and page.covers(axes):
                return page
            wanted = encode_axes(axes)
            for known, used in self._rows(fingerprint, family):
                if not said_to_cover(known, wanted):
                    continue
                page = self._load(fingerprint, family, known)
                if page is not None:
                    self._note_use((fingerprint, family, known), used)
                    self._keep(fingerprint, family, page)
                    return page
        return None

    def axes(self, fingerprint: bytes, family: str) -> list[bytes]:
        """Encoded axes of the pages of a family, as the file says."""
        with self._mutex:
            return [axes for axes, _ in self._rows(fingerprint, family)]

    def write(self, fingerprint: bytes, family: str, page: Page) -> bool:
        """Keep a page, in place of those of its family that it covers.

        Returns:
            Whether the file has it, or had one that covers it. If not, why was said once.
        """
        return self.write_all([Record(fingerprint, family, page)])

    def write_all(self, records: Iterable[Record]) -> bool:
        """Keep pages of different families, as `write` does, in few transactions."""
        return self.write_sealed(map(self._decoded_and_sealed, records))

    def write_sealed(
        self, pages: Iterable[Sealed], there: Mapping[tuple[bytes, str], Sequence[bytes]] = _UNKNOWN
    ) -> bool:
        """The same for pages that are encoded.

        Args:
            pages: What to keep.
            there: What `axes` has said of families; of others it is asked.
        """
        statements: list[Statement] = []
        with self._mutex:
            for page in pages:
                family = (page.fingerprint, page.family)
                known = there[family] if family in there else self.axes(*family)
                statements += self._written(page, known)
                if len(statements) >= AT_ONCE:
                    if not self._database.write(statements):
                        return False
                    statements = []
            return not statements or self._database.write(statements)

    def _decoded_and_sealed(self, record: Record) -> Sealed:
        """A page to be written, which is kept in memory as it is."""
        self._keep(record.fingerprint, record.family, record.page)
        return sealed(record)

    def _written(self, page: Sealed, known: Sequence[bytes]) -> list[Statement]:
        fingerprint, family, own = page.fingerprint, page.family, page.axes
        self._rejected.discard((fingerprint, family, own))
        others = [axes for axes in known if axes != own]
        if any(said_to_cover(axes, own) for axes in others):
            return []
        deletes: list[Statement] = [
            (_DELETE, (fingerprint, family, axes))
            for axes in others
            if said_to_cover(own, axes) or axes_said(axes) is None  # what cannot be read is no loss
        ]
        return [*deletes, insertion(page, int(self._clock()))]

    def delete(self, fingerprint: bytes, family: str, axes: Axes) -> None:
        """Forget the page of exactly these axes, if there is one."""
        with self._mutex:
            self._decoded.pop((fingerprint, family), None)
            self._database.write([(_DELETE, (fingerprint, family, encode_axes(axes)))])

    def reject(self, fingerprint: bytes, family: str, axes: Axes, reason: str) -> None:
        """Delete a page that says what cannot be; it is found no more, and that is said."""
        with self._mutex:
            self._rejected.add((fingerprint, family, encode_axes(axes)))
            self._warn(f"a page of the memo is wrong: {reason}; it is deleted (family: {family})")
            self.delete(fingerprint, family, axes)

    def keys(self) -> list[Key]:
        """Those of all pages of the file, by family."""
        with self._mutex:
            rows = self._database.read(_KEYS)
        return [(key, name.decode(errors="replace"), axes) for key, name, axes in rows]

    def records(self) -> Iterator[Record]:
        """Every page of the file with its key, one in memory at a time, by family.

        Damaged ones are left out, deleted, and that is said.
        """
        for fingerprint, family, axes in self.keys():
            with self._mutex:
                record = self._record(fingerprint, family, axes)
            if record is not None:
                yield record

    def sealed(self, keys: Iterable[Key] | None = None) -> Iterator[Sealed]:
        """The same without decoding them; all of them, or those named."""
        for fingerprint, family, axes in self.keys() if keys is None else keys:
            with self._mutex:
                found = self._read(SELECT_SEALED, sealed_of, (fingerprint, family, axes))
            if found is not None:
                yield found

    def pages(self, fingerprint: bytes, family: str) -> Iterator[Page]:
        """The pages of a family, the one with the fewest cells first; damaged ones as `records`."""
        with self._mutex:
            rows = self._rows(fingerprint, family)
        for axes, _ in rows:
            with self._mutex:
                page = self._load(fingerprint, family, axes)
            if page is not None:
                yield page

    def stats(self) -> list[FamilyStats]:
        """What the file holds, a row for each family and fingerprint, by the family's text."""
        with self._mutex:
            rows = self._database.read(_STATS)
        return [FamilyStats(key, name.decode(errors="replace"), *n) for key, name, *n in rows]

    def gc(
        self,
        *,
        max_bytes: int | None = None,
        older_than: float | None = None,
        keep: Collection[bytes] | None = None,
    ) -> Removed:
        """Remove pages, and give their room back.

        Args:
            max_bytes: As many bytes of rows may stay; the least recently used go first.
            older_than: Pages that were not used for so many seconds go.
            keep: Pages of all other fingerprints go.
        """
        with self._mutex:
            self._write_uses()
            oldest = None if older_than is None else self._clock() - older_than
            doomed = _doomed(self._database.read(_BY_USE), max_bytes, oldest, keep)
            if not doomed or not self._database.write([(_DELETE_ROW, (row,)) for row in doomed]):
                return Removed(0, 0)
            self._decoded.clear()
            self._database.shrink()
        return Removed(len(doomed), sum(doomed.values()))

    def close(self) -> None:
        """Note when pages were used, and close the file. Then it finds what is in memory only."""
        with self._mutex:
            self._write_uses()
            self._database.close()

    # -------------------------------------------------------------------- inside the mutex

    def _rows(self, fingerprint: bytes, family: str) -> list[tuple[bytes, int]]:
        """Axes of the pages of a family, as they are in the file, and when each was used."""
        rows = self._database.read(_AXES, (fingerprint, family))
        return [
            (axes, used) for axes, used in rows if (fingerprint, family, axes) not in self._rejected
        ]

    def _load(self, fingerprint: bytes, family: str, axes: bytes) -> Page | None:
        record = self._record(fingerprint, family, axes)
        return record.page if record else None

    def _record(self, fingerprint: bytes, family: str, axes: bytes) -> Record | None:
        return self._read(SELECT, record_of, (fingerprint, family, axes))

    def _read(self, select: str, read: Callable[[Sequence[Any]], Read], key: Key) -> Read | None:
        """A row of a key; if it is damaged it is deleted, and that is said."""
        for row in self._database.read(f"{select} {_OF_KEY}", key):
            try:
                return read(row)
            except DamagedPageError as error:
                self._warn(f"{error}; it is deleted (family: {key[1]})")
                self._database.write([(_DELETE, key)])
        return None

    def _keep(self, fingerprint: bytes, family: str, page: Page) -> None:
        if page.bytes <= self._decoded.maxsize:
            self._decoded[fingerprint, family] = page

    def _note_use(self, key: tuple[bytes, str, bytes], used: int) -> None:
        now = int(self._clock())
        if not isinstance(used, int) or abs(now - used) > USE_SECONDS:
            self._used[key] = now

    def _write_uses(self) -> None:
        """In one transaction; where it fails, pages only look older than they are."""
        self._database.try_to_write([(_USE, (now, *key)) for key, now in self._used.items()])
        self._used.clear()


def _doomed(
    rows: Rows, max_bytes: int | None, oldest: float | None, keep: Collection[bytes] | None
) -> dict[int, int]:
    """Bytes of the rows that a collection removes, by row; ``rows`` as `_BY_USE` gives them."""
    doomed = {
        row: size
        for row, fingerprint, size, used in rows
        if (keep is not None and fingerprint not in keep) or (oldest is not None and used < oldest)
    }
    left = sum(size for row, _, size, _ in rows if row not in doomed)
    for row, _, size, _ in rows:
        if max_bytes is None or left <= max_bytes:
            break
        if row not in doomed:
            doomed[row] = size
            left -= size
    return doomed
