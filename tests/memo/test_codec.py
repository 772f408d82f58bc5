"""Pages as bytes: back exactly, small, and no damage goes unnoticed or unnamed."""

from __future__ import annotations

import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.memo.codec import (
    _HEADER,
    VERSION,
    DamagedPageError,
    _checksum,
    _number,
    decode,
    decode_axes,
    encode,
)
from morello.memo.page import Choice, Page, page_of
from tests.memo.tables import axes_like, page_like, pages, tiled

KEY = b"a fingerprint and a family"
DATA = encode(page_like(2), KEY)


def _sealed(content: bytes, length: int | None = None) -> bytes:
    """Any content as if a writer had written it: the checksum says nothing against it."""
    length = len(content) if length is None else length
    rest = length.to_bytes(4, "little") + zlib.compress(content)
    return bytes([VERSION]) + _checksum(bytes([VERSION]), rest, b"") + rest


def _content(page: Page) -> bytes:
    return zlib.decompress(encode(page)[_HEADER:])


@given(pages(), st.binary(max_size=40))
def test_decoding_gives_the_page_back(page: Page, key: bytes) -> None:
    data = encode(page, key)
    found = decode(data, key)
    assert (page.axes, page.choices) == (found.axes, found.choices)
    for name in ("low", "high", "value"):
        expected = getattr(page.boxes, name)
        assert expected.dtype == getattr(found.boxes, name).dtype
        np.testing.assert_array_equal(expected, getattr(found.boxes, name))
    assert data == encode(found, key)


def test_long_axes_and_many_choices_take_wider_columns() -> None:
    table = np.arange(700, dtype=np.int32).reshape(1, 700)
    choices = [Choice(f"rule_{i:03}") for i in range(700)]
    page = page_of(((1,), tuple(range(700))), choices, table)
    assert table.tolist() == decode(encode(page)).table().tolist()


def test_a_page_takes_few_bytes_a_box() -> None:
    """Bounds of five axes and a value in less than three bytes, on a table like a real one."""
    table = tiled(15, 15, 15, 9, 5)
    page = page_of(axes_like(table.shape), [Choice(f"rule_{i}") for i in range(6)], table)
    assert len(encode(page)) < 3 * page.entries


@given(st.binary(max_size=200))
def test_random_bytes_are_no_page(data: bytes) -> None:
    with pytest.raises(DamagedPageError):
        decode(data, KEY)


@given(st.integers(0, len(DATA) - 1))
def test_a_truncated_page_is_damaged(length: int) -> None:
    with pytest.raises(DamagedPageError):
        decode(DATA[:length], KEY)


@given(st.integers(0, 8 * len(DATA) - 1))
def test_a_flipped_bit_is_damage(bit: int) -> None:
    flipped = bytearray(DATA)
    flipped[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamagedPageError):
        decode(bytes(flipped), KEY)


def test_the_page_of_another_key_is_damaged() -> None:
    for key in (b"", KEY[:-1], KEY + b"\0"):
        with pytest.raises(DamagedPageError, match="checksum"):
            decode(DATA, key)


def test_another_version_is_refused() -> None:
    with pytest.raises(DamagedPageError, match="not of this version"):
        decode(bytes([VERSION + 1]) + DATA[1:], KEY)


@given(pages(), st.data())
def test_a_content_that_was_never_written_is_damaged_or_a_page(
    page: Page, data: st.DataObject
) -> None:
    """With a checksum that fits: a file from elsewhere may hold anything."""
    content = bytearray(_content(page))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(_sealed(bytes(content)))
    except DamagedPageError:
        return
    assert found.cells == found.table().size


@given(st.binary(max_size=60))
def test_a_random_content_is_damaged_or_a_page(content: bytes) -> None:
    try:
        found = decode(_sealed(content))
    except DamagedPageError:
        return
    assert found.cells == found.table().size


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (_sealed(_content(page_like(0)) + b"\0"), "more than a page"),
        (_sealed(_content(page_like(0))[:-1]), "ends too early"),
        (_sealed(_content(page_like(0)), 1 << 30), "too long"),
        (_sealed(_content(page_like(0)), 8), "length is wrong"),
        (_sealed(b"\xff" * 12), "number is too long"),
        (_sealed(b"\1\0\0"), "axis is empty"),
        (_sealed(b"\0\1\1\xff\0\0\0"), "can't decode"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, reason: str) -> None:
    with pytest.raises(DamagedPageError, match=reason) as caught:
        decode(data)
    assert "solved again" in caught.value.help


AXIS = _number(1) + _number(0)
HUGE = {
    "a long axis": _number(1) + _number(1 << 23) + bytes(1 << 23),
    "many axes": _number(1 << 22) + AXIS * (1 << 22),
    "many choices": _number(1) + AXIS + _number(1 << 22) + bytes(1 << 23),
    "many parameters": _number(1) + AXIS + bytes([1, 0]) + _number(1 << 22) + bytes(1 << 23),
    "a long page": bytes(1 << 25),
}


@pytest.mark.parametrize("content", HUGE.values(), ids=HUGE)
def test_what_says_that_it_is_huge_is_refused_before_it_is_read(content: bytes) -> None:
    """A few kilobytes of file, deflated, do not become hundreds of megabytes of objects."""
    data = _sealed(content)
    assert len(data) < 1 << 16
    tracemalloc.start()
    try:
        with pytest.raises(DamagedPageError, match=r"at most|too long"):
            decode(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * (1 << 24)


def test_axes_alone_are_refused_as_early() -> None:
    """They stand in a column of their own, not deflated."""
    with pytest.raises(DamagedPageError, match="at most"):
        decode_axes(HUGE["a long axis"])
