"""Damage to the file, anywhere: nothing wrong is ever found, and what is done about it is said."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from morello.errors import UsageError
from morello.memo.quarantine import FileLock
from morello.memo.store import Store
from tests.memo.files import FAMILIES, execute, fill, found, survives
from tests.memo.tables import axes_like, collected, page_like


def test_a_file_that_is_cut_off_is_moved_aside(path: Path, healthy: bytes) -> None:
    """At any length; only the empty file is simply begun."""
    lengths = [1, 15, 16, 17, 71, 72, 99, 100, 101, 4096, *range(512, len(healthy), 1111)]
    for length in lengths:
        path.write_bytes(healthy[:length])
        (message,) = survives(path)
        assert "was damaged" in message
        assert "a new one is begun" in message
    asides = {f"memo.sqlite.damaged-{number + 1}" for number in range(len(lengths))}
    assert asides == {p.name for p in path.parent.glob("*.damaged-*")}
    assert (
        healthy[: lengths[-1]] == path.with_name(f"memo.sqlite.damaged-{len(lengths)}").read_bytes()
    )
    path.write_bytes(b"")
    assert [] == survives(path)


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
            survives(path)


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
        survives(path)


def test_a_damaged_journal_never_gives_a_wrong_page(path: Path, tmp_path: Path) -> None:
    """The journal of a process that was killed, with a bit flipped or cut off."""
    live = tmp_path / "live" / "memo.sqlite"
    chance = random.Random(11)
    with Store.open(live, warn=pytest.fail) as store:
        fill(store)
        journal = Path(f"{live}-wal").read_bytes()
        content = live.read_bytes()
    for _ in range(30):
        path.write_bytes(content)
        flipped = bytearray(journal)
        flipped[chance.randrange(len(journal))] ^= 1 << chance.randrange(8)
        Path(f"{path}-wal").write_bytes(flipped[: chance.randrange(len(journal))])
        assert [] == survives(path)


def test_damage_that_shows_later_is_dealt_with_then(path: Path, healthy: bytes) -> None:
    """The schema is whole, and the table is not: found out by the first look-up."""
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == messages
        assert [] == found(store)
        (message,) = messages
        assert "malformed" in message
        fill(store)
        assert list(range(FAMILIES)) == found(store)
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
    execute(path, "UPDATE pages SET data = zeroblob(length(data)) WHERE family = '3'")
    messages, warn = collected()
    expected = [family for family in range(FAMILIES) if family != 3]
    with Store.open(path, warn=warn) as store:
        assert expected == found(store)
        (message,) = messages
        assert "cannot be read" in message
        assert "it is deleted (family: 3)" in message
        assert expected == found(store)
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
    execute(path, f"UPDATE pages SET {change} WHERE family = '3'")
    with Store.open(path, warn=lambda message: None) as store:
        assert 3 not in found(store)
        assert {row.pages for row in store.stats()} <= {1}
        assert 3 not in [int(record.family) for record in store.records()]
        store.gc(max_bytes=1 << 30, older_than=1e6)
        fill(store)
        assert list(range(FAMILIES)) == found(store)
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
    execute(path, statement)
    (message,) = survives(path)
    assert "was damaged" in message


def test_a_damaged_file_is_not_moved_under_another_process(
    path: Path, healthy: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which has it open, and holds its lock: then this one goes on without it."""
    monkeypatch.setattr("morello.memo.quarantine._WAIT_SECONDS", 0.05)
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    lock = FileLock(path)
    assert lock.share()
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == found(store)
        assert "in use by another process; going on without it" in messages[0]
        assert store.path is None
    assert not path.with_name("memo.sqlite.damaged-1").exists()
    lock.close()
    assert "a new one is begun" in survives(path)[0]


def test_a_file_that_another_process_repairs_is_gone_without(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock alone, and does not come to an end."""
    monkeypatch.setattr("morello.memo.quarantine._WAIT_SECONDS", 0.05)
    lock = FileLock(path)
    assert lock.own()
    messages, warn = collected()
    with Store.open(path, warn=warn) as store:
        assert [] == found(store)
    assert "is being repaired by another process; going on without it" in messages[0]
    lock.close()
    with Store.open(path, warn=pytest.fail) as store:
        assert list(range(FAMILIES)) == found(store)


def test_a_file_that_another_process_replaced_is_used(path: Path, healthy: bytes) -> None:
    """Both found the damage; the first one has dealt with it."""
    path.write_bytes(healthy[:4096] + bytes(len(healthy) - 4096))
    with Store.open(path, warn=pytest.fail) as store:
        path.rename(path.with_name("moved"))
        path.write_bytes(healthy)
        found(store)
        assert list(range(FAMILIES)) == found(store)


WITHOUT_LOCKS = """
import sys
sys.modules["fcntl"] = None  # as on Windows
import morello
spec = "spec s() { input x: f32[3] output y: f32[3] y = relu(x) }"
for _ in range(2):
    with morello.Memo.open(sys.argv[1]) as memo:
        kernel = morello.compile(spec, target="x86.scalar", memo=memo)
print(kernel.statistics.cells)
"""


def test_a_system_without_such_locks_has_memos(tmp_path: Path) -> None:
    """The second compile finds what the first has solved."""
    command = [sys.executable, "-c", WITHOUT_LOCKS, str(tmp_path / "memo")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0\n"
