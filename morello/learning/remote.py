"""Programs are measured by workers of a Dask scheduler, each on its own kind of processor.

Some goals at a time are one call: a goal is measured a second time after the next one. The worker
measures in a process of its own, so that nothing that Dask does in between counts, and a program
that crashes takes nobody along. A group says which processor it is from.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from morello.checking.goal_list import ListedGoal
from morello.errors import InternalError, MorelloError
from morello.filling.scheduler import Scheduler
from morello.filling.work import Setting, definitions_of
from morello.filling.workers import LostWorkerError
from morello.learning.apart import apart
from morello.learning.collect import Collected, collect
from morello.learning.corpus import read_group, write_group
from morello.records import replace
from morello.search.search import Progress

AT_ONCE = 4
"""Goals of one call: some tens of seconds."""


class Batch(Struct, frozen=True):
    """Goals to be measured by one worker; the other fields are arguments of `collect`."""

    setting: Setting
    target: str
    goals: tuple[ListedGoal, ...]
    known: frozenset[str]
    programs: int
    busy: bool
    verify: bool


class Measured(Struct, frozen=True):
    """What a worker says of a goal: the content of its group's file, or why there is none."""

    goal: ListedGoal
    content: bytes | None = None
    refused: MorelloError | None = None


def collect_by_workers(
    scheduler: Scheduler,
    batch: Batch,
    directory: Path,
    report: Callable[[Progress], None],
    seconds: float | None = None,
) -> Iterator[Collected]:
    """Have goals measured by workers that have a scheduler's resource; what becomes of each.

    Args:
        scheduler: Who has workers.
        batch: All goals.
        directory: Where the groups are kept.
        report: Called now and then.
        seconds: After so many no other goals are sent.

    Raises:
        MorelloError: The scheduler is gone, or no worker can measure.
    """
    directory.mkdir(parents=True, exist_ok=True)
    known = frozenset(path.name for path in directory.iterdir())
    goals = batch.goals
    waiting = deque(goals[n : n + AT_ONCE] for n in range(0, len(goals), AT_ONCE))
    started, done = time.monotonic(), 0
    while waiting or scheduler.begun:
        if seconds is not None and time.monotonic() - started > seconds:
            waiting.clear()
        workers = len(scheduler.workers())
        while waiting and scheduler.begun <= workers:
            part = waiting.popleft()
            scheduler.call(part, measured_by_worker, replace(batch, goals=part, known=known))
        said = f"{done} of {len(goals)} goals, {workers} workers"
        report(Progress(done, len(goals), said))
        for returned in scheduler.returned() if waiting or scheduler.begun else ():
            assert isinstance(returned.token, tuple)
            done += len(returned.token)
            if isinstance(returned.value, LostWorkerError):
                for goal in returned.token:
                    yield Collected(goal, refused=returned.value)
            elif isinstance(returned.value, MorelloError):
                raise returned.value
            else:
                for one in returned.value:
                    yield _kept(one, directory)


def _kept(measured: Measured, directory: Path) -> Collected:
    """Write a group that has come, if it is one."""
    if measured.content is None:
        return Collected(measured.goal, refused=measured.refused)
    with TemporaryDirectory(prefix="morello-") as temporary:
        path = Path(temporary, "group.json.gz")
        path.write_bytes(measured.content)
        group = read_group(path)
    return Collected(measured.goal, write_group(directory, group), group)


def measured_by_worker(batch: Batch) -> list[Measured] | MorelloError:
    """What a worker runs: goals that were measured, those that are known left out."""
    try:
        return apart(measured_here, batch)
    except InternalError as error:
        return [Measured(goal, refused=error) for goal in batch.goals]


def measured_here(batch: Batch) -> list[Measured] | MorelloError:
    """The same in this process."""
    found: list[Measured] = []
    try:
        definitions = definitions_of(batch.setting)
        with TemporaryDirectory(prefix="morello-") as directory:
            for one in collect(
                definitions,
                definitions.targets[batch.target],
                batch.goals,
                Path(directory),
                lambda _: None,
                programs=batch.programs,
                busy=batch.busy,
                verify=batch.verify,
                known=batch.known,
            ):
                content = None if one.path is None else one.path.read_bytes()
                found.append(Measured(one.goal, content, one.refused))
    except MorelloError as error:
        return error
    return found
