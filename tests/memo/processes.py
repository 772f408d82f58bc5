"""Processes that use a memo for the tests: one that fills it, and a hundred that are killed.

Run as ``python -m tests.memo.processes fill|limited|kill PATH ...``. This is not a test module.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from functools import cache
from pathlib import Path

from morello.memo.codec import encode
from morello.memo.store import Store
from tests.memo.tables import axes_like, page_like

KEY = b"fingerprint"
LENGTHS = [(5, 4, 3), (7, 6, 5), (9, 8, 7), (12, 9, 7)]
FAMILIES = 30


def warn(message: str) -> None:
    """Messages are lines of standard error."""
    print(message, file=sys.stderr)


def fill(path: Path, first: int) -> None:
    """Write every family, beginning with one of them, each with axes that grow."""
    with Store.open(path, warn=warn) as store:
        for number in range(FAMILIES):
            family = (number + first) % FAMILIES
            for lengths in LENGTHS:
                store.write(KEY, str(family), page_like(family, lengths))


def limited(path: Path, bytes_a_file: int) -> None:
    """Fill it where no file may become larger, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))
    fill(path, 0)


@cache
def _fresh(family: int, lengths: tuple[int, ...]) -> bytes:
    """What the page of a family has to be; many checks of one file ask for the same."""
    return encode(page_like(family, lengths))


def check(path: Path) -> set[str]:
    """Families of the file, every page of which is what a fresh computation gives."""
    with Store.open(path, warn=warn) as store:
        for record in store.records():
            lengths = record.page.shape
            assert axes_like(lengths) == record.page.axes
            assert _fresh(int(record.family), lengths) == encode(record.page), record.family
        return {row.family for row in store.stats()}


def kill(path: Path, times: int) -> None:
    """Start a writer, kill it after a random time, check all that it had written; many times."""
    page_like(0, LENGTHS[0])  # loads what is compiled, which takes longer than a writer may live
    chance = random.Random(3)
    written = 0
    for number in range(times):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _report_each(path, number * 1000, writer)
        os.close(writer)
        time.sleep(chance.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done = _read_all(reader).split()
        missing = {family.decode() for family in done} - check(path)
        assert not missing, f"lost after they were written: {missing}"
        written += len(done)
        if number % 10 == 9:
            path.unlink()  # so that its creation is interrupted too
    print(written)


def _report_each(path: Path, first: int, pipe: int) -> None:
    """Write families without end, and each one's name once it is written. Never returns."""
    store = Store.open(path, warn=warn)
    family = first
    while True:
        store.write(KEY, str(family), page_like(family, LENGTHS[family % 4]))
        os.write(pipe, f"{family} ".encode())
        family += 1


def _read_all(pipe: int) -> bytes:
    with os.fdopen(pipe, "rb") as file:
        return file.read()


if __name__ == "__main__":
    command, name, number = sys.argv[1:]
    {"fill": fill, "limited": limited, "kill": kill}[command](Path(name), int(number))
