"""The store: what it finds, what it replaces, what it counts and what it removes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from morello.memo.codec import encode, encode_axes
from morello.memo.page import Page
from morello.memo.place import default_path
from morello.memo.schema import connect
from morello.memo.store import USE_SECONDS, FamilyStats, Store
from tests.memo.tables import axes_like, page_like

KEY = b"rules, kernels, costs"
SMALL, LARGE = (4, 3), (6, 5)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memo.sqlite"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[Store]:
    with Store.open(path, warn=pytest.fail, clock=clock) as opened:
        yield opened


def _reopened(path: Path, clock: Clock | None = None) -> Store:
    return Store.open(path, warn=pytest.fail, clock=clock or Clock())


def _same(expected: Page, found: Page | None) -> bool:
    return found is not None and encode(expected) == encode(found)


def test_what_was_written_is_found_in_another_process(store: Store, path: Path) -> None:
    """Or in this one, by another store that opens the same file."""
    assert store.find(KEY, "f", axes_like(SMALL)) is None
    assert store.write(KEY, "f", page_like(1))
    with _reopened(path) as other:
        assert _same(page_like(1), other.find(KEY, "f", page_like(1).axes))


def test_a_page_answers_for_what_it_covers(store: Store, path: Path) -> None:
    store.write(KEY, "f", page_like(1, LARGE))
    with _reopened(path) as other:
        for known in (store, other):
            assert _same(page_like(1, LARGE), known.find(KEY, "f", axes_like(SMALL)))
            assert known.axes(KEY, "f") == [encode_axes(axes_like(LARGE))]
            assert known.find(KEY, "f", axes_like((7, 1))) is None


def test_another_key_is_not_answered(store: Store) -> None:
    store.write(KEY, "f", page_like(1))
    axes = page_like(1).axes
    assert store.find(KEY + b"!", "f", axes) is None
    assert store.find(KEY, "g", axes) is None


def test_a_page_replaces_those_that_it_covers(store: Store, path: Path) -> None:
    """And only those; one that is covered already is not written."""
    for lengths in (SMALL, (2, 9), LARGE, SMALL, (1, 1)):
        assert store.write(KEY, "f", page_like(1, lengths))
    store.write(KEY, "g", page_like(1, SMALL))
    with _reopened(path) as other:
        shapes = [(record.family, record.page.shape) for record in other.records()]
    assert [("f", (2, 9)), ("f", LARGE), ("g", SMALL)] == shapes


def test_the_same_axes_are_written_anew(store: Store, path: Path) -> None:
    """As a check does that found a page to be wrong."""
    store.write(KEY, "f", page_like(1))
    store.write(KEY, "f", page_like(2))
    with _reopened(path) as other:
        assert _same(page_like(2), other.find(KEY, "f", page_like(2).axes))
        assert 1 == other.stats()[0].pages


def test_a_deleted_page_is_not_found(store: Store, path: Path) -> None:
    store.write(KEY, "f", page_like(1))
    store.delete(KEY, "f", page_like(1).axes)
    assert store.find(KEY, "f", page_like(1).axes) is None
    assert [] == store.stats()


def test_a_page_is_decoded_once(store: Store, path: Path) -> None:
    """Within the budget of bytes; the least recently used goes first."""
    for family in ("f", "g", "h"):
        store.write(KEY, family, page_like(1))
    axes, size = page_like(1).axes, page_like(1).bytes
    with Store.open(path, warn=pytest.fail, budget=2 * size + size // 2) as other:
        first, second = (other.find(KEY, family, axes) for family in ("f", "g"))
        assert first is other.find(KEY, "f", axes)
        other.find(KEY, "h", axes)
        assert first is other.find(KEY, "f", axes)
        assert second is not other.find(KEY, "g", axes)
    with Store.open(path, warn=pytest.fail, budget=size - 1) as other:
        assert _same(page_like(1), other.find(KEY, "f", axes))


def test_statistics_are_by_family_and_fingerprint(store: Store, path: Path) -> None:
    pages = [page_like(1, LARGE), page_like(1, (2, 9))]
    for page in pages:
        store.write(KEY, "g", page)
    store.write(b"other", "f", page_like(1))
    small, large = store.stats()
    assert ("f", 1, b"other") == (small.family, small.pages, small.fingerprint)
    cells, boxes = sum(p.cells for p in pages), sum(p.entries for p in pages)
    assert FamilyStats(KEY, "g", 2, cells, boxes, large.bytes) == large
    data = sum(len(encode(page)) for page in pages)
    assert data < large.bytes < data + 200
    store.close()
    assert path.stat().st_size >= small.bytes + large.bytes


# ------------------------------------------------------------------------ collection


def _fill(store: Store, clock: Clock, names: str = "abcd") -> int:
    """A page for each name, a day apart; the bytes of each row."""
    for name in names:
        store.write(name.encode(), name, page_like(1))
        clock.now += 86_400
    return store.stats()[0].bytes


def _families(store: Store) -> str:
    return "".join(row.family for row in store.stats())


def test_collection_by_bytes_removes_the_least_recently_used(
    store: Store, path: Path, clock: Clock
) -> None:
    size = _fill(store, clock)
    with _reopened(path, clock) as other:
        assert other.find(b"a", "a", axes_like((*SMALL, 1))) is not None
        removed = other.gc(max_bytes=2 * size + 1)
        assert (2, 2 * size) == (removed.pages, removed.bytes)
        assert "ad" == _families(other)
        assert 0 == other.gc(max_bytes=2 * size).pages


def test_uses_are_noted_when_the_file_is_closed(store: Store, path: Path, clock: Clock) -> None:
    """And not for each look-up; nor again soon after."""
    size = _fill(store, clock, "ab")
    with _reopened(path, clock) as other:
        assert other.find(b"a", "a", axes_like((*SMALL, 1))) is not None
    with closing(connect(path, "ro")) as connection:
        query = "SELECT used FROM pages WHERE family = 'a'"
        assert [(int(clock.now),)] == connection.execute(query).fetchall()
        noted = clock.now
        clock.now += USE_SECONDS
        with _reopened(path, clock) as other:
            assert other.find(b"a", "a", axes_like((*SMALL, 1))) is not None
        assert [(int(noted),)] == connection.execute(query).fetchall()
    assert 1 == store.gc(max_bytes=size).pages
    assert "a" == _families(store)


def test_collection_by_age_and_by_fingerprint(store: Store, clock: Clock) -> None:
    size = _fill(store, clock)
    removed = store.gc(older_than=3.5 * 86_400, keep=[b"a", b"b", b"d"])
    assert (2, 2 * size) == (removed.pages, removed.bytes)
    assert "bd" == _families(store)
    assert store.find(b"a", "a", page_like(1).axes) is None
    assert 0 == store.gc().pages


def test_collection_makes_the_file_smaller(store: Store, path: Path, clock: Clock) -> None:
    for number in range(100):
        store.write(KEY, f"{number}", page_like(1))
    store.close()
    before = path.stat().st_size
    with _reopened(path, clock) as other:
        other.gc(max_bytes=0)
    assert path.stat().st_size < before / 2


# ------------------------------------------------------------------------ sharing


def test_threads_share_a_store(path: Path) -> None:
    """Every thread finds what it wrote, and pages of others are whole."""
    barrier = threading.Barrier(8, timeout=60)

    def use(number: int) -> bool:
        barrier.wait()
        for family in range(12):
            page = page_like(family)
            shared.write(KEY, f"{family}", page)
            own = page_like(number)
            shared.write(KEY, f"own {number}", own)
            if not _same(own, shared.find(KEY, f"own {number}", own.axes)):
                return False
            if not _same(page, shared.find(KEY, f"{family}", page.axes)):
                return False
        return True

    with _reopened(path) as shared, ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(8)))
        assert 20 == len(shared.stats())


def test_a_closed_store_still_answers_from_memory(store: Store) -> None:
    page = page_like(1)
    store.write(KEY, "f", page)
    store.close()
    assert page is store.find(KEY, "f", page.axes)
    assert store.find(KEY, "g", page.axes) is None
    assert not store.write(KEY, "g", page)
    assert [] == store.stats()


# ------------------------------------------------------------------------ places


def test_the_default_place_is_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MORELLO_MEMO", raising=False)
    with Store.open(warn=pytest.fail) as opened:
        assert default_path() == opened.path
        assert default_path().is_relative_to(tmp_path)


def test_the_environment_names_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parents are created; a path that is passed goes before it."""
    named = tmp_path / "a" / "b c" / "100%?.memo"
    monkeypatch.setenv("MORELLO_MEMO", str(named))
    with Store.open(warn=pytest.fail) as opened:
        assert named == opened.path
        assert named.is_file()
    with Store.open(tmp_path / "other", warn=pytest.fail) as opened:
        assert tmp_path / "other" == opened.path


def test_a_real_page_of_many_boxes_comes_back(store: Store, path: Path) -> None:
    page = page_like(5, (15, 14, 9, 5))
    store.write(KEY, "f", page)
    with _reopened(path) as other:
        found = other.find(KEY, "f", axes_like((15, 14, 9, 5)))
    assert found is not None
    np.testing.assert_array_equal(page.table(), found.table())
