"""Files that are damaged, foreign, newer or not to be written: what is done, what is said."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from morello.errors import UsageError
from morello.memo.aside import FileLock
from morello.memo.codec import encode
from morello.memo.schema import APPLICATION_ID, connect
from morello.memo.store import Store
from tests.memo.tables import axes_like, collected, page_like

KEY = b"fingerprint"
FAMILIES = 12
NOBODY = 65534


def _fill(store: Store, families: int = FAMILIES) -> None:
    for family in range(families):
        store.write(KEY, str(family), page_like(family))


def _found(store: Store) -> list[int]:
    """The families that are found; each of them is checked to be right."""
    found = []
    for family in range(FAMILIES):
        page = store.find(KEY, str(family), axes_like((2, 3, 4)))
        if page is not None:
            assert encode(page_like(family)) == encode(page)
            found.append(family)
    return found


def _execute(path: Path, statement: str, *values: Any) -> None:
    with closing(connect(path, "rw")) as connection:
        connection.execute(statement, values)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of a file that holds every family."""
    path = tmp_path_factory.mktemp("healthy") / "memo.sqlite"
    with Store.open(path, warn=pytest.fail) as store:
        _fill(store)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, healthy: bytes) -> Path:
    path = tmp_path / "memo.sqlite"
    path.write_bytes(healthy)
    return path


# ------------------------------------------------------------------------ damage


def _survives(path: Path) -> list[str]:
    """Whatever the file holds now: nothing wrong is found, and it can be filled and read again."""
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        _found(store)
        assert all(record.family.isdigit() for record in store.records())
        assert all(row.pages >= 0 for row in store.stats())
        store.gc(max_bytes=1 << 20)
        if store.writable:
            _fill(store)
    with Store.open(path, warn=warn) as store:
        assert not messages or store.path is None or list(range(FAMILIES)) == _found(store)
    return messages


def test_a_file_that_is_cut_off_is_moved_aside(path: Path, healthy: bytes) -> None:
    """At any length; only the empty file is simply begun."""
    lengths = [1, 15, 16, 17, 71, 72, 99, 100, 101, 4096, *range(512, len(healthy), 1111)]
    for length in lengths:
        path.write_bytes(healthy[:length])
        (message,) = _survives(path)
        assert "was damaged" in message
        assert "a new one is begun" in message
    asides = {f"memo.sqlite.damaged-{number + 1}" for number in range(len(lengths))}
    assert asides == {p.name for p in path.parent.glob("*.damaged-*")}
    assert (
        healthy[: lengths[-1]] == path.with_name(f"memo.sqlite.damaged-{len(lengths)}").read_bytes()
    )
    path.write_bytes(b"")
    assert [] == _survives(path)


def test_a_flipped_bit_never_gives_a_wrong_page(path: Path, healthy: bytes) -> None:
    """Anywhere in the file, the header more often than elsewhere."""
    chance = random.Random(5)
    header = [chance.randrange(8 * 100) for _ in range(30)]
    for bit in header + [chance.randrange(8 * len(healthy)) for _ in range(50)]:
        for file in path.parent.glob("memo.sqlite*"):
            file.unlink()
        flipped = bytearray(healthy)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        if 68 <= bit // 8 < 72:
            with pytest.raises(UsageError, match="is not a memo"):
                Store.open(path, warn=pytest.fail)
        else:
            _survives(path)


def test_damaged_areas_never_give_a_wrong_page(path: Path, healthy: bytes) -> None:
    """Blocks of the file are overwritten with other blocks of it, zeros or noise."""
    chance = random.Random(7)
    for _ in range(30):
        for file in path.parent.glob("memo.sqlite*"):
            file.unlink()
        damaged = bytearray(healthy)
        length = chance.choice((64, 512, 4096))
        start = chance.randrange(100, len(healthy) - length)
        other = chance.randrange(len(healthy) - length)
        block = (healthy[other : other + length], bytes(length), chance.randbytes(length))
        damaged[start : start + length] = chance.choice(block)
        path.write_bytes(damaged)
        _survives(path)


def test_a_damaged_journal_never_gives_a_wrong_page(path: Path, tmp_path: Path) -> None:
    """The journal of a process that was killed, with a bit flipped or cut off."""
    live = tmp_path / "live" / "memo.sqlite"
    chance = random.Random(11)
    with Store.open(live, warn=pytest.fail) as store:
        _fill(store)
        journal = Path(f"{live}-wal").read_bytes()
        content = live.read_bytes()
    for _ in range(30):
        path.write_bytes(content)
        flipped = bytearray(journal)
        flipped[chance.randrange(len(journal))] ^= 1 << chance.randrange(8)
        Path(f"{path}-wal").write_bytes(flipped[: chance.randrange(len(journal))])
        assert [] == _survives(path)


def test_damage_that_shows_later_is_dealt_with_then(path: Path, healthy: bytes) -> None:
    """The schema is whole, and the table is not: found out by the first look-up."""
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == messages
        assert [] == _found(store)
        (message,) = messages
        assert "malformed" in message
        _fill(store)
        assert list(range(FAMILIES)) == _found(store)
    assert path.with_name("memo.sqlite.damaged-1").exists()


def test_damage_that_shows_when_writing(path: Path, healthy: bytes) -> None:
    """What is written then is in the new file."""
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert store.write(b"another", "f", page_like(1))
        assert 1 == len(messages)
    with Store.open(path, warn=pytest.fail) as store:
        assert store.find(b"another", "f", axes_like((1, 1, 1))) is not None


def test_a_page_that_does_not_decode_is_deleted(path: Path) -> None:
    """Damage that the database cannot see: the others stay."""
    _execute(path, "UPDATE pages SET data = zeroblob(length(data)) WHERE family = '3'")
    messages, warn = collected()
    expected = [family for family in range(FAMILIES) if family != 3]
    with Store.open(path, warn=warn) as store:
        assert expected == _found(store)
        (message,) = messages
        assert "cannot be read" in message
        assert "it is deleted (family: 3)" in message
        assert expected == _found(store)
        assert len(expected) == len(store.stats())


@pytest.mark.parametrize(
    "change",
    [
        "data = (SELECT data FROM pages WHERE family = '4')",
        "data = 7",
        "data = 'text'",
        "fingerprint = x'00', family = '4'",
        "axes = (SELECT axes || x'00' FROM pages WHERE family = '4')",
        "axes = 'text'",
        "axes = 12, cells = 'many', boxes = x'ff', bytes = 'text', used = 'never', created = 0.5",
        "family = x'ff3333', fingerprint = 12",
    ],
)
def test_rows_that_were_changed_are_no_answer(path: Path, change: str) -> None:
    """Each cell is well-formed for the database, but says something else than what was written."""
    _execute(path, f"UPDATE pages SET {change} WHERE family = '3'")
    with Store.open(path, warn=lambda message: None) as store:
        assert 3 not in _found(store)
        assert {row.pages for row in store.stats()} <= {1}
        assert 3 not in [int(record.family) for record in store.records()]
        store.gc(max_bytes=1 << 30, older_than=1e6)
        _fill(store)
        assert list(range(FAMILIES)) == _found(store)
    assert not path.with_name("memo.sqlite.damaged-1").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE pages",
        "CREATE TABLE more (x)",
        "ALTER TABLE pages RENAME COLUMN data TO date",
        "CREATE TRIGGER t AFTER INSERT ON pages BEGIN DELETE FROM pages; END",
        "PRAGMA user_version = 0",
    ],
)
def test_another_schema_is_damage(path: Path, statement: str) -> None:
    _execute(path, statement)
    (message,) = _survives(path)
    assert "was damaged" in message


def test_a_damaged_file_is_not_moved_under_another_process(
    path: Path, healthy: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which has it open, and holds its lock: then this one goes on without it."""
    monkeypatch.setattr("morello.memo.aside._WAIT_SECONDS", 0.05)
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    lock = FileLock(path)
    assert lock.share()
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == _found(store)
        assert "in use by another process; going on without it" in messages[0]
        assert store.path is None
    assert not path.with_name("memo.sqlite.damaged-1").exists()
    lock.close()
    assert "a new one is begun" in _survives(path)[0]


def test_a_file_that_another_process_replaced_is_used(path: Path, healthy: bytes) -> None:
    """Both found the damage; the first one has dealt with it."""
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    with Store.open(path, warn=pytest.fail) as store:
        path.rename(path.with_name("moved"))
        path.write_bytes(healthy)
        _found(store)
        assert list(range(FAMILIES)) == _found(store)


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
    _execute(path, "PRAGMA user_version = 2")
    content = path.read_bytes()
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == _found(store)
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
        _fill(store)
    assert link.is_symlink()
    assert path.with_name("memo.sqlite.damaged-1").exists()
    with Store.open(path, warn=pytest.fail) as store:
        assert list(range(FAMILIES)) == _found(store)


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
        assert list(range(FAMILIES)) == _found(store)
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
        assert list(range(FAMILIES)) == _found(store)
        assert [] == messages
        assert not store.write(KEY, "new", page_like(1))
        assert 1 == len(messages)
    assert healthy == shared.read_bytes()


def test_a_damaged_file_in_a_read_only_directory_is_gone_without(shared: Path) -> None:
    shared.chmod(0o644)
    shared.write_bytes(shared.read_bytes()[:4096] + bytes(99))
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert [] == _found(store)
    (message,) = messages
    assert "is damaged" in message
    assert "cannot be moved; going on without it" in message


def test_where_nothing_can_be_created_is_gone_without(shared: Path) -> None:
    """Neither a file, nor its directory; nor read, if it is there."""
    for path in (shared.with_name("new"), shared.parent / "sub" / "new"):
        messages, warn = collected()
        with _without_privileges(), Store.open(path, warn=warn) as store:
            assert [] == _found(store)
            assert not store.write(KEY, "f", page_like(1))
        (message,) = messages
        assert "going on without it" in message
    shared.chmod(0o000)
    messages, warn = collected()
    with _without_privileges(), Store.open(shared, warn=warn) as store:
        assert [] == _found(store)
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
        assert list(range(FAMILIES)) == _found(store)
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
        assert list(range(FAMILIES)) == _found(store)
        other.execute("ROLLBACK")
    (message,) = messages
    assert "locked" in message


def test_a_file_that_is_removed_while_open_costs_nothing_else(path: Path) -> None:
    with Store.open(path, warn=lambda message: None) as store:
        shutil.rmtree(path.parent)
        _found(store)
        store.write(KEY, "f", page_like(1))
    path.parent.mkdir()
    with Store.open(path, warn=pytest.fail) as store:
        assert [] == store.stats()


def test_the_application_is_named_in_the_header(healthy: bytes) -> None:
    """By which other programs, such as ``file``, may tell it; it must never change."""
    assert b"Mrlo" == healthy[68:72] == APPLICATION_ID.to_bytes(4, "big")
