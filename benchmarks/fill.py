"""How filling a memo grows with workers: measured on this machine, simulated for a cluster.

``python -m benchmarks.fill --count 40`` takes goals of the plugins' lists, evenly, and fills an
empty memo with them by one process and by two, in turn, each with one thread. Then each goal is
solved as a worker of a cluster does, into a file of its own that is merged into a common one: what
a goal takes, and what its merge takes. Of goals like these, drawn with replacement, a run of
``--simulated`` is simulated: workers that begin, solve, and wait for their next goal, and one
process that merges what comes back and sends what is next. The largest come first, as in a real
run.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import click

from benchmarks.machine import environment, save
from morello.checking.goal_list import ListedGoal
from morello.cli.goals import goals_of_plugins
from morello.definitions import Definitions, load_definitions
from morello.filling.cluster import AHEAD
from morello.filling.fill import Filled, Filling
from morello.filling.work import Setting, Solver, Task, setting_of
from morello.filling.workers import Processes
from morello.memo.memo import Memo
from morello.memo.store import Store
from morello.memo.transfer import export_memo, import_memo
from morello.records import replace
from morello.runtime.target_choice import native_target

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

BEGINNING = 2.0
"""Seconds until a new worker has its definitions."""

SENDING = 0.005
"""Seconds of the coordinator for each goal beside its merge: more than Dask says that it takes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A goal: seconds of its search, of its merge, and bytes of its pages."""

    goal: str
    search: float
    merge: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """A run: seconds, and shares of them in which workers, and the coordinator, were busy."""

    seconds: float
    workers: float
    coordinator: float


def simulate(goals: Sequence[Measured], count: int) -> Simulated:
    """A run of goals, in this order, by so many workers and one coordinator."""
    waiting = deque(goals)
    queue: deque[Measured] = deque()  # at the scheduler
    idle = count
    events: list[tuple[float, int, str, Measured | None]] = []
    number = 0
    free_at = busy = 0.0

    def push(at: float, kind: str, goal: Measured | None) -> None:
        nonlocal number
        number += 1
        heappush(events, (at, number, kind, goal))

    for _ in range(min(len(waiting), count + (count + AHEAD - 1) // AHEAD)):
        push(BEGINNING, "sent", waiting.popleft())
    now = 0.0
    while events:
        now, _, kind, goal = heappop(events)
        if kind == "sent":
            assert goal is not None
            queue.append(goal)
        if kind == "solved":
            assert goal is not None
            idle += 1
            begin = max(now, free_at)
            free_at = begin + goal.merge + SENDING
            busy += free_at - begin
            push(free_at, "merged", None)
            if waiting:
                push(free_at, "sent", waiting.popleft())
        while idle and queue:
            idle -= 1
            push(now + queue[0].search, "solved", queue.popleft())
    work = sum(goal.search for goal in goals)
    return Simulated(now, work / (now * count), busy / now)


def chosen_goals(definitions: Definitions, count: int) -> list[ListedGoal]:
    """So many goals of the plugins' lists, evenly."""
    found = goals_of_plugins(definitions)
    step = max(1, len(found) // count)
    return found[::step][:count]


def filled(filling: Filling, setting: Setting, count: int) -> tuple[float, list[Task]]:
    """Seconds until processes have filled an empty memo, and what they had to solve."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "memo.sqlite")
        started = time.perf_counter()
        with (
            Memo.open(path, fill=True) as memo,
            closing(Processes(count, setting, path)) as workers,
        ):
            workers.setting = replace(workers.setting, threads=1)  # one core each
            events = list(filling.run(workers, memo))
        seconds = time.perf_counter() - started
    return seconds, [event.task for event in events if isinstance(event, Filled)]


def measured(tasks: Sequence[Task], setting: Setting) -> list[Measured]:
    """Each goal solved by itself, and merged into what the others have left."""
    found = []
    solver = Solver(setting)
    with (
        TemporaryDirectory() as directory,
        Store.open(Path(directory, "all.sqlite"), warn=click.echo) as store,
    ):
        for task in tasks:
            own = Path(directory, f"{task.number}.sqlite")
            pages = own.with_suffix(".pages")
            started = time.perf_counter()
            with Memo.open(own, fill=True) as memo:
                solver.solve(task, memo)
                assert memo.store is not None
                export_memo(memo.store, pages)
            solved = time.perf_counter()
            import_memo(store, pages, warn=click.echo)
            merged = time.perf_counter()
            size = pages.stat().st_size
            found.append(Measured(str(task), solved - started, merged - solved, size))
            own.unlink()
            pages.unlink()
    return found


@click.command(help=__doc__)
@click.option("--count", default=40, show_default=True, help="Goals that are solved.")
@click.option("--turns", default=1, show_default=True)
@click.option("--simulated", default=10_000, show_default=True, help="Goals that are simulated.")
@click.option("--seed", default=0, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file for the record.")
def main(count: int, turns: int, simulated: int, seed: int, output: Path | None) -> None:
    """Measure, simulate, and print both."""
    definitions = load_definitions()
    target = native_target(definitions).name
    goals = [(goal, target) for goal in chosen_goals(definitions, count)]
    setting = setting_of(definitions, (), [target])
    runs: dict[int, list[float]] = {1: [], 2: []}
    tasks: list[Task] = []
    for _ in range(turns):
        for workers, seconds in runs.items():
            took, tasks = filled(Filling(definitions, goals, _quiet), setting, workers)
            seconds.append(took)
            click.echo(f"{workers} processes: {took:.1f} s, {len(tasks)} of {count} goals solved")
    one, two = median(runs[1]), median(runs[2])
    click.echo(f"two processes: {one / two:.2f} times as fast as one")
    each = measured(tasks, setting)
    click.echo(
        f"median goal: {median(g.search for g in each):.2f} s, its merge "
        f"{median(g.merge for g in each):.3f} s, its pages {median(g.bytes for g in each):,.0f} B"
    )
    chance = random.Random(seed)
    drawn = sorted(chance.choices(each, k=simulated), key=lambda goal: -goal.search)
    table = [(workers, simulate(drawn, workers)) for workers in WORKERS]
    first = table[0][1].seconds
    click.echo("\n| workers | seconds | times one | workers busy | coordinator busy |")
    click.echo("| ---: | ---: | ---: | ---: | ---: |")
    for workers, run in table:
        click.echo(
            f"| {workers} | {run.seconds:,.0f} | {first / run.seconds:.1f} | "
            f"{run.workers:.0%} | {run.coordinator:.0%} |"
        )
    if output is not None:
        record = {
            "environment": environment(),
            "processes": {str(workers): seconds for workers, seconds in runs.items()},
            "goals": [asdict(goal) for goal in each],
            "simulated": {str(workers): asdict(run) for workers, run in table},
        }
        save(record, output)


def _quiet(_: object) -> None:
    """No bar."""


if __name__ == "__main__":
    main()
