"""Contests of programs: `morello.compile(..., measure=COUNT)`. How fast they are is not tested."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import morello
from morello.definitions import load_definitions
from morello.errors import MorelloError, UsageError
from morello.language.source import Source
from morello.memo.memo import Memo
from morello.runtime.racing import ROUNDS
from morello.toolchain import machine

from .kernels import SPECS, small_inputs, to_run

SIZES = {"M": 3, "K": 2, "N": 5}
PRODUCT: dict[str, Any] = {"defines": SIZES, "target": "x86.scalar"}
COUNT = 3


@pytest.fixture(scope="module")
def winner() -> morello.Kernel:
    """Of three programs, the fastest."""
    return to_run(morello.compile, SPECS["matmul"], measure=COUNT, **PRODUCT)


def test_rows_are_in_the_order_of_the_prediction(winner: morello.Kernel) -> None:
    """The first is what would have been chosen without measuring."""
    rows = winner.measurements
    assert [1, 2, 3] == [row.rank for row in rows]
    plain = morello.compile(SPECS["matmul"], **PRODUCT)
    assert () == plain.measurements
    assert plain.cost == rows[0].predicted_cycles
    assert plain.plan.summary() == rows[0].description
    assert all(a.predicted_cycles <= b.predicted_cycles * (1 + 1e-6) for a, b in pairwise(rows))
    for row in rows:
        lower, upper = row.quartiles
        assert 0 < row.seconds <= lower <= upper


def test_the_fastest_wins(winner: morello.Kernel) -> None:
    """Of those not given up, one is chosen; and it is the kernel that is returned."""
    (chosen,) = [row for row in winner.measurements if row.chosen]
    most = max(row.runs for row in winner.measurements)
    assert chosen.runs == most == sum(ROUNDS)
    assert min(row.seconds for row in winner.measurements if row.runs == most) == chosen.seconds
    assert (winner.cost, winner.plan.summary()) == (chosen.predicted_cycles, chosen.description)


def test_the_winner_computes(winner: morello.Kernel) -> None:
    a, b = small_inputs(winner)
    np.testing.assert_array_equal(winner(a, b), a @ b)


@pytest.mark.slow
def test_there_may_be_fewer_than_wanted() -> None:
    """A contest of all that there are: one element has few programs, each with its own text."""
    found = morello.compile(SPECS["relu"], defines={"N": 1}, target="x86.scalar", measure=50)
    assert 1 <= len(found.measurements) < 50


def test_cycles_need_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds times hertz where the clock is fixed; otherwise nothing is guessed."""
    for clock in (None, 2e9):
        monkeypatch.setattr("morello.runtime.autotune.fixed_clock", lambda clock=clock: clock)
        (row,) = morello.compile(SPECS["matmul"], measure=1, **PRODUCT).measurements
        assert row.measured_cycles == (None if clock is None else row.seconds * clock)
        assert row.chosen


def test_programs_are_taken_from_a_pool(winner: morello.Kernel) -> None:
    """The choice, and at most the one that was drawn; there are more that are cheap."""
    found = to_run(morello.compile, SPECS["matmul"], measure=COUNT, pool=1, **PRODUCT)
    assert len(found.measurements) < len(winner.measurements)
    first = found.measurements[0]
    assert first.description == winner.measurements[0].description
    a, b = small_inputs(found)
    np.testing.assert_array_equal(found(a, b), a @ b)


@pytest.mark.parametrize("options", [{"pool": 16}, {"measure": 2, "pool": 0}])
def test_a_pool_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"without measuring|cannot draw 0 plans"):
        morello.compile(SPECS["matmul"], **options, **PRODUCT)


@pytest.mark.parametrize("count", [0, -1])
def test_at_least_one_is_measured(count: int) -> None:
    with pytest.raises(UsageError, match=f"cannot measure {count} programs"):
        morello.compile(SPECS["matmul"], measure=count, **PRODUCT)


def test_without_a_compiler_nothing_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    memo = Memo()
    with pytest.raises(MorelloError, match="there is no program of that name"):
        morello.compile(SPECS["matmul"], measure=2, memo=memo, **PRODUCT)
    assert 0 == memo.solutions


def test_a_target_that_cannot_run_here_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is searched."""
    monkeypatch.setattr(machine, "listed_features", frozenset)
    monkeypatch.setattr(machine, "_answer", lambda *_: "lacks")
    memo = Memo()
    with pytest.raises(MorelloError, match="'product' cannot run on this machine"):
        morello.compile(SPECS["matmul"], defines=SIZES, target="x86.avx512", measure=2, memo=memo)
    assert 0 == memo.solutions


WRONG = """rule wrong
  "Forget the exponential."
  match f: exp
  yield copy(f.X, f.Y)
"""

EXPONENTIALS = "spec e(N = 64) { input x: f32[N] output c: f32[N] c = exp(x) }"


def test_a_wrong_program_is_named_and_not_chosen() -> None:
    """It is the cheapest, since it computes nothing."""
    definitions = load_definitions([Source("wrong.mrules", WRONG)])
    with pytest.raises(MorelloError, match="program 1 of 2 is wrong: c ") as error:
        morello.compile(EXPONENTIALS, target=PRODUCT["target"], measure=2, definitions=definitions)
    assert "It is: " in str(error.value)
    assert "check --execute" in error.value.help
