"""``morello memo fill``: what later compiles will ask for, ahead of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

import click

from morello.checking.kinds import counted
from morello.cli.dask import with_dask
from morello.cli.goals import asked_goals
from morello.cli.memos import memo_path
from morello.cli.options import (
    budget_option,
    define_option,
    examples,
    json_option,
    local_options,
    memo_option,
    targets_option,
)
from morello.cli.progress import ProgressBar
from morello.cli.request import (
    definitions_for,
    local_sources,
    phases_of,
)
from morello.cli.session import Session
from morello.errors import MorelloError, UsageError
from morello.filling.fill import Filled, Filling, Lost, PassedOver, Refused
from morello.filling.work import Task, setting_of
from morello.filling.workers import Processes, ThisProcess, Workers
from morello.memo.memo import Memo
from morello.report.documents import Document
from morello.resources import available_cores
from morello.search.planning.budget import Budget
from morello.search.search import Progress


@click.command(
    epilog=examples(
        "morello memo fill model.mspec -t native",
        "morello memo fill matmul.mspec -D M=2048 -D K=2048 -D N=2048",
        "morello memo fill goals.toml --jobs 8",
        "morello memo fill goals.toml --dask tcp://10.0.0.1:8786 --resume",
    )
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@targets_option("A target, or native. May be repeated. Default: what FILES say, then native.")
@define_option
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 1024),
    help="Goals at the same time; default: as many as cores, and half as many as goals.",
)
@click.option("--dask", "address", metavar="ADDRESS", help="Have the workers of a scheduler do it.")
@click.option("--resume", is_flag=True, help="Pass over goals that the memo answers already.")
@local_options
@budget_option
@memo_option
@json_option
@click.pass_obj
def fill(
    session: Session,
    /,
    files: Sequence[str],
    targets: Sequence[str],
    defines: Mapping[str, int],
    jobs: int | None,
    address: str | None,
    resume: bool,
    budget: Budget | None,
    memo: str | None,
) -> None:
    """Solve every goal of FILES with all that is below it, for other goals.

    FILES are specs, or lists of goals (.toml). A compile solves what its own goal needs. This
    solves the sizes that only other goals need, too: products of fewer rows, the same block at a
    smaller size. It takes two to three times as long. What was solved is kept after each goal, so
    that Ctrl-C loses those at work only; --resume goes on. The status is 1 if a goal is refused.
    """
    if jobs is not None and address is not None:
        help = "--jobs is for this machine, --dask for a cluster"
        raise UsageError("--jobs and --dask exclude each other", help=help)
    definitions = definitions_for(session)
    goals = asked_goals(definitions, files, targets, defines)
    with (
        Memo.open(memo_path(memo), warn=session.warn, fill=True) as opened,
        ProgressBar(lambda: session.err) as progress,
    ):
        if opened.store is None or opened.store.path is None or not opened.store.writable:
            where = memo_path(memo)
            raise MorelloError(f"the memo '{where}' cannot be written", help="name another: --memo")
        opened.consult(definitions.memos)
        filling = Filling(definitions, goals, progress)
        setting = setting_of(definitions, local_sources(session), filling.targets, budget)
        # To begin a process takes as long as a small goal: each gets two at least.
        count = min(jobs or available_cores(), (len(filling) + 1) // 2)

        def searching(task: Task, step: Progress) -> None:
            phases_of(progress, str(task))(step)

        alone = ThisProcess(setting, opened, searching)
        workers: Workers = alone
        if address is not None:
            cluster = with_dask("morello.filling.cluster")
            workers = cluster.Cluster(address, setting, session.warn)
        elif count > 1:
            workers = Processes(count, setting, opened.store.path)
        again = alone if isinstance(workers, Processes) and budget is None else None
        with closing(workers):
            told = _Told(session, time.perf_counter())
            for event in filling.run(workers, opened, resume=resume, again=again):
                told.tell(event)
    told.end()


class _Told:
    """What is said of each goal, and of all at the end."""

    def __init__(self, session: Session, started: float) -> None:
        self._session = session
        self._started = started
        self._filled: list[Document] = []
        self._passed: list[Document] = []
        self._refused: list[Document] = []
        self._cpu = 0.0
        self._workers: Counter[str] = Counter()

    def tell(self, event: Filled | PassedOver | Refused | Lost) -> None:
        session, task = self._session, event.task
        goal: Document = {"spec": task.spec, "defines": dict(task.defines), "target": task.target}
        match event:
            case PassedOver():
                self._passed.append(goal)
                session.say(f"answered already: {task}")
            case Lost():
                session.warn(f"{event.error}; {task} is begun again")
            case Refused():
                error: Document = {"error": str(event.error), "help": event.error.help}
                self._refused.append(goal | error)
                advice = f"; {event.error.help}" if event.error.help else ""
                session.warn(f"{task} is left out: {event.error}{advice}")
            case Filled():
                solved = event.solved
                for warning in solved.warnings:
                    session.warn(warning)
                if solved.coarsening is not None:
                    session.warn(f"the search of {task} was {solved.coarsening}")
                self._filled.append(
                    {
                        **goal,
                        "families": solved.families,
                        "cells": solved.cells,
                        "seconds": solved.seconds,
                        "cpu": solved.cpu,
                        "worker": solved.worker,
                    }
                )
                self._cpu += solved.cpu
                self._workers[solved.worker] += 1
                session.say(
                    f"filled: {task}, {solved.cells:,} Specs in "
                    f"{solved.families:,} families, {solved.seconds:.2f} s"
                )

    def end(self) -> None:
        """The sum; the status of the command."""
        session, seconds = self._session, time.perf_counter() - self._started
        if session.json:
            session.document(
                {
                    "filled": self._filled,
                    "answered": self._passed,
                    "refused": self._refused,
                    "workers": len(self._workers),
                    "seconds": seconds,
                }
            )
        elif len(self._filled) + len(self._passed) + len(self._refused) > 1:
            session.say(
                f"{counted(len(self._filled), 'goal')} filled by "
                f"{counted(len(self._workers), 'worker')} in "
                f"{seconds:.1f} s, {self._cpu:.1f} s of processors; "
                f"{len(self._passed):,} were answered already, {len(self._refused):,} refused"
            )
        if self._refused:
            click.get_current_context().exit(1)
