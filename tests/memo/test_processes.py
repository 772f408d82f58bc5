"""Several processes, processes that are killed, and disks that are full."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from morello.memo.store import Store
from morello.memo.transfer import import_memo
from tests.memo.processes import FAMILIES, KEY, LENGTHS, check
from tests.memo.tables import axes_like, page_like

SECONDS = 120


def _start(project: Path, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.memo.processes", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=project, stdout=pipe, stderr=pipe, text=True)


def _finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, messages = process.communicate(timeout=SECONDS)
    assert 0 == process.returncode, messages
    return out, messages


def test_processes_fill_the_same_file(project: Path, tmp_path: Path) -> None:
    """They begin it together, and write the same families in another order."""
    path = tmp_path / "memo.sqlite"
    processes = [_start(project, "fill", path, first) for first in (0, FAMILIES // 2, 7)]
    for process in processes:
        assert ("", "") == _finish(process)
    assert {str(family) for family in range(FAMILIES)} == check(path)
    with Store.open(path, warn=pytest.fail) as store:
        for family in range(FAMILIES):
            assert store.find(KEY, str(family), axes_like(LENGTHS[-1])) is not None


def _open_again(store: Store, path: Path) -> None:
    Store.open(path, warn=pytest.fail).close()


def _import_again(store: Store, path: Path) -> None:
    import_memo(store, path, warn=pytest.fail)


@pytest.mark.parametrize("again", [_open_again, _import_again])
def test_what_this_process_opens_again_stays_its_own(
    tmp_path: Path, again: Callable[[Store, Path], None]
) -> None:
    """Another process that comes and goes does not take itself for the last one.

    It would remove the journal under our connections, and what is written then is damage.
    """
    path = tmp_path / "memo.sqlite"
    with Store.open(path, warn=pytest.fail) as store:
        store.write(KEY, "f", page_like(1))
        again(store, path)
        other = f"""import sqlite3
connection = sqlite3.connect({str(path)!r})
print(*connection.execute("SELECT family FROM pages"))
connection.close()"""
        assert "('f',)\n" == subprocess.check_output([sys.executable, "-c", other], text=True)
        assert Path(f"{path}-wal").exists()


def test_processes_are_killed_at_any_moment(project: Path, tmp_path: Path) -> None:
    """Forty times: what a writer was told to be written is there, and nothing is damaged."""
    out, messages = _finish(_start(project, "kill", tmp_path / "memo.sqlite", 40))
    assert "" == messages
    assert int(out) > 40, "too few writes to have interrupted any"
    assert [] == sorted(tmp_path.glob("*damaged*"))


@pytest.mark.sample(2)
@pytest.mark.parametrize("kilobytes", [0, 4, 24, 64])
def test_a_full_disk_stops_writing_only(project: Path, tmp_path: Path, kilobytes: int) -> None:
    """It is said once; what had been written is there, and the next run goes on."""
    path = tmp_path / "memo.sqlite"
    _, messages = _finish(_start(project, "limited", path, kilobytes << 10))
    (message,) = messages.splitlines()
    assert "full" in message or "disk I/O error" in message
    assert "going on without it" in message or "not kept" in message
    known = check(path)
    assert len(known) < FAMILIES
    assert ("", "") == _finish(_start(project, "fill", path, 0))
    assert FAMILIES == len(check(path))
