"""The fit finds coefficients that made the cycles, and leaves what nothing speaks of."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.calibration.fitting import Measured, fit
from morello.errors import MorelloError
from tests.search.budget import examples

PRIOR = {"load": 1.0, "store": 2.0, "near.fetch": 0.5, "unused": 7.0}
TRUE = {"load": 0.6, "store": 3.0, "near.fetch": 0.0}


def _programs(count: int, noise: float = 0.0, seed: int = 0) -> list[Measured]:
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        counts = {name: float(rng.integers(0, 1000)) for name in TRUE}
        exact = sum(n * TRUE[name] for name, n in counts.items()) + 1
        found.append(Measured(str(number), counts, exact * (1 + noise * rng.standard_normal())))
    return found


def test_exact_cycles_give_the_coefficients_that_made_them() -> None:
    """Nearly: what a coefficient was before has a little weight."""
    found = fit(_programs(200), PRIOR)
    assert found.coefficients == pytest.approx(TRUE, rel=0.02, abs=0.02)
    assert "unused" not in found.coefficients
    assert found.rank_correlation > 0.999
    assert len(found.errors) == 200
    assert max(map(abs, found.errors)) < 0.05


def test_a_few_wild_measurements_do_not_bend_the_rest() -> None:
    """Something else ran while every tenth program was measured."""
    programs = _programs(100, noise=0.01)
    for number in range(0, 100, 10):
        one = programs[number]
        programs[number] = Measured(one.name, one.counts, one.cycles * 4)
    found = fit(programs, PRIOR)
    assert found.coefficients == pytest.approx(TRUE, rel=0.1, abs=0.1)
    assert np.median(np.abs(found.errors)) < 0.05


@examples(30)
@given(st.lists(st.floats(1, 1e9), min_size=2, max_size=12), st.integers(0, 100))
def test_coefficients_are_never_negative(cycles: list[float], seed: int) -> None:
    """Whatever was measured, costs stay costs."""
    programs = [
        Measured(one.name, one.counts, c)
        for one, c in zip(_programs(len(cycles), seed=seed), cycles, strict=True)
    ]
    assert min(fit(programs, PRIOR).coefficients.values()) >= 0


def test_errors_are_those_of_the_predictions() -> None:
    programs = _programs(30, noise=0.2)
    found = fit(programs, PRIOR)
    for one, error in zip(programs, found.errors, strict=True):
        predicted = sum(n * found.coefficients[name] for name, n in one.counts.items())
        assert error == pytest.approx(predicted / one.cycles - 1)


def test_without_the_library_there_is_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MorelloError, match="SciPy, which is not installed") as error:
        fit(_programs(3), PRIOR)
    assert "morello[calibrate]" in error.value.help


def test_programs_that_use_no_coefficient_fit_none() -> None:
    found = fit([Measured("one", {}, 10.0), Measured("two", {"free": 3.0}, 20.0)], {"free": 0.0})
    assert (found.coefficients, found.errors) == ({}, (-1.0, -1.0))
