"""The files that make the start quicker: found again, never trusted blindly, never in the way."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import platformdirs
import pytest

from morello.startup import cache as startup_cache
from morello.startup.cache import KEPT, Entry, entry

PAYLOAD = b"tables" * 1000


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory, and where its files go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)
    return tmp_path / "morello" / "startup"


@pytest.fixture
def written(directory: Path) -> Entry:
    """An entry that has been written."""
    place = entry("tables", "part")
    place.write(PAYLOAD)
    return place


def _path(place: Entry) -> Path:
    assert place.path is not None
    return place.path


def test_what_is_written_is_read(written: Entry) -> None:
    """By whoever asks with the same parts; a file of one's own, readable by nobody else."""
    assert entry("tables", "part").read() == PAYLOAD
    assert stat.S_IMODE(_path(written).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("tables", ("other",)), ("tables", ("pa", "rt")), ("tables", ()), ("trees", ("part",))],
)
def test_other_parts_are_another_entry(kind: str, parts: tuple[str, ...], written: Entry) -> None:
    """However they are cut."""
    assert entry(kind, *parts).read() is None


def test_another_source_of_the_package_is_another_entry(
    written: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older version has written is not read."""
    monkeypatch.setattr(startup_cache, "_engine", lambda: b"changed")
    assert entry("tables", "part").read() is None


def test_every_source_of_the_package_counts(tmp_path: Path) -> None:
    """Names and contents, in directories too; what is not a source does not."""
    (tmp_path / "part").mkdir()
    source = tmp_path / "part" / "module.py"
    source.write_text("a = 1\n")
    before = list(startup_cache._sources(str(tmp_path), ""))
    (tmp_path / "notes.txt").write_text("nothing")
    assert (
        list(startup_cache._sources(str(tmp_path), ""))
        == before
        == [
            "/part/module.py",
            b"a = 1\n",
        ]
    )
    source.write_text("a = 2\n")
    assert list(startup_cache._sources(str(tmp_path), "")) != before


def test_the_sources_are_those_of_all_stages() -> None:
    """What checks definitions decides what is kept of them, and lies in another directory."""
    names = set(startup_cache._sources(str(startup_cache.PACKAGE), ""))
    assert {"/checking/kernels.py", "/language/parse.py", "/startup/cache.py"} <= names


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 4
    path.write_bytes(data)


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _of_another_key(path: Path) -> None:
    other = entry("tables", "other")
    other.write(PAYLOAD)
    _path(other).replace(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


SPOILT: list[Callable[[Path], None]] = [
    _flip,
    _truncate,
    _of_another_key,
    _link,
    _pipe,
    _directory,
    _empty,
    lambda path: path.chmod(0o620),
    lambda path: path.chmod(0o602),
]


@pytest.mark.parametrize("spoil", SPOILT)
def test_what_cannot_be_trusted_is_not_there(spoil: Callable[[Path], None], written: Entry) -> None:
    """Nothing is raised, and nobody is waited for."""
    spoil(_path(written))
    assert written.read() is None


def test_a_file_of_somebody_else_is_not_there(
    written: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever it is."""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert written.read() is None


def test_a_spoilt_file_is_replaced(written: Entry) -> None:
    """The next process is quick again."""
    _flip(_path(written))
    written.write(PAYLOAD)
    assert written.read() == PAYLOAD


def test_a_directory_that_cannot_be_made_is_no_error(tmp_path: Path, directory: Path) -> None:
    """A file stands where it would be."""
    (tmp_path / "morello").write_text("")
    place = entry("tables", "part")
    place.write(PAYLOAD)
    assert place.read() is None


def test_a_full_disk_is_no_error(
    written: Entry, monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    """Nothing half written stays, and what was there does."""

    def full(old: Path, new: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    written.write(b"new")
    assert written.read() == PAYLOAD
    assert [path.name for path in directory.iterdir()] == [_path(written).name]


def test_the_newest_of_a_kind_stay(directory: Path) -> None:
    """Others are removed when one is written; other kinds are left alone."""
    entry("trees", "").write(PAYLOAD)
    for number in range(KEPT + 3):
        place = entry("tables", str(number))
        place.write(PAYLOAD)
        os.utime(_path(place), (number, number))
    entry("tables", "last").write(PAYLOAD)
    present = [n for n in range(KEPT + 3) if entry("tables", str(n)).read() is not None]
    assert present == list(range(4, KEPT + 3))
    assert entry("tables", "last").read() == entry("trees", "").read() == PAYLOAD


def test_what_a_killed_process_left_is_removed(written: Entry, directory: Path) -> None:
    """Once it is certain that nobody is writing it any more."""
    old, new = directory / ".tables-1", directory / ".tables-2"
    old.write_text("half")
    new.write_text("half")
    os.utime(old, (0, 0))
    written.write(PAYLOAD)
    assert (old.exists(), new.exists()) == (False, True)


def test_several_may_write_at_once(directory: Path) -> None:
    """Each finds nothing, or the whole of what one of them wrote."""
    places = [entry("tables", str(n % 3)) for n in range(60)]

    def write_and_read(place: Entry) -> bytes | None:
        place.write(PAYLOAD)
        return place.read()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write_and_read, places)) <= {PAYLOAD, None}
    assert {place.read() for place in places} == {PAYLOAD}


def test_it_can_be_switched_off(
    written: Entry, monkeypatch: pytest.MonkeyPatch, directory: Path
) -> None:
    """Nothing is read then, and nothing written."""
    before = _path(written).stat().st_mtime_ns
    monkeypatch.setenv("MORELLO_CACHE", "off")
    place = entry("tables", "part")
    place.write(b"new")
    assert place.read() is None
    assert _path(written).stat().st_mtime_ns == before


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory of an odd name appears where the command runs."""
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *a, **k: Path("~/x"))
    assert entry("tables", "part").path is None
