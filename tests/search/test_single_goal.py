"""A search for one goal alone: the same programs from fewer Specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello.ir.layout import Layout
from morello.memo.memo import Memo
from morello.search.results.reconstruct import reconstruct
from morello.search.results.solution import Solution
from morello.search.search import search, solve_goal
from morello.search.solving.solve import NOTHING
from morello.search.tables.memo_backend import MemoBackend
from morello.search.tables.solved import Solved
from tests.search.goals import Wanted, batched, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import one_tree, solved

GOALS = (
    ("tiny.cached", matmul(5, 4, 6)),
    ("tiny.cached", matmul(6, 7, 5, B=(1, 0))),
    ("tiny.cached", matmul(3, 8, 7, threads=2, B=Layout((0, 1), 2))),
    ("tiny.cached", Wanted("matmul", (5, 6, 4), weights=("B",))),
    ("tiny.flat", batched(2, 3, 5, 4)),
    ("tiny.cached", elementwise("add", 7, 5)),
    ("x86.avx512", matmul(9, 20, 33)),
)


def _solutions(name: str, wanted: Wanted) -> tuple[Solution, Solution]:
    used = context(name)
    spec = wanted.spec(used.target)
    return search(used, spec, single_goal=True), solved(name, wanted)


def _named(found: Solved, part: tuple[Any, ...]) -> list[object]:
    """The options that were chosen in a part of a box."""
    options = [(option.name, option.parameters) for option in found.options]
    return [None if c == NOTHING else options[c] for c in found.choices[part].reshape(-1).tolist()]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "wanted"), GOALS, ids=str)
def test_what_is_left_is_solved_as_in_a_full_search(name: str, wanted: Wanted) -> None:
    """Costs and choices of every Spec; so all that they refer to is there, too."""
    single_goal, full = _solutions(name, wanted)
    for variant, found in single_goal.solved.items():
        other = full.solved[variant]
        pairs = list(zip(found.box.axes, other.box.axes, strict=True))
        assert all(set(own.tolist()) <= set(all_.tolist()) for own, all_ in pairs)
        part = np.ix_(*(np.searchsorted(all_, own) for own, all_ in pairs))
        np.testing.assert_array_equal(found.costs, other.costs[part])
        assert _named(found, (...,)) == _named(other, part)


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "wanted"), GOALS, ids=str)
def test_the_program_is_that_of_a_full_search(name: str, wanted: Wanted) -> None:
    """The same decisions, from fewer Specs."""
    single_goal, full = _solutions(name, wanted)
    spec = wanted.spec(context(name).target)
    own, other = (one_tree(reconstruct(found, spec), found) for found in (single_goal, full))
    assert own.render() == other.render()
    assert single_goal.cells < full.cells


@pytest.mark.parametrize("fill", [False, True])
def test_a_memo_searches_for_the_goal_alone_unless_it_is_filled(fill: bool) -> None:
    """Those who show a plan ask a second time, and are answered from what there is."""
    used = context("tiny.cached")
    spec = matmul(5, 4, 6).spec(used.target)
    memo = Memo(fill=fill)
    wanted: list[bool] = []

    def solve(*, memo: MemoBackend, single_goal: bool) -> Solution:
        wanted.append(single_goal)
        return solve_goal(used, spec, memo=memo, single_goal=single_goal)

    first, second = (memo.answers(used, spec, solve) for _ in range(2))
    assert first is second
    assert wanted == [not fill]
