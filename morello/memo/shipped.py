"""Memos that packages bring: asked where the user's own has no answer.

Such a file is only read, and nothing is written beside it: it may lie where nobody may write. What
it says is believed as an imported page is, and what is wrong with it is a warning.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass, field
from pathlib import Path

from cachetools import LRUCache

from morello.memo.codec import DamagedPageError, axes_said
from morello.memo.database import Warn
from morello.memo.page import Axes, Page, covers
from morello.memo.records import SELECT, Key, record_of
from morello.memo.schema import FAILURES, Kind, connect, is_intact, kind_of

BUDGET = 1 << 26
"""Bytes of decoded pages of a file that are kept in memory."""

_OF_FAMILY = f"{SELECT} WHERE fingerprint = ? AND family = ? ORDER BY cells, axes"


@dataclass(slots=True)
class ShippedMemo:
    """The pages of one file, opened when it is first asked. Threads may share it."""

    path: Path
    warn: Warn
    _connection: sqlite3.Connection | None = None
    _opened: bool = False
    _rejected: set[Key] = field(default_factory=set)
    _decoded: LRUCache[Key, Page] = field(
        default_factory=lambda: LRUCache(BUDGET, getsizeof=lambda page: page.bytes)
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, fingerprint: bytes, family: str, axes: Axes) -> Page | None:
        """The smallest page that covers axes, if there is one."""
        with self._lock:
            try:
                return self._found(fingerprint, family, axes)
            except FAILURES as error:
                self._leave(str(error))
                return None

    def reject(self, key: Key) -> None:
        """Find a page no more."""
        with self._lock:
            self._rejected.add(key)

    def _found(self, fingerprint: bytes, family: str, axes: Axes) -> Page | None:
        if not self._opened:
            self._open()
        if self._connection is None:
            return None
        for row in self._connection.execute(_OF_FAMILY, (fingerprint, family)).fetchall():
            key, own = (fingerprint, family, row[2]), axes_said(row[2])
            if own is None or key in self._rejected or not covers(own, axes):
                continue
            if key in self._decoded:
                return self._decoded[key]
            try:
                page = record_of(row).page
            except DamagedPageError as error:
                self._rejected.add(key)
                self.warn(f"{error} (family: {family}, in '{self.path}')")
                continue
            if page.bytes <= self._decoded.maxsize:
                self._decoded[key] = page
            return page
        return None

    def _open(self) -> None:
        self._opened = True
        try:
            if kind_of(self.path) is not Kind.OURS:
                self._leave("it is no memo of this version")
                return
            self._connection = connect(self.path.resolve(), "ro&immutable=1")
            if not is_intact(self._connection):
                self._leave("its schema is not that of a memo")
        except (*FAILURES, OSError) as error:
            self._leave(str(error))

    def _leave(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self.warn(f"the memo '{self.path}' of a package is not used: {reason}")
