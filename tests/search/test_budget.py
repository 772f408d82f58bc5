"""Budgets: how they are written, what they allow, and that a search stays within them."""

from __future__ import annotations

from functools import cache
from math import inf, log2, prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.errors import MorelloError, UsageError
from morello.ir.dtypes import F32
from morello.ir.spec import Family
from morello.ir.target import Target
from morello.records import replace
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.search import search as search_module
from morello.search.planning import budget as budget_module
from morello.search.planning import families as families_module
from morello.search.planning import within_budget
from morello.search.planning.budget import (
    BYTES_A_FAMILY,
    BYTES_A_SPEC,
    PLANS,
    SECONDS_A_FAMILY,
    SPECS_A_FAMILY,
    SPECS_A_SECOND,
    Budget,
)
from morello.search.planning.coarsening import coarser
from morello.search.planning.demand import Task, plan_tasks
from morello.search.planning.families import FamilyGraph, discover
from morello.search.planning.unimplemented import NoImplementationError
from morello.search.planning.within_budget import FAR_TOO_MANY, plan_within
from morello.search.results.reconstruct import reconstruct
from morello.search.results.solution import Solution
from morello.search.search import Progress, search
from morello.search.tables.memo_backend import NullMemo
from tests.search.budget import examples
from tests.search.goals import Wanted, batched, copy, elementwise, matmul
from tests.search.machines import FLAT, context, load_target, with_capacities
from tests.search.solved import one_tree

pytestmark = pytest.mark.usefixtures("kept_to_the_letter")

PLENTY = 1 << 40


@cache
def _fine(name: str = "tiny.cached") -> Context:
    """A tiny machine with many tile sizes and capacity units, so that there is much to drop."""
    known = context(name)
    bounded = {v.name: 16 for v in known.target.bounded if v.addressable}
    target = with_capacities(known.target, bounded)
    return replace(known, target=replace(target, sizes=(1, 2, 3, 4, 6)))


# ------------------------------------------------------------------------- how it is written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2e6 specs", Budget(specs=2_000_000)),
        ("1.5 specs", Budget(specs=2)),
        ("7cells", Budget(specs=7)),
        ("10 s", Budget(seconds=10)),
        (" 0.5 seconds ", Budget(seconds=0.5)),
        ("3 KiB", Budget(bytes=3 << 10)),
        ("500 MiB", Budget(bytes=500 << 20)),
        ("1.5 GiB", Budget(bytes=3 << 29)),
    ],
)
def test_a_budget_is_a_number_with_a_unit(text: str, expected: Budget) -> None:
    assert expected == Budget.parse(text)


@pytest.mark.parametrize("text", ["", "10", "s", "10 minutes", "-1 s", "1 S", "1 s 2 s", "nan s"])
def test_another_form_is_refused_with_the_units(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no budget: .* specs, cells, s, sec") as error:
        Budget.parse(text)
    assert "'10 s'" in error.value.help


@pytest.mark.parametrize(("text", "bound"), [("0 s", "more than 0"), ("1e30 GiB", "at most 1e")])
def test_a_budget_that_makes_no_sense_is_refused(text: str, bound: str) -> None:
    with pytest.raises(UsageError, match=bound):
        Budget.parse(text)


def test_seconds_and_bytes_are_converted_at_fixed_rates() -> None:
    assert Budget(specs=5).limit(100) == 5
    assert Budget(seconds=1 + 10 * SECONDS_A_FAMILY).limit(10) == pytest.approx(SPECS_A_SECOND)
    assert Budget(bytes=10 * BYTES_A_FAMILY + 7 * BYTES_A_SPEC).limit(10) == 7
    assert Budget(bytes=10 * BYTES_A_FAMILY + 7 * BYTES_A_SPEC, specs=3).limit(10) == 3
    assert Budget(seconds=SECONDS_A_FAMILY).limit(2) == 0
    assert Budget().limit(1000) is None


def test_specs_that_coarser_plans_would_take_may_be_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a budget makes no search slower than it is without one."""
    monkeypatch.setattr(budget_module, "PLANS", PLANS)
    assert Budget(specs=3).limit(10, finest=True) == PLANS * 10 * SPECS_A_FAMILY
    assert Budget(specs=10**9).limit(10, finest=True) == 10**9
    used, goal = _fine(), GOALS[0]
    planned = plan_within(
        used, goal.spec(used.target), Budget(specs=1), PLENTY, lambda _: None, NullMemo(), False
    )
    assert planned.coarsening is None
    assert planned.specs > 1


def test_seconds_that_a_coarser_plan_would_take_may_be_spent_on_specs() -> None:
    """So a budget makes no search slower than it is without one."""
    planning = 10 * SECONDS_A_FAMILY
    for seconds, allowed in ((planning / 2, planning), (planning, planning), (1.0, 1.0)):
        budget = Budget(seconds=planning + seconds)
        specs = int(allowed * SPECS_A_SECOND)
        assert budget.limit(10, finest=True) == pytest.approx(specs, abs=1)
    assert Budget(seconds=planning).limit(10, finest=True) == 0
    assert Budget(seconds=planning + planning / 2, specs=3).limit(10, finest=True) == 3
    assert Budget(specs=3).limit(10, finest=True) == 3


def test_several_searches_share_a_budget() -> None:
    """In equal parts; what would be enough is enough for all of them."""
    assert Budget(specs=7, searches=2).limit(100) == 3
    assert Budget(bytes=2 * (BYTES_A_FAMILY + 7 * BYTES_A_SPEC), searches=2).limit(1) == 7
    seconds = Budget(seconds=3 + 3 * SECONDS_A_FAMILY, searches=3)
    assert seconds.limit(1) == pytest.approx(SPECS_A_SECOND)
    assert Budget(specs=1, searches=3).enough(2, 5) == "15 specs"
    assert str(Budget(specs=7, searches=2)) == "7 Specs for 2 searches"
    assert Budget(searches=2).limit(1000) is None


@examples(100)
@given(
    kind=st.sampled_from(["1 specs", "1 s", "1 MiB"]),
    families=st.integers(1, 10**5),
    specs=st.integers(1, 10**10),
)
def test_what_is_said_to_be_enough_is_enough(kind: str, families: int, specs: int) -> None:
    enough = Budget.parse(Budget.parse(kind).enough(families, specs))
    limit = enough.limit(families)
    assert limit is not None
    assert limit >= specs


# ------------------------------------------------------------------------- within it

GOALS = (matmul(5, 3, 4), elementwise("add", 7, 3), copy(9, 7, X=(1, 0)))


def _specs(used: Context, goal: Wanted, budget: Budget) -> int:
    spec = goal.spec(used.target)
    return plan_within(used, spec, budget, PLENTY, lambda _: None, NullMemo(), False).specs


@cache
def _ladder(name: str, goal: Wanted) -> list[tuple[Target, int]]:
    """The target and all coarser ones, with their numbers of Specs."""
    used = _fine(name)
    ladder = (used.target, *coarser(used.target, [F32]))
    return [(t, _specs(replace(used, target=t), goal, Budget())) for t in ladder]


@examples(3)
@given(goal=st.sampled_from(GOALS), share=st.floats(0, 1))
def test_a_budget_is_kept_and_used(goal: Wanted, share: float) -> None:
    """It is never exceeded, and any finer target would exceed it."""
    used, ladder = _fine(), _ladder("tiny.cached", goal)
    counts = [count for _, count in ladder]
    assert sorted(counts, reverse=True) == counts
    budget = Budget(specs=int(counts[-1] + share * (counts[0] - counts[-1])))
    planned = plan_within(
        used, goal.spec(used.target), budget, PLENTY, lambda _: None, NullMemo(), False
    )
    finest = next(target for target, n in ladder if n <= (budget.specs or 0))
    assert finest == planned.context.target
    assert (finest != used.target) == (planned.coarsening is not None)


@pytest.mark.sample(1)
@pytest.mark.parametrize("goal", GOALS, ids=str)
def test_few_targets_are_planned_for_a_budget(
    goal: Wanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To plan one takes as long as a small search; at the very edge there may be one more."""
    used, ladder = _fine(), _ladder("tiny.cached", goal)
    planned: list[Target] = []

    def counted(context: Context, *others: Any) -> list[Task]:
        planned.append(context.target)
        return plan_tasks(context, *others)

    monkeypatch.setattr(within_budget, "plan_tasks", counted)
    for _, count in ladder[1:]:
        _specs(used, goal, Budget(specs=count))
    assert len(planned) / len(ladder[1:]) <= 3 + log2(len(ladder))


def test_what_families_alone_exceed_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as many for coarser targets, which need not be looked at."""
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    graphs: list[FamilyGraph] = []

    def counted(context: Context, family: Family, limit: int | None) -> FamilyGraph:
        graphs.append(discover(context, family, limit))
        return graphs[-1]

    monkeypatch.setattr(within_budget, "discover", counted)
    seconds = SECONDS_A_FAMILY * (len(discover(used, spec.family).nodes) - 1)
    with pytest.raises(MorelloError, match=r"^the budget of .* allows 0 Specs in") as error:
        search(used, spec, budget=Budget(seconds=seconds))
    assert len(graphs) == 1
    least = len(graphs[0].nodes) * SECONDS_A_FAMILY
    assert f"allow more than {least:.2f}"[:-1] in error.value.help


def test_the_rest_of_far_too_many_families_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    asked: list[Family] = []

    def counted(context: Context, family: Family) -> tuple[Alternative, ...]:
        asked.append(family)
        return alternatives(context, family)

    monkeypatch.setattr(families_module, "alternatives", counted)
    discover(used, spec.family)
    every = len(asked)
    asked.clear()
    with pytest.raises(MorelloError, match=rf"in more than {FAR_TOO_MANY} families$") as error:
        search(used, spec, budget=Budget(seconds=SECONDS_A_FAMILY))
    assert len(asked) < every
    assert error.value.help.startswith("allow more than ")


@cache
def _full() -> Solution:
    """The tables of the first goal, without a budget."""
    used = _fine()
    return search(used, GOALS[0].spec(used.target))


def _least(solution: Solution, goal: Wanted) -> float:
    spec = goal.spec(solution.context.target)
    return reconstruct(solution, spec).cycles


@pytest.mark.sample(2)
@pytest.mark.parametrize("goal", GOALS, ids=str)
@pytest.mark.parametrize("name", ["tiny.cached", "tiny.buffered"])
def test_a_coarser_search_never_finds_a_cheaper_program(name: str, goal: Wanted) -> None:
    """On the whole ladder, every step against the one before."""
    used = _fine(name)
    before = 0.0
    for target in [used.target, *coarser(used.target, [F32])]:
        at = replace(used, target=target)
        try:
            now = _least(search(at, goal.spec(target)), goal)
        except NoImplementationError:
            now = inf
        assert now >= before * (1 - 1e-6)
        before = now
    assert before < inf


def test_the_same_budget_gives_the_same_program() -> None:
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    budget = Budget(specs=_full().cells // 2)
    first, second = (search(used, spec, budget=budget) for _ in range(2))
    assert first.coarsening == second.coarsening
    assert first.coarsening is not None
    plans = [one_tree(reconstruct(s, spec), s).to_json() for s in (first, second)]
    assert plans[0] == plans[1]


def test_seconds_are_not_saved_by_another_plan_that_takes_more() -> None:
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    families = len(discover(used, spec.family).nodes)
    half = _full().cells / 2
    seconds = families * SECONDS_A_FAMILY + half / SPECS_A_SECOND
    assert search(used, spec, budget=Budget(seconds=seconds)).coarsening is None


def test_a_solution_says_what_became_coarser() -> None:
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    full = _full()
    assert full.coarsening is None
    solution = search(used, spec, budget=Budget(specs=full.cells - 1))
    assert solution.coarsening is not None
    assert str(solution.coarsening).startswith(
        f"coarsened to stay within the budget of {full.cells - 1:,} Specs: near in 8 units"
    )
    assert solution.context.target != used.target
    assert solution.cells < full.cells


def test_memory_is_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little is free, the search is coarser by itself, and says why."""
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    full = _full()
    families = len(discover(used, spec.family).nodes)
    little = families * BYTES_A_FAMILY + (full.cells - 1) * BYTES_A_SPEC
    monkeypatch.setattr(search_module, "memory_budget", lambda: little)
    solution = search(used, spec)
    assert solution.cells < full.cells
    assert solution.coarsening is not None
    assert "the memory that is free" in solution.coarsening.limit


def test_what_is_impossible_is_refused_with_its_numbers() -> None:
    """And with a budget that would do: it does."""
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    with pytest.raises(MorelloError, match=r"^the budget of 10 Specs allows 10 Specs in") as error:
        search(used, spec, budget=Budget(specs=10))
    enough = error.value.help.removeprefix("allow ").partition(" or more")[0]
    solution = search(used, spec, budget=Budget.parse(enough))
    assert str(error.value).endswith(f"the coarsest search has {solution.cells:,}")
    assert solution.cells == Budget.parse(enough).specs


def test_what_exceeds_all_memory_is_refused_with_advice() -> None:
    used, goal = _fine(), GOALS[0]
    spec = goal.spec(used.target)
    memory = len(discover(used, spec.family).nodes) * BYTES_A_FAMILY
    with pytest.raises(MorelloError, match=r"the memory that is .* more than 0$") as error:
        plan_within(used, spec, Budget(), memory, lambda _: None, NullMemo(), False)
    assert "make the sizes smaller" in error.value.help


def test_what_has_no_program_when_coarse_may_have_one() -> None:
    """A kernel for rows of six only: the refusal says that the budget may be to blame."""
    text = FLAT.replace("cost   ceil_div(n, 2) * arithmetic(f)", "where n == 6 cost arithmetic(f)")
    target = load_target(text.replace("sizes 1, 2", "sizes 1, 2, 6"))
    kernels = tuple(k for k in target.kernels if k.name != "element")
    target = with_capacities(replace(target, kernels=kernels), {"reg": 6})
    used = replace(context("tiny.flat"), target=target)
    goal = elementwise("relu", 12)
    assert search(used, goal.spec(used.target)).coarsening is None
    least = _specs(replace(used, target=list(coarser(used.target, [F32]))[-1]), goal, Budget())
    with pytest.raises(NoImplementationError) as error:
        search(used, goal.spec(used.target), budget=Budget(specs=least))
    assert "or allow more: this search was coarsened" in error.value.help


def test_the_numbers_are_said_before_the_search() -> None:
    used, goal = _fine(), GOALS[0]
    seen: list[Progress] = []
    solution = search(used, goal.spec(used.target), progress=seen.append)
    phases = list(dict.fromkeys(p.phase for p in seen))
    assert ["finding families", "planning", "searching"] == phases
    first = next(p for p in seen if p.phase == "searching")
    assert (0, solution.cells, solution.families) == (
        first.done_cells,
        first.total_cells,
        first.families,
    )


LARGE = (matmul(4096, 4096, 4096), matmul(4093, 4093, 4093), matmul(1, 16384, 16384))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "goal", [*LARGE, pytest.param(batched(8, 512, 512, 512), marks=pytest.mark.slow)], ids=str
)
def test_large_goals_have_a_plan_within_a_small_budget(goal: Wanted) -> None:
    used, budget = context("x86.scalar"), Budget(specs=100_000)
    spec = goal.spec(used.target)
    solution = search(used, spec, budget=budget)
    plan = reconstruct(solution, spec)
    assert solution.cells <= 100_000
    assert prod(goal.sizes) < plan.cycles < inf
