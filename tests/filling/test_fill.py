"""In which order goals are solved, and what becomes of those whose workers fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from morello.errors import InternalError, MorelloError
from morello.filling.fill import Filled, Lost, PassedOver, Refused
from morello.filling.work import OtherDefinitionsError, Solved, Solver, Task
from morello.filling.workers import LostWorkerError, Outcome, ThisProcess
from morello.memo.memo import Memo
from morello.records import replace

from .goals import filling, pages, setting

SOLVED = Solved("nobody", 1, 2, 3.0, 4.0, None)


class Scripted:
    """Workers that do what they are told, the last begun first, and note what was at work."""

    def __init__(self, count: int, says: Callable[[Task], Solved | MorelloError]) -> None:
        self.count, self.says = count, says
        self.at_work: list[Task] = []
        self.seen: list[list[str]] = []

    @property
    def free(self) -> int:
        return self.count - len(self.at_work)

    def begin(self, task: Task) -> None:
        self.at_work.append(task)
        self.seen.append([str(each) for each in self.at_work])

    def outcomes(self) -> Sequence[Outcome]:
        task = self.at_work.pop()
        return [Outcome(task, self.says(task))]

    def close(self) -> None:
        self.at_work.clear()


def test_the_largest_come_first_and_cover_the_others(tmp_path: Path) -> None:
    with Memo.open(tmp_path / "memo.sqlite", fill=True) as memo:
        workers = ThisProcess(setting(), memo, lambda task, step: None)
        events = list(filling().run(workers, memo))
    said = [(type(event), str(event.task)) for event in events]
    assert [text for kind, text in said if kind is Filled] == [
        "twice M=7 N=9 for x86.scalar",
        "turned M=9 N=8 for x86.scalar",
        "ramp M=11 N=5 for x86.scalar",
        "turned M=9 N=5 for x86.scalar",  # loops over 8 leave no 5
    ]
    assert len(said) == 14
    assert {kind for kind, _ in said} == {Filled, PassedOver}


def test_goals_that_one_may_cover_wait_for_it() -> None:
    """Even where it then leaves nothing behind."""
    workers = Scripted(100, lambda task: SOLVED)
    list(filling().run(workers, Memo(fill=True)))
    assert len(workers.seen) == 14
    for seen in workers.seen:
        if "ramp M=11 N=5 for x86.scalar" in seen:
            assert sum(text.startswith("ramp") for text in seen) == 1
    widest = max(len({text.split()[0] for text in seen}) for seen in workers.seen)
    assert widest == 3


def test_equal_goals_count_once() -> None:
    workers = Scripted(1, lambda task: SOLVED)
    twice = filling(targets=("x86.scalar", "x86.scalar"))
    assert len(twice) == len(list(twice.run(workers, Memo(fill=True)))) == 14


def test_a_goal_whose_worker_is_lost_is_begun_again_so_often(tmp_path: Path) -> None:
    lost = LostWorkerError("it is gone")
    falls = {"turned M=9 N=8 for x86.scalar": 2, "ramp M=11 N=5 for x86.scalar": 99}

    def says(task: Task) -> Solved | MorelloError:
        falls[str(task)] = falls.get(str(task), 0) - 1
        return lost if falls[str(task)] >= 0 else SOLVED

    events = list(filling().run(Scripted(2, says), Memo(fill=True), tries=3))
    again = [str(event.task) for event in events if isinstance(event, Lost)]
    assert sorted(again) == sorted(2 * [*falls][:2])
    [refused] = [event for event in events if isinstance(event, Refused)]
    assert (str(refused.task), refused.error) == ("ramp M=11 N=5 for x86.scalar", lost)
    assert sum(isinstance(event, Filled) for event in events) == 13


def test_what_was_searched_coarsely_is_solved_alone_at_the_end(tmp_path: Path) -> None:
    coarse = replace(SOLVED, coarsening="coarsened to stay within memory")
    with Memo.open(tmp_path / "memo.sqlite", fill=True) as memo:
        alone = ThisProcess(setting(), memo, lambda task, step: None)
        events = list(filling().run(Scripted(2, lambda task: coarse), memo, again=alone))
        assert len(events) == 14
        assert all(isinstance(event, Filled) for event in events)
        solved = [event.solved for event in events if isinstance(event, Filled)]
        assert all(one.coarsening is None and one.worker != "nobody" for one in solved)


def test_a_fault_of_this_package_ends_the_run() -> None:
    workers = Scripted(1, lambda task: InternalError("a table is upside down"))
    with pytest.raises(InternalError, match="upside down"):
        list(filling().run(workers, Memo(fill=True)))


def test_coefficients_are_sent_and_other_definitions_noticed(tmp_path: Path) -> None:
    """Whoever asks is calibrated: pages are of its costs, wherever they are solved."""
    tasks: list[Task] = []

    def note(task: Task) -> Solved:
        tasks.append(task)
        return SOLVED

    list(filling().run(Scripted(1, note), Memo(fill=True)))
    own = setting()
    [(target, values)] = own.coefficients.items()
    name = next(iter(values))
    other = replace(own, coefficients={target: {**values, name: values[name] * 2 + 1}})
    with Memo.open(tmp_path / "memo.sqlite", fill=True) as memo:
        Solver(own).solve(tasks[0], memo)
        assert pages(tmp_path / "memo.sqlite")
        with pytest.raises(OtherDefinitionsError, match="has other rules, kernels or another"):
            Solver(other).solve(tasks[0], memo)
    with pytest.raises(OtherDefinitionsError, match="has no target 'z80'"):
        Solver(replace(own, coefficients={"z80": {}}))
