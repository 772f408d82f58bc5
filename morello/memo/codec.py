"""Pages as bytes, and back: compact, checked over every byte, and without any code in them.

    version (1 byte) | checksum (16) | length of the content (4, little endian) | content, deflated

The checksum is over the version, all that follows it, and the *key* of the page (which is not in
the bytes): a page that is found under a key that is not its own does not decode. The content is

    axes      number; for each: number of values, the first, the differences
    choices   number; for each: name, number of parameters, their names and values
    boxes     number, without the first one, which is the whole page; its value;
              then column by column: values (differences), low of each axis, high - low - 1 of each

Numbers of the first two are of variable length, 7 bits a byte; columns are in the smallest unsigned
type that holds any of theirs, little endian. A value is stored plus one: 0 is "unsolvable". Boxes
come in the order of their values, so that most differences are zero; about 2.6 bytes a box remain.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.memo.boxes import Boxes
from morello.memo.page import (
    MAX_LENGTH,
    MAX_RANK,
    UNSOLVABLE,
    Axes,
    Choice,
    Page,
    check_boxes,
    covers,
)

VERSION = 1
"""Of the format. A page of another version is as good as damaged: it is solved again."""

_CHECKSUM = 16
_HEADER = 1 + _CHECKSUM + 4
_MAX_CONTENT = 1 << 24
"""Bytes that a page may take before it is deflated; a page that says more is damaged.

This bounds the boxes as well, and so the memory of all that is read to some twenty times as much.
"""

_MAX_CHOICES = 1 << 16
_MAX_PARAMETERS = 64  # of one choice

_MAX_NUMBER_BYTES = 10  # of 7 bits: what 64 bits take


class DamagedPageError(MorelloError):
    """These bytes are no page, or not the page of this key."""


def encode(page: Page, key: bytes = b"") -> bytes:
    """The page as bytes; equal pages give equal bytes.

    Args:
        page: Any page.
        key: What the page is kept under; ``decode`` has to be given the same.
    """
    content = b"".join((encode_axes(page.axes), *_choices_out(page.choices), *_boxes_out(page)))
    rest = len(content).to_bytes(4, "little") + zlib.compress(content, 6)
    return bytes([VERSION]) + _checksum(bytes([VERSION]), rest, key) + rest


def decode(data: bytes, key: bytes = b"") -> Page:
    """The page that ``encode`` was given.

    Raises:
        DamagedPageError: The bytes or the key are not what ``encode`` was given and gave.
    """
    rest = _sealed(data, key)
    try:
        return _page(_Reader(_inflated(int.from_bytes(rest[:4], "little"), rest[4:])))
    except (ValueError, OverflowError, MemoryError, zlib.error) as error:
        raise _damaged(str(error)) from error


def check(data: bytes, key: bytes, axes: bytes) -> None:
    """Demand that bytes are those of a page of this key and these axes. Nothing else is decoded.

    Raises:
        DamagedPageError: They are not.
    """
    rest = _sealed(data, key)
    try:
        found = zlib.decompressobj().decompress(rest[4:], len(axes)) if axes else b""
    except zlib.error as error:
        raise _damaged(str(error)) from error
    if found != axes:
        raise _damaged("its row says other axes")


@lru_cache(maxsize=1024)  # the variants of a search share boxes
def encode_axes(axes: Axes) -> bytes:
    """Axes alone, as they are in a page: what a store tests coverage with. Not checked."""
    return b"".join(_axes_out(axes))


@lru_cache(maxsize=8192)  # families of many searches share fewer
def decode_axes(data: bytes) -> Axes:
    """The axes that ``encode_axes`` was given.

    Raises:
        DamagedPageError: These are no axes.
    """
    content = _Reader(data)
    try:
        axes = _axes(content)
        content.end()
    except ValueError as error:
        raise _damaged(str(error)) from error
    return axes


def axes_said(column: object) -> Axes | None:
    """Axes that a row says; none where it says none. The column is not checked against damage."""
    if not isinstance(column, bytes):
        return None
    with suppress(DamagedPageError):
        return decode_axes(column)
    return None


@lru_cache(maxsize=1 << 16)  # the same few stand in the rows of many families
def said_to_cover(column: object, wanted: object) -> bool:
    """Whether the axes that a row says cover those that another says; none cover nothing."""
    own, other = axes_said(column), axes_said(wanted)
    return own is not None and other is not None and covers(own, other)


def _sealed(data: bytes, key: bytes) -> bytes:
    """What the checksum is over: the length of the content, and the content."""
    version, checksum, rest = data[:1], data[1 : 1 + _CHECKSUM], data[1 + _CHECKSUM :]
    if version != bytes([VERSION]):
        raise _damaged("it is not of this version")
    if len(data) < _HEADER or checksum != _checksum(version, rest, key):
        raise _damaged("its checksum is wrong")
    return rest


def _damaged(reason: str) -> DamagedPageError:
    return DamagedPageError(
        f"a page of the memo cannot be read: {reason}",
        help="its family will be solved again; 'morello memo verify' checks the others",
    )


def _checksum(version: bytes, rest: bytes, key: bytes) -> bytes:
    digest = blake2b(version, digest_size=_CHECKSUM)
    digest.update(len(key).to_bytes(8, "little"))
    digest.update(key)
    digest.update(rest)
    return digest.digest()


def _inflated(length: int, deflated: bytes) -> bytes:
    if length > _MAX_CONTENT:
        raise ValueError("it is too long")
    stream = zlib.decompressobj()
    content = stream.decompress(deflated, length + 1)
    if len(content) != length or not stream.eof or stream.unused_data:
        raise ValueError("its length is wrong")
    return content


# ------------------------------------------------------------------------ writing


_SMALL = [bytes([value]) for value in range(0x80)]


def _number(value: int) -> bytes:
    """Seven bits a byte, the least first; all but the last byte have the top bit."""
    if value <= 0x7F:
        return _SMALL[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _text(text: str) -> bytes:
    data = text.encode()
    return _number(len(data)) + data


def _axes_out(axes: Axes) -> Iterable[bytes]:
    yield _number(len(axes))
    for axis in axes:
        first = axis[0] * 2 if axis[0] >= 0 else -axis[0] * 2 - 1  # the sign is the lowest bit
        yield _number(len(axis)) + _number(first)
        yield from (_number(b - a) for a, b in pairwise(axis))


def _choices_out(choices: tuple[Choice, ...]) -> Iterable[bytes]:
    yield _number(len(choices))
    for choice in choices:
        yield _text(choice.name) + _number(len(choice.parameters))
        yield from (_text(name) + _text(value) for name, value in choice.parameters)


def _boxes_out(page: Page) -> Iterable[bytes]:
    boxes = page.boxes
    value, bound = _column_types(len(page.choices), page.shape)
    values = (boxes.value - UNSOLVABLE).astype(value)
    extents = boxes.high - boxes.low - 1
    yield _number(len(boxes) - 1)
    yield values[:1].tobytes()
    differences = values[1:].copy()
    differences[1:] -= values[1:-1]
    yield differences.tobytes()
    for bounds in (boxes.low, extents):
        yield bounds[1:].T.astype(bound).tobytes()


def _column_types(
    choices: int, shape: tuple[int, ...]
) -> tuple[np.dtype[np.generic], np.dtype[np.generic]]:
    """Types of the columns of values and of bounds."""
    types = (np.min_scalar_type(largest) for largest in (choices, max(shape, default=1)))
    value, bound = (t.newbyteorder("<") for t in types)
    return value, bound


# ------------------------------------------------------------------------ reading


class _Reader:
    """Takes the parts of a content one after the other; ValueError where it ends too early."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def take(self, length: int) -> bytes:
        part = self._content[self._at : self._at + length]
        if len(part) != length:
            raise ValueError("it ends too early")
        self._at += length
        return part

    def number(self) -> int:
        if self._at < len(self._content) and (first := self._content[self._at]) < 0x80:
            self._at += 1  # most are of one byte
            return first
        value = 0
        for place in range(_MAX_NUMBER_BYTES):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return value
        raise ValueError("a number is too long")

    def count(self, most: int, what: str) -> int:
        """How many of something follow: refused before anything is made of them."""
        value = self.number()
        if value > most:
            raise ValueError(f"it has {value} {what}, at most {most} are read")
        return value

    def text(self) -> str:
        return self.take(self.number()).decode()

    def column(self, count: int, kind: np.dtype[np.generic]) -> Array:
        return np.frombuffer(self.take(count * kind.itemsize), kind)

    def end(self) -> None:
        if self._at != len(self._content):
            raise ValueError("it has more than a page")


def _page(content: _Reader) -> Page:
    axes = _axes(content)
    choices = tuple(_choice(content) for _ in range(content.count(_MAX_CHOICES, "choices")))
    boxes = _boxes(content, tuple(len(axis) for axis in axes), len(choices))
    content.end()
    page = Page(axes, choices, boxes)
    check_boxes(page)
    return page


def _axes(content: _Reader) -> Axes:
    return tuple(_axis(content) for _ in range(content.count(MAX_RANK, "axes")))


def _axis(content: _Reader) -> tuple[int, ...]:
    length, first = content.count(MAX_LENGTH, "values on an axis"), content.number()
    if length == 0:
        raise ValueError("an axis is empty")
    values = [-(first + 1 >> 1) if first & 1 else first >> 1]
    for _ in range(length - 1):
        values.append(values[-1] + content.number())
    return tuple(values)


def _choice(content: _Reader) -> Choice:
    name = content.text()
    parameters = range(content.count(_MAX_PARAMETERS, "parameters of a choice"))
    return Choice(name, tuple((content.text(), content.text()) for _ in parameters))


def _boxes(content: _Reader, shape: tuple[int, ...], choices: int) -> Boxes:
    kind, bound = _column_types(choices, shape)
    count, rank = content.count(_MAX_CONTENT, "boxes"), len(shape)
    rest = content.column(1, kind)
    values = np.add.accumulate(content.column(count, kind), dtype=kind)
    low, extent = (content.column(count * rank, bound).reshape(rank, count).T for _ in range(2))
    whole = np.array([shape], bound).reshape(1, rank)
    return Boxes(
        np.concatenate((np.zeros_like(whole), low)).astype(bound.newbyteorder("=")),
        np.concatenate((whole, low + extent + 1)).astype(bound.newbyteorder("=")),
        np.concatenate((rest, values)).astype(np.int32) + UNSOLVABLE,
    )
