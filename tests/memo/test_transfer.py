"""Memos as files to ship: everything arrives, nothing damaged is passed on, sources stay as is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from morello.errors import MorelloError, UsageError
from morello.memo.codec import encode
from morello.memo.schema import connect
from morello.memo.store import Store
from morello.memo.transfer import Imported, export_memo, import_memo
from tests.memo.tables import axes_like, collected, page_like

KEY = b"fingerprint"
FAMILIES = 5


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memo.sqlite", warn=pytest.fail) as opened:
        for family in range(FAMILIES):
            opened.write(KEY, str(family), page_like(family))
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "other.sqlite", warn=pytest.fail) as opened:
        yield opened


@pytest.fixture
def shipped(store: Store, tmp_path: Path) -> Path:
    path = tmp_path / "shipped.memo"
    assert FAMILIES == export_memo(store, path)
    return path


def _damage(path: Path, statement: str) -> None:
    with closing(connect(path, "rw")) as connection:
        connection.execute(statement)


def test_everything_arrives(shipped: Path, other: Store) -> None:
    assert Imported(FAMILIES, 0, 0) == import_memo(other, shipped, warn=pytest.fail)
    for family in range(FAMILIES):
        found = other.find(KEY, str(family), axes_like((1, 1, 1)))
        assert found is not None
        assert encode(page_like(family)) == encode(found)
    assert Imported(0, FAMILIES, 0) == import_memo(other, shipped, warn=pytest.fail)


def test_the_file_is_one_file_and_is_only_read(shipped: Path, other: Store) -> None:
    content = shipped.read_bytes()
    import_memo(other, shipped, warn=pytest.fail)
    assert content == shipped.read_bytes()
    assert [shipped] == list(shipped.parent.glob("*shipped*"))


def test_a_shipped_file_is_a_memo_as_well(shipped: Path) -> None:
    with Store.open(shipped, warn=pytest.fail) as opened:
        assert FAMILIES == len(opened.stats())


def test_a_memo_in_use_can_be_imported(store: Store, other: Store) -> None:
    """With what is still in its journal."""
    assert store.path is not None
    assert FAMILIES == import_memo(other, store.path, warn=pytest.fail).copied


def test_what_is_covered_is_not_copied(shipped: Path, other: Store) -> None:
    other.write(KEY, "0", page_like(0, (13, 9, 7)))
    other.write(KEY, "1", page_like(1, (2, 9, 7)))
    assert Imported(FAMILIES - 1, 1, 0) == import_memo(other, shipped, warn=pytest.fail)
    assert FAMILIES == sum(row.pages for row in other.stats())


@pytest.mark.parametrize("change", ["data = zeroblob(40)", "axes = x'00'", "family = 'another'"])
def test_damaged_pages_are_left_out(shipped: Path, other: Store, change: str) -> None:
    _damage(shipped, f"UPDATE pages SET {change} WHERE family = '2'")
    messages, warn = collected()
    assert Imported(FAMILIES - 1, 0, 1) == import_memo(other, shipped, warn=warn)
    (message,) = messages
    assert message.endswith("it is left out")


def test_damaged_pages_are_not_exported(tmp_path: Path, store: Store) -> None:
    assert store.path is not None
    _damage(store.path, "UPDATE pages SET data = zeroblob(40) WHERE family = '2'")
    messages, warn = collected()
    with Store.open(store.path, warn=warn) as opened:
        assert FAMILIES - 1 == export_memo(opened, tmp_path / "shipped.memo")
    assert "it is deleted (family: 2)" in messages[0]


def test_a_file_that_is_no_memo_is_refused(tmp_path: Path, shipped: Path, other: Store) -> None:
    foreign, short = tmp_path / "foreign", tmp_path / "short"
    foreign.write_bytes(b"something else" * 20)
    short.write_bytes(shipped.read_bytes()[:50])
    for path, found in (
        (tmp_path / "none", "nothing"),
        (tmp_path, "something else"),
        (foreign, "something else"),
        (short, "a memo that is damaged"),
    ):
        with pytest.raises(UsageError, match=f"expected a memo of this version.*found {found}"):
            import_memo(other, path, warn=pytest.fail)
    _damage(shipped, "PRAGMA user_version = 2")
    with pytest.raises(UsageError, match="found a memo of a newer version"):
        import_memo(other, shipped, warn=pytest.fail)


def test_a_damaged_file_is_an_error(shipped: Path, other: Store) -> None:
    content = shipped.read_bytes()
    shipped.write_bytes(content[:4096] + bytes(len(content) - 4096))
    with pytest.raises(MorelloError, match=r"is damaged .* 0 of its pages were copied"):
        import_memo(other, shipped, warn=pytest.fail)
    shipped.write_bytes(content)
    _damage(shipped, "CREATE VIEW more AS SELECT * FROM pages")
    with pytest.raises(MorelloError, match="schema is not that of a memo"):
        import_memo(other, shipped, warn=pytest.fail)


def test_a_memo_that_cannot_be_written_takes_no_pages(shipped: Path, other: Store) -> None:
    other.close()
    with pytest.raises(MorelloError, match="the memo cannot be written"):
        import_memo(other, shipped, warn=pytest.fail)


def test_nothing_is_overwritten(store: Store, shipped: Path) -> None:
    with pytest.raises(UsageError, match="exists"):
        export_memo(store, shipped)


def test_an_export_that_fails_leaves_nothing(store: Store, tmp_path: Path) -> None:
    with pytest.raises(MorelloError, match="cannot write") as caught:
        export_memo(store, tmp_path / "none" / "shipped.memo")
    assert "directory" in caught.value.help
    assert not (tmp_path / "none").exists()
