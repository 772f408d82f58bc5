"""Items are done after all that they wait for, here or in other processes; failures are said."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import MorelloError
from morello.language.source import Source
from morello.search.workers import can_fork, run_apart, run_here, shared_array
from tests.search.budget import examples

apart = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked safely here")

Step = Callable[[int], None]
Run = Callable[[Sequence[set[int]], Step, Step], None]


@st.composite
def orders(draw: st.DrawFn) -> list[set[int]]:
    """Items that wait for smaller ones."""
    count = draw(st.integers(0, 12))
    return [set(draw(st.lists(st.integers(0, i - 1)))) if i else set() for i in range(count)]


def _two(
    waits: Sequence[set[int]], work: Callable[[int], None], done: Callable[[int], None]
) -> None:
    run_apart(waits, work, done, 2)


@pytest.mark.parametrize("run", [run_here, pytest.param(_two, marks=apart)])
@examples(20)
@given(waits=orders())
def test_every_item_once_after_all_that_it_waits_for(run: Run, waits: list[set[int]]) -> None:
    """What is written is seen by those that wait for it, in whatever process they are."""
    depths = shared_array(len(waits), np.int64)
    finished: list[int] = []

    def work(item: int) -> None:
        depths[item] += 1 + max((int(depths[other]) for other in waits[item]), default=0)

    run(waits, work, finished.append)
    expected: list[int] = []
    for before in waits:
        expected.append(1 + max((expected[other] for other in before), default=0))
    assert expected == depths.tolist()
    assert sorted(finished) == list(range(len(waits)))
    assert all(waits[item] <= set(finished[:place]) for place, item in enumerate(finished))


@apart
def test_a_process_that_ends_is_an_error() -> None:
    """Killed, as when memory is short: nothing waits for it for ever."""

    def work(item: int) -> None:
        if item == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    finished: list[int] = []
    with pytest.raises(MorelloError, match="ended before its work was done"):
        run_apart([set(), {0}, {1}], work, finished.append, 2)
    assert [0] == finished


@apart
def test_what_another_thread_computes_does_not_stop_a_process() -> None:
    """A thread may be in a cached property when a process is forked, in which it is not."""
    inside, leave = threading.Event(), threading.Event()
    slow, other = Source("slow", "a\n"), Source("other", "a\nb\n")

    class Slow(str):
        def __iter__(self) -> Iterator[str]:
            inside.set()
            leave.wait()
            return iter("")

    object.__setattr__(slow, "text", Slow())
    thread = threading.Thread(target=lambda: slow.line_starts)
    thread.start()
    inside.wait()
    starts = shared_array(1, np.int64)

    def work(item: int) -> None:
        signal.alarm(5)  # it would wait for ever
        starts[item] = len(other.line_starts)
        signal.alarm(0)

    try:
        run_apart([set()], work, lambda _: None, 2)
    finally:
        leave.set()
        thread.join()
    assert starts.tolist() == [3]


@pytest.mark.parametrize("run", [run_here, pytest.param(_two, marks=apart)])
def test_what_work_raises_is_raised(run: Run) -> None:
    """With its own message, wherever it was raised."""

    def work(item: int) -> None:
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match=r"^item 0$"):
        run([set(), {0}], work, lambda _: None)


@apart
def test_no_process_is_left_behind() -> None:
    """Neither after the work, nor after an interrupt."""

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    run_apart([set(), set()], lambda _: None, lambda _: None, 2)
    with pytest.raises(KeyboardInterrupt):
        run_apart([set(), set()], lambda _: None, interrupt, 2)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
