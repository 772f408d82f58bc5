"""Items are done after all that they wait for, here or in threads; failures are said."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.search.solving.workers import run_in_order
from tests.search.budget import examples

WORKERS = pytest.mark.parametrize("workers", [1, 2, 5])


@st.composite
def orders(draw: st.DrawFn) -> list[set[int]]:
    """Items that wait for smaller ones."""
    count = draw(st.integers(0, 12))
    return [set(draw(st.lists(st.integers(0, i - 1)))) if i else set() for i in range(count)]


@WORKERS
@examples(20)
@given(waits=orders())
def test_every_item_once_after_all_that_it_waits_for(workers: int, waits: list[set[int]]) -> None:
    """What is written is seen by those that wait for it, in whatever thread they are."""
    depths = [0] * len(waits)
    finished: list[int] = []

    def work(item: int) -> None:
        depths[item] += 1 + max((depths[other] for other in waits[item]), default=0)

    run_in_order(waits, work, finished.append, workers)
    expected: list[int] = []
    for before in waits:
        expected.append(1 + max((expected[other] for other in before), default=0))
    assert expected == depths
    assert sorted(finished) == list(range(len(waits)))
    assert all(waits[item] <= set(finished[:place]) for place, item in enumerate(finished))


def test_items_that_wait_for_nothing_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=30)

    def work(_: int) -> None:
        both.wait()

    run_in_order([set(), set()], work, lambda _: None, 2)


@WORKERS
def test_what_work_raises_is_raised(workers: int) -> None:
    """With its own message, wherever it was raised; what waits for it is not begun."""
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match=r"^item 0$"):
        run_in_order([set(), {0}], work, lambda _: None, workers)
    assert begun == [0]


def test_no_thread_is_left_behind() -> None:
    """Neither after the work, nor after an interrupt."""

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    run_in_order([set(), set()], lambda _: None, lambda _: None, 2)
    with pytest.raises(KeyboardInterrupt):
        run_in_order([set(), set()], lambda _: None, interrupt, 2)
    assert threading.active_count() == before
