"""The memo: what it answers, what it forgets, and what it is asked by several threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

import morello
from morello.definitions import Definitions
from morello.errors import UsageError
from morello.ir.spec import Spec
from morello.memo.memo import Memo, Search
from morello.memo.place import VARIABLE
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.results.solution import Solution
from morello.search.search import search, solve_goal
from tests.search.goals import Wanted, elementwise, matmul
from tests.search.machines import FLAT, context, load_target
from tests.search.solved import solved

NAME = "tiny.flat"
RELU, ADD = elementwise("relu", 7), elementwise("add", 3, 2)


def _spec(goal: Wanted) -> Spec:
    return goal.spec(context(NAME).target)


class _Searches:
    """Counts searches."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, goal: Wanted) -> Search:
        def solve(**_: object) -> Solution:
            self.count += 1
            return solved(NAME, goal)

        return solve


def test_the_same_goal_is_searched_once() -> None:
    memo, searches = Memo(), _Searches()
    found = [
        memo.solution(context(NAME), _spec(goal), searches.of(goal)) for goal in (RELU, ADD, RELU)
    ]
    assert found[0] is found[2]
    assert (2, 2) == (searches.count, memo.solutions)


def test_what_is_below_a_goal_is_answered_too() -> None:
    """A size that is a tile or a remainder of a larger goal; others are not covered."""
    memo, searches = Memo(), _Searches()
    large = memo.solution(context(NAME), _spec(RELU), searches.of(RELU))
    for size in (1, 2):
        small = elementwise("relu", size)
        assert large is memo.solution(context(NAME), _spec(small), searches.of(small))
    assert 1 == searches.count
    other = elementwise("relu", 5)
    assert not large.covers(_spec(other))
    memo.solution(context(NAME), _spec(other), searches.of(other))
    assert 2 == searches.count


def test_another_operator_or_layout_is_not_covered() -> None:
    large = solved(NAME, matmul(5, 3, 4))
    assert large.covers(_spec(matmul(2, 1, 4)))
    assert not large.covers(_spec(matmul(2, 3, 4, B=(1, 0))))
    assert not large.covers(_spec(matmul(2, 3, 4, "s32")))
    assert not large.covers(_spec(RELU))


def test_other_definitions_are_never_answered_from() -> None:
    """Another target, other rules or other operators: the tables mean something else."""
    memo, searches = Memo(), _Searches()
    known = context(NAME)
    memo.solution(known, _spec(RELU), searches.of(RELU))
    others: list[Context] = [
        replace(known, target=replace(known.target, doc="another")),
        replace(known, rules=tuple(reversed(known.rules))),
        replace(known, operators=dict(known.operators)),
    ]
    for number, other in enumerate(others, start=2):
        memo.solution(other, _spec(RELU), searches.of(RELU))
        assert number == searches.count


def test_the_least_recently_used_is_forgotten_first() -> None:
    """By bytes of tables: room for two of three."""
    goals = [elementwise("relu", 7), elementwise("relu", 11), elementwise("relu", 13)]
    sizes = [solved(NAME, goal).bytes for goal in goals]
    memo, searches = Memo(budget=sum(sizes) - 1), _Searches()
    for goal in (goals[0], goals[1], goals[0], goals[2]):  # the second is the oldest in use
        memo.solution(context(NAME), _spec(goal), searches.of(goal))
    assert (3, 2) == (searches.count, memo.solutions)
    memo.solution(context(NAME), _spec(goals[0]), searches.of(goals[0]))
    assert 3 == searches.count
    memo.solution(context(NAME), _spec(goals[1]), searches.of(goals[1]))
    assert 4 == searches.count


def test_what_exceeds_the_budget_is_answered_but_not_kept() -> None:
    memo, searches = Memo(budget=solved(NAME, RELU).bytes - 1), _Searches()
    found = memo.solution(context(NAME), _spec(RELU), searches.of(RELU))
    assert found.covers(_spec(RELU))
    assert (1, 0) == (searches.count, memo.solutions)


@pytest.mark.parametrize("ask", [Memo.answers, Memo.solution])
def test_of_several_threads_one_searches(ask: Callable[..., Solution]) -> None:
    """Each plans with all the memory that there is; the others find what it has found."""
    memo, ready = Memo(), threading.Barrier(4, timeout=60)
    known = context(NAME)  # made once, or definitions would differ
    searching: list[Wanted] = []
    most = 0

    def solve(goal: Wanted) -> Solution:
        def slow(**_: object) -> Solution:
            nonlocal most
            searching.append(goal)
            most = max(most, len(searching) - memo.solutions)
            time.sleep(0.02)
            return solved(NAME, goal)

        ready.wait()
        return ask(memo, known, _spec(goal), slow)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(solve, (RELU, ADD, RELU, ADD)))
    assert found[0] is found[2]
    assert found[1] is found[3]
    assert sorted([RELU, ADD], key=str) == sorted(searching, key=str)
    assert 1 == most


@pytest.mark.parametrize("ask", [Memo.answers, Memo.solution])
def test_what_is_known_waits_for_no_search(ask: Callable[..., Solution]) -> None:
    """Of whatever goal another thread searches, in whatever memo."""
    memo, searching, answered = Memo(), threading.Event(), threading.Event()
    known = memo.solution(context(NAME), _spec(RELU), lambda **_: solved(NAME, RELU))

    def slow(**_: object) -> Solution:
        searching.set()
        assert answered.wait(timeout=60)
        return solved(NAME, ADD)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(ask, memo, context(NAME), _spec(ADD), slow)
        assert searching.wait(timeout=60)
        assert known is ask(memo, context(NAME), _spec(RELU), slow)
        answered.set()
        assert other.result().covers(_spec(ADD))


def test_many_threads_find_the_same() -> None:
    memo = Memo(budget=3 * solved(NAME, RELU).bytes)
    goals = [elementwise("relu", size) for size in (3, 5, 7, 11)] * 8

    def ask(goal: Wanted) -> bool:
        found = memo.solution(context(NAME), _spec(goal), lambda **_: solved(NAME, goal))
        expected = solved(NAME, goal).intensity(_spec(goal))
        return found.intensity(_spec(goal)) == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, goals))


def test_a_failed_search_leaves_nothing_behind() -> None:
    memo = Memo()
    without_kernels = replace(context(NAME), target=replace(context(NAME).target, kernels=()))
    spec = RELU.spec(without_kernels.target)
    for _ in range(2):
        with pytest.raises(NoImplementationError):
            memo.solution(without_kernels, spec, lambda **_: search(without_kernels, spec))
    assert 0 == memo.solutions


def test_a_goal_below_another_that_nothing_implements_is_refused() -> None:
    """Vectors of two only: four elements can be done, one cannot, and that is known."""
    text = FLAT.replace("cost   ceil_div(n, 2) * arithmetic(f)", "where n == 2 cost arithmetic(f)")
    known = replace(context(NAME), target=load_target(text))
    kernels = tuple(k for k in known.target.kernels if k.name != "element")
    known = replace(known, target=replace(known.target, kernels=kernels))
    memo, four, one = Memo(), elementwise("relu", 4), elementwise("relu", 1)
    spec = four.spec(known.target)
    large = memo.solution(known, spec, lambda **_: search(known, spec))
    assert large.covers(one.spec(known.target))
    with pytest.raises(NoImplementationError, match="'n == 2' does not hold"):
        memo.solution(known, one.spec(known.target), lambda **_: large)


def test_a_memo_in_a_file_is_closed_at_the_end(tmp_path: Path) -> None:
    """Another one finds what it kept; a search with neither is a search of its own."""
    path, seen = tmp_path / "memo.sqlite", _Searches()
    known, spec = context(NAME), _spec(RELU)
    with Memo.open(path, warn=pytest.fail) as memo:
        memo.answers(known, spec, partial(solve_goal, known, spec))
        assert memo.store is not None
    assert memo.store.path is None
    with Memo.open(str(path), warn=pytest.fail) as memo:
        found = memo.answers(known, spec, seen.of(RELU))
        assert found.intensity(spec) == solved(NAME, RELU).intensity(spec)
    assert 0 == seen.count


def test_a_memo_without_a_path_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment says which, or that there is none; a path counts more."""
    with Memo.open() as memo:
        assert memo.store is None
    with Memo.open(tmp_path / "named.sqlite") as memo:
        assert memo.store is not None
    monkeypatch.setenv(VARIABLE, str(tmp_path / "users.sqlite"))
    with Memo.open() as memo:
        assert memo.store is not None
        assert tmp_path / "users.sqlite" == memo.store.path


def test_what_is_wrong_with_a_file_is_a_warning(tmp_path: Path) -> None:
    """By default one of Python's; what is no memo at all is an error, as it was named."""
    path = tmp_path / "memo.sqlite"
    Memo.open(path).close()
    path.write_bytes(path.read_bytes()[:4097])
    with pytest.warns(RuntimeWarning, match="was damaged"):
        Memo.open(path).close()
    path.write_text("notes " * 99)
    with pytest.raises(UsageError, match="is not a memo"):
        Memo.open(path)


TEXT = """target {target}
spec product(M, K, N) {{
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}}
"""


def test_a_memo_that_knows_more_changes_nothing(definitions: Definitions) -> None:
    """A goal below a larger one, one of whose tensors exceeds a page: the same plan, the same C."""
    text = TEXT.format(target="x86.avx512")
    memo = Memo(fill=True)
    large = {"M": 33, "K": 35, "N": 40}
    morello.compile(text, defines=large, memo=memo, definitions=definitions)
    for small in ({"M": 33, "K": 1, "N": 16}, {"M": 8, "K": 3, "N": 24}):
        known = morello.compile(text, defines=small, memo=memo, definitions=definitions)
        fresh = morello.compile(text, defines=small, memo=Memo(), definitions=definitions)
        assert fresh.plan.to_json() == known.plan.to_json()
        assert fresh.source == known.source
        assert fresh.header == known.header
    assert 1 == memo.solutions


def test_what_one_memo_has_is_added_to_another(tmp_path: Path) -> None:
    text = "target x86.scalar spec f() { input x: f32[6] output y: f32[6] y = relu(x) }"
    with Memo.open(tmp_path / "one.sqlite") as one:
        morello.compile(text, memo=one)
        pages = one.export(tmp_path / "shipped.sqlite")
        with pytest.raises(UsageError, match="exists"):
            one.export(tmp_path / "shipped.sqlite")
    with Memo.open(tmp_path / "two.sqlite") as two:
        assert two.add(tmp_path / "shipped.sqlite").copied == pages > 0
        assert morello.compile(text, memo=two).statistics.from_memo
    for use in (Memo().export, Memo().add):
        with pytest.raises(UsageError, match="this memo has no file"):
            use(tmp_path / "other.sqlite")
