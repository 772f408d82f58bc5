"""Rows of the memo's table: a page with its key, and the columns that are read without decoding it.

Only the page itself is checked against damage; the other columns repeat what is in it, and what
they say is believed only where a wrong answer costs no more than a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morello.memo.codec import DamagedPageError, decode, encode, encode_axes
from morello.memo.page import Page

SELECT = "SELECT fingerprint, family, axes, data FROM pages"
"""A row as `record_of` takes it."""

Key = tuple[bytes, str, bytes]
"""What tells a page from all others: its fingerprint, its family as text, its encoded axes."""

_INSERT = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """A page under its key.

    Attributes:
        fingerprint: Of the definitions that the page depends on.
        family: As text, the same for the same family in any process.
        page: The choices.
    """

    fingerprint: bytes
    family: str
    page: Page


def insertion(record: Record, now: int) -> tuple[str, Sequence[Any]]:
    """The statement that writes a record, and its values."""
    page, axes = record.page, encode_axes(record.page.axes)
    data = encode(page, _seal(record.fingerprint, record.family))
    size = len(record.fingerprint) + len(record.family.encode()) + len(axes) + len(data)
    numbers = (page.cells, page.entries, size, now, now)
    return _INSERT, (record.fingerprint, record.family, axes, *numbers, data)


def record_of(row: Sequence[Any]) -> Record:
    """The record that a row of `SELECT` holds.

    Raises:
        DamagedPageError: The page is damaged, or is that of another key or of other axes.
    """
    if len(row) != 4 or not all(isinstance(column, bytes) for column in row):
        raise DamagedPageError("a page of the memo cannot be read: it has columns of another type")
    fingerprint, family, axes, data = row
    text = family.decode(errors="replace")
    page = decode(data, _seal(fingerprint, text))
    if axes != encode_axes(page.axes):
        raise DamagedPageError("a page of the memo cannot be read: its row says other axes")
    return Record(fingerprint, text, page)


def _seal(fingerprint: bytes, family: str) -> bytes:
    return len(fingerprint).to_bytes(4, "little") + fingerprint + family.encode()
