"""Goals on the cores of this machine: processes that share a memo, and are killed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import morello
from morello.errors import MorelloError
from morello.filling.fill import Event, Filled, Lost, Refused
from morello.filling.workers import Processes, ThisProcess
from morello.memo.memo import Memo

from .goals import TEXT, Pages, filling, goals, pages, setting

MANY = (
    TEXT.replace("M = [3, 6, 11]", "M = [3, 6, 11, 17, 21, 35]")
    .replace("N = [9, 3]", "N = [9, 3, 30, 41, 60]")
    .replace("M = [2, 9], N = [8, 5]", "M = [2, 9, 33], N = [8, 5, 19, 27, 50, 70]")
)


def _alone(path: Path, text: str) -> Pages:
    """What is in a memo that one process has filled."""
    with Memo.open(path, fill=True) as memo:
        workers = ThisProcess(setting(), memo, lambda task, step: None)
        assert not [e for e in filling(text).run(workers, memo) if isinstance(e, Refused)]
    return pages(path)


def _run(
    path: Path, text: str, count: int, tries: int = 3, kills: int = 0, apart: float = 1.0
) -> list[Event]:
    with (
        Memo.open(path, fill=True) as memo,
        closing(Processes(count, setting(), path)) as workers,
        _killed(workers, kills, apart),
    ):
        return list(filling(text).run(workers, memo, tries=tries))


@contextmanager
def _killed(workers: Processes, kills: int, apart: float) -> Iterator[None]:
    """Kill so many of them, at random moments so many seconds apart, while others work."""
    chance, over = random.Random(7), threading.Event()

    def kill() -> None:
        left = kills
        while left and not over.wait(chance.expovariate(1 / apart)):
            begun = [worker.process.pid for worker in list(workers._workers) if worker.task]
            if begun:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice([pid for pid in begun if pid]), signal.SIGKILL)
                    left -= 1

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def test_several_processes_write_what_one_would(tmp_path: Path) -> None:
    events = _run(tmp_path / "two.sqlite", TEXT, 2)
    assert not [event for event in events if isinstance(event, Lost | Refused)]
    workers = {event.solved.worker for event in events if isinstance(event, Filled)}
    assert len(workers) == 2
    assert pages(tmp_path / "two.sqlite") == _alone(tmp_path / "one.sqlite", TEXT)


@pytest.mark.parametrize(
    ("kills", "apart"), [(4, 0.3), pytest.param(400, 0.15, marks=pytest.mark.slow)]
)
def test_processes_may_be_killed_at_any_time(kills: int, apart: float, tmp_path: Path) -> None:
    """Every goal is solved, with the same pages, and so the same C.

    Where all are solved before so many were killed, they are solved again.
    """
    alone, lost = _alone(tmp_path / "one.sqlite", MANY), 0
    while lost < kills // 2:
        path = tmp_path / "killed.sqlite"
        path.unlink(missing_ok=True)
        events = _run(path, MANY, 2, tries=10_000, kills=kills, apart=apart)
        assert not [event for event in events if isinstance(event, Refused)]
        assert pages(path) == alone
        lost += sum(isinstance(event, Lost) for event in events)
    with Memo.open(tmp_path / "killed.sqlite") as memo:
        for goal, target in goals(MANY)[:: 1 if kills > 100 else 5]:
            options = {"spec": goal.spec, "defines": goal.defines, "target": target}
            kernel = morello.compile(goal.source, memo=memo, **options)  # type: ignore[arg-type]
            assert kernel.statistics.from_memo
            fresh = morello.compile(goal.source, memo=Memo(), **options)  # type: ignore[arg-type]
            assert kernel.source == fresh.source


def test_a_process_that_cannot_begin_is_lost_and_not_waited_for(tmp_path: Path) -> None:
    """Its memo is no memo, so that it ends: all its goals are refused in the end."""
    (tmp_path / "foreign.sqlite").write_text("a text of somebody")
    with closing(Processes(1, setting(), tmp_path / "foreign.sqlite")) as workers:
        events = list(filling(TEXT).run(workers, Memo(fill=True), tries=1))
    assert {type(event) for event in events} == {Refused}
    assert all("ended with status" in str(e.error) for e in events if isinstance(e, Refused))
    assert (tmp_path / "foreign.sqlite").read_text() == "a text of somebody"


def test_closing_interrupts_what_is_at_work(tmp_path: Path) -> None:
    """What was solved by then is kept; no process is left."""
    path = tmp_path / "memo.sqlite"
    large = TEXT.replace("relu(x)", "softmax(x)").replace("M = [3, 6, 11]", "M = [3000]")
    with Memo.open(path, fill=True) as memo:
        workers = Processes(2, setting(), path)
        run = filling(large).run(workers, memo)
        with suppress(MorelloError):
            next(run)
        started = [worker.process for worker in workers._workers]
        begun = time.monotonic()
        workers.close()
        assert time.monotonic() - begun < 15
        assert started
        assert not [process for process in started if process.is_alive()]
