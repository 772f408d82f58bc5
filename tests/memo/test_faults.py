"""Files that are foreign, newer or not to be written, and full disks: what is done and said."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from morello.errors import UsageError
from morello.memo.schema import APPLICATION_ID, connect
from morello.memo.store import Store
from tests.memo.files import FAMILIES, KEY, execute, fill, found
from tests.memo.tables import collected, page_like

NOBODY = 65534


# ------------------------------------------------------------------------ foreign, newer


FOREIGN = [
    b"int main(void) { return 0; }\n" * 9,
    b"SQLite format 3\0" + bytes(4080),
    b"x",
    bytes(99),
]


@pytest.mark.parametrize("content", FOREIGN)
def test_a_foreign_file_that_is_named_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "main.c"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"main.c' is not a memo, and is left as it is") as caught:
        Store.open(path, warn=pytest.fail)
    assert "name a memo" in caught.value.help
    assert content == path.read_bytes()


@pytest.mark.parametrize("content", FOREIGN)
def test_a_foreign_file_in_the_default_place_is_moved_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Nothing else has business there, and nobody could act on an error."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_MEMO", raising=False)
    path = tmp_path / "morello" / "memo.sqlite"
    path.parent.mkdir()
    path.write_bytes(content)
    messages, warn = collected()
    with Store.open(warn=warn) as store:
        assert store.write(KEY, "f", page_like(1))
    assert 1 == len(messages)
    assert content == path.with_name("memo.sqlite.damaged-1").read_bytes()


def test_a_newer_file_is_left_alone(path: Path) -> None:
    execute(path, "PRAGMA user_version = 2")
    content = path.read_bytes()
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == found(store)
        assert not store.write(KEY, "f", page_like(1))
        assert store.find(KEY, "f", page_like(1).axes) is not None, "in memory"
        assert (None, False) == (store.path, store.writable)
    (message,) = messages
    assert "newer version" in message
    assert "going on without it" in message
    assert content == path.read_bytes()


def test_a_path_that_can_be_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        Store.open(tmp_path, warn=pytest.fail)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a file"):
        Store.open(tmp_path / "pipe", warn=pytest.fail)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not in a directory"):
        Store.open(tmp_path / "file" / "memo", warn=pytest.fail)


def test_a_directory_in_the_default_place_is_gone_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_MEMO", raising=False)
    (tmp_path / "morello" / "memo.sqlite").mkdir(parents=True)
    messages, warn = collected()
    with Store.open(warn=warn) as store:
        assert store.path is None
    assert "is not a file; going on without it" in messages[0]


def test_a_name_that_links_to_the_file_stays_a_link(path: Path, healthy: bytes) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    path.write_bytes(healthy[:5000])
    with Store.open(link, warn=lambda message: None) as store:
        fill(store)
    assert link.is_symlink()
    assert path.with_name("memo.sqlite.damaged-1").exists()
    with Store.open(path, warn=pytest.fail) as store:
        assert list(range(FAMILIES)) == found(store)


# ------------------------------------------------------------------------ no permission


@contextmanager
def _without_privileges() -> Iterator[None]:
    """The administrator may write anywhere: be somebody else."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def shared(healthy: bytes) -> Iterator[Path]:
    """A file in a directory that anybody may look into, and nobody write to."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "memo.sqlite"
        path.write_bytes(healthy)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        yield path
        path.parent.chmod(0o755)


def test_a_read_only_directory_is_read(shared: Path, healthy: bytes) -> None:
    """Nothing is said as long as nothing has to be written; then once."""
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert list(range(FAMILIES)) == found(store)
        assert [] == messages
        assert not store.write(KEY, "new", page_like(1))
        assert not store.write(KEY, "newer", page_like(1))
        assert store.find(KEY, "new", page_like(1).axes) is not None, "in memory"
    (message,) = messages
    assert "cannot be written" in message
    assert "not kept" in message
    assert healthy == shared.read_bytes()
    assert [shared] == list(shared.parent.iterdir())


def test_a_read_only_file_is_read(shared: Path, healthy: bytes) -> None:
    shared.parent.chmod(0o777)
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert list(range(FAMILIES)) == found(store)
        assert [] == messages
        assert not store.write(KEY, "new", page_like(1))
        assert 1 == len(messages)
    assert healthy == shared.read_bytes()


def test_a_damaged_file_in_a_read_only_directory_is_gone_without(shared: Path) -> None:
    shared.chmod(0o644)
    shared.write_bytes(shared.read_bytes()[:4096] + bytes(99))
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert [] == found(store)
    (message,) = messages
    assert "is damaged" in message
    assert "cannot be moved; going on without it" in message


def test_a_damaged_file_that_cannot_be_renamed_is_gone_without(shared: Path) -> None:
    """Its lock can be had, from earlier times, but its directory cannot be changed."""
    content = shared.read_bytes()[:70]
    shared.parent.chmod(0o755)
    shared.chmod(0o644)
    shared.write_bytes(content)
    lock = Path(f"{shared}.lock")
    lock.touch()
    lock.chmod(0o666)
    shared.parent.chmod(0o555)
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert [] == found(store)
    (message,) = messages
    assert "cannot be replaced" in message
    assert content == shared.read_bytes()


def test_where_nothing_can_be_created_is_gone_without(shared: Path) -> None:
    """Neither a file, nor its directory; nor read, if it is there."""
    for path in (shared.with_name("new"), shared.parent / "sub" / "new"):
        messages, warn = collected()
        with _without_privileges(), Store.open(path, warn=warn) as store:
            assert [] == found(store)
            assert not store.write(KEY, "f", page_like(1))
        (message,) = messages
        assert "going on without it" in message
    shared.chmod(0o000)
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert [] == found(store)
    assert "cannot be read (Permission denied)" in messages[0]


# ------------------------------------------------------------------------ room, locks


def test_a_full_database_is_read_on(path: Path) -> None:
    """The transaction that did not fit is undone as a whole."""
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        store._database._connection.execute("PRAGMA max_page_count = 1")  # type: ignore[union-attr]
        results = [store.write(KEY, f"new {n}", page_like(n)) for n in range(40)]
        assert not results[-1]
        (message,) = messages
        assert "database or disk is full" in message
        assert list(range(FAMILIES)) == found(store)
        assert FAMILIES + sum(results) == len(store.stats())


def test_a_lock_that_does_not_end_stops_writing_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process was stopped in the middle of a transaction."""
    monkeypatch.setattr("morello.memo.schema.BUSY_SECONDS", 0.05)
    messages, warn = collected()
    with Store.open(path, warn=warn) as store, closing(connect(path, "rw")) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not store.write(KEY, "new", page_like(1))
        assert list(range(FAMILIES)) == found(store)
        other.execute("ROLLBACK")
    (message,) = messages
    assert "locked" in message


def test_a_file_that_is_locked_when_it_is_opened_is_gone_without(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a write-ahead journal, a writer keeps readers out."""
    monkeypatch.setattr("morello.memo.schema.BUSY_SECONDS", 0.05)
    execute(path, "PRAGMA journal_mode = DELETE")
    messages, warn = collected()
    with closing(connect(path, "rw")) as other:
        other.execute("BEGIN EXCLUSIVE")
        with Store.open(path, warn=warn) as store:
            assert [] == found(store)
    (message,) = messages
    assert "cannot be opened (database is locked); going on without it" in message


def test_a_file_that_is_removed_while_open_costs_nothing_else(path: Path) -> None:
    with Store.open(path, warn=lambda message: None) as store:
        shutil.rmtree(path.parent)
        found(store)
        store.write(KEY, "f", page_like(1))
    path.parent.mkdir()
    with Store.open(path, warn=pytest.fail) as store:
        assert [] == store.stats()


def test_the_application_is_named_in_the_header(healthy: bytes) -> None:
    """By which other programs, such as ``file``, may tell it; it must never change."""
    assert b"Mrlo" == healthy[68:72] == APPLICATION_ID.to_bytes(4, "big")
