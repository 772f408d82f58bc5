"""Families are solved after all that they wait for, and a failure ends it."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.search.schedule import run
from tests.search.budget import examples


@st.composite
def orders(draw: st.DrawFn) -> dict[int, set[int]]:
    """Items that wait for smaller ones."""
    count = draw(st.integers(0, 12))
    return {i: set(draw(st.lists(st.integers(0, i - 1)))) if i else set() for i in range(count)}


@examples(50)
@given(orders(), st.integers(1, 4))
def test_every_item_once_after_all_that_it_waits_for(
    items: dict[int, set[int]], workers: int
) -> None:
    done: list[int] = []
    lock = threading.Lock()

    def work(item: int) -> None:
        with lock:
            assert items[item] <= set(done)
            done.append(item)

    run(items, work, workers)
    assert sorted(done) == sorted(items)


def test_a_failure_ends_it() -> None:
    """It is what the caller sees, and what waits for it is not begun."""
    begun = []

    def work(item: str) -> None:
        begun.append(item)
        if item == "b":
            raise ValueError(item)

    with pytest.raises(ValueError, match="b"):
        run({"a": set(), "b": {"a"}, "c": {"b"}}, work, 2)
    assert begun == ["a", "b"]
