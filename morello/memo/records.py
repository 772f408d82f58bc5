"""Rows of the memo's table: a page with its key, and the columns that are read without decoding it.

Only the page itself is checked against damage; the other columns repeat what is in it, and what
they say is believed only where a wrong answer costs no more than a look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from msgspec import Struct

from morello.memo.codec import DamagedPageError, check, decode, decode_axes, encode, encode_axes
from morello.memo.page import Page

SELECT = "SELECT fingerprint, family, axes, data FROM pages"
"""A row as `record_of` takes it."""

SELECT_SEALED = "SELECT fingerprint, family, axes, data, boxes FROM pages"
"""A row as `sealed_of` takes it."""

Key = tuple[bytes, str, bytes]
"""What tells a page from all others: its fingerprint, its family as text, its encoded axes."""

_INSERT = "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Record(Struct, frozen=True, eq=False):
    """A page under its key.

    Attributes:
        fingerprint: Of the definitions that the page depends on.
        family: As text, the same for the same family in any process.
        page: The choices.
    """

    fingerprint: bytes
    family: str
    page: Page


class Sealed(Struct, frozen=True, eq=False):
    """A page under its key, as a file has it.

    Attributes:
        fingerprint: Of the definitions that the page depends on.
        family: As text.
        axes: Of the page, encoded.
        cells: Of the page.
        boxes: Of the page.
        data: The page, encoded.
    """

    fingerprint: bytes
    family: str
    axes: bytes
    cells: int
    boxes: int
    data: bytes


def sealed(record: Record) -> Sealed:
    """A record as a file has it."""
    page = record.page
    data = encode(page, _seal(record.fingerprint, record.family))
    axes = encode_axes(page.axes)
    return Sealed(record.fingerprint, record.family, axes, page.cells, page.entries, data)


def insertion(sealed: Sealed, now: int) -> tuple[str, Sequence[Any]]:
    """The statement that writes a page, and its values."""
    s = sealed
    size = len(s.fingerprint) + len(s.family.encode()) + len(s.axes) + len(s.data)
    return _INSERT, (s.fingerprint, s.family, s.axes, s.cells, s.boxes, size, now, now, s.data)


def sealed_of(row: Sequence[Any]) -> Sealed:
    """The page that a row of `SELECT_SEALED` holds. Its choices are not decoded.

    Raises:
        DamagedPageError: It is damaged, or is that of another key or of other axes.
    """
    _check_types(row[:4])
    fingerprint, family, axes, data, boxes = row
    text = family.decode(errors="replace")
    check(data, _seal(fingerprint, text), axes)
    cells = prod(map(len, decode_axes(axes)))
    return Sealed(fingerprint, text, axes, cells, boxes if type(boxes) is int else 0, data)


def record_of(row: Sequence[Any]) -> Record:
    """The record that a row of `SELECT` holds.

    Raises:
        DamagedPageError: The page is damaged, or is that of another key or of other axes.
    """
    _check_types(row)
    fingerprint, family, axes, data = row
    text = family.decode(errors="replace")
    page = decode(data, _seal(fingerprint, text))
    if axes != encode_axes(page.axes):
        raise DamagedPageError("a page of the memo cannot be read: its row says other axes")
    return Record(fingerprint, text, page)


def _check_types(row: Sequence[Any]) -> None:
    if len(row) != 4 or not all(isinstance(column, bytes) for column in row):
        raise DamagedPageError("a page of the memo cannot be read: it has columns of another type")


def _seal(fingerprint: bytes, family: str) -> bytes:
    return len(fingerprint).to_bytes(4, "little") + fingerprint + family.encode()
