"""Goals on the workers of a scheduler: what comes back, and what happens where they go away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from morello.errors import MorelloError, UsageError
from morello.filling.fill import Filled, Lost, Refused
from morello.filling.work import Task, UnfitWorkerError
from morello.filling.workers import ThisProcess
from morello.language.source import Source
from morello.memo.memo import Memo
from tests.clusters import local_cluster

from .goals import filling, pages, setting

distributed = pytest.importorskip("distributed")

from morello.filling.cluster import Cluster  # noqa: E402

Warnings = list[str]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Any]:
    """Two processes of one thread."""
    with local_cluster(tmp_path, 2) as found:
        yield found


def _pids(cluster: Any) -> list[int]:
    return [worker.process.pid for worker in cluster.workers.values()]


def test_pages_come_back_as_one_process_would_write_them(cluster: Any, tmp_path: Path) -> None:
    warnings: Warnings = []
    with (
        Memo.open(tmp_path / "many.sqlite", fill=True) as memo,
        closing(Cluster(cluster.scheduler_address, setting(), warnings.append)) as workers,
    ):
        events = list(filling().run(workers, memo))
    assert not warnings
    assert not [event for event in events if isinstance(event, Lost | Refused)]
    with Memo.open(tmp_path / "one.sqlite", fill=True) as memo:
        alone = ThisProcess(setting(), memo, lambda task, step: None)
        list(filling().run(alone, memo))
    assert pages(tmp_path / "many.sqlite") == pages(tmp_path / "one.sqlite")


def test_workers_may_be_killed(cluster: Any, tmp_path: Path) -> None:
    """Their nannies begin others, and the scheduler gives these what was lost."""
    over = threading.Event()

    def kill() -> None:
        for number in range(3):
            if over.wait(1.0):
                return
            with suppress(ProcessLookupError, IndexError, AttributeError):
                os.kill(_pids(cluster)[number % 2], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with (
        Memo.open(tmp_path / "many.sqlite", fill=True) as memo,
        closing(Cluster(cluster.scheduler_address, setting(), pytest.fail)) as workers,
    ):
        killer.start()
        events = list(filling().run(workers, memo, tries=100))
        over.set()
        killer.join()
    assert not [event for event in events if isinstance(event, Refused)]
    assert [event for event in events if isinstance(event, Filled)]
    with Memo.open(tmp_path / "one.sqlite", fill=True) as memo:
        alone = ThisProcess(setting(), memo, lambda task, step: None)
        list(filling().run(alone, memo))
    assert pages(tmp_path / "many.sqlite") == pages(tmp_path / "one.sqlite")


def test_a_worker_with_other_definitions_gets_no_second_goal(cluster: Any, tmp_path: Path) -> None:
    def other() -> None:
        from morello.filling import work  # noqa: PLC0415
        from morello.memo import fingerprint  # noqa: PLC0415

        fingerprint.ENGINE += 1  # another version
        work._FINGERPRINTS = fingerprint.FingerprintsOf()

    warnings: Warnings = []
    with distributed.Client(cluster, set_as_default=False) as client:
        first, second = sorted(client.nthreads())
        client.run(other, workers=[first])
        with (
            Memo.open(tmp_path / "memo.sqlite", fill=True) as memo,
            closing(Cluster(cluster.scheduler_address, setting(), warnings.append)) as workers,
        ):
            events = list(filling().run(workers, memo))
        assert not [event for event in events if isinstance(event, Refused)]
        [warning] = warnings
        assert warning.startswith(f"worker {first} gets no more goals: ")
        client.run(other, workers=[second])
        with (
            Memo.open(tmp_path / "memo.sqlite", fill=True) as memo,
            closing(Cluster(cluster.scheduler_address, setting(), warnings.append)) as workers,
            pytest.raises(UnfitWorkerError, match=r"no worker is fit: .* has other rules"),
        ):
            list(filling().run(workers, memo))


def test_what_waits_for_workers_that_have_gone_is_sent_to_others(
    cluster: Any, tmp_path: Path
) -> None:
    """After one was unfit, calls name those that are fit; these may go, too."""
    warnings: Warnings = []
    with (
        Memo.open(tmp_path / "memo.sqlite", fill=True) as memo,
        closing(Cluster(cluster.scheduler_address, setting(), warnings.append)) as workers,
    ):
        workers._unfit.add(workers._fit()[0])
        run = filling().run(workers, memo)
        next(run)
        cluster.scale(0)
        for _ in range(300):
            if not cluster.scheduler_info["workers"]:
                break
            time.sleep(0.1)
        cluster.scale(1)  # its address is another one
        events = list(run)
    assert not [event for event in events if isinstance(event, Refused)]
    assert all("no worker yet" in warning for warning in warnings)  # while the next one begins


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[Any, str]]:
    """One in a process, without workers."""
    place = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", ":0"]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *options]
    with subprocess.Popen([*command, "--scheduler-file", place], stderr=subprocess.DEVNULL) as run:
        for _ in range(300):
            if place.exists():
                break
            time.sleep(0.1)
        yield run, json.loads(place.read_text())["address"]
        run.kill()


@pytest.mark.parametrize("busy", [False, True])
def test_a_scheduler_that_goes_away_is_an_error_with_advice(
    scheduler: tuple[Any, str], busy: bool, tmp_path: Path
) -> None:
    process, address = scheduler
    warnings: Warnings = []
    workers = Cluster(address, setting(), warnings.append)
    assert workers.free == 0
    if busy:
        task = Task(0, Source("t", "spec f() {}"), "f", {}, "x86.scalar", "")
        workers.begin(task)
    assert not workers.outcomes()
    assert warnings == ["the scheduler has no worker yet; begin some: dask worker ADDRESS"]
    process.kill()

    def wait() -> None:
        started = time.monotonic()
        while time.monotonic() - started < 60:
            workers.outcomes()

    with pytest.raises(MorelloError, match="is gone") as raised:
        wait()
    workers.close()
    assert "it goes on" in raised.value.help


def test_an_address_where_nobody_is_is_an_error_at_once() -> None:
    for wrong in ("", "x", "tcp://", "tcp://host", "10.0.0.1:8786:1", "inproc://x"):
        with pytest.raises(UsageError, match="is no address of a scheduler"):
            Cluster(wrong, setting(), pytest.fail)
    with pytest.raises(MorelloError, match="there is no scheduler at"):
        Cluster("tcp://127.0.0.1:1", setting(), pytest.fail)
