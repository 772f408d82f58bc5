"""What is measured next follows from what was measured: kinds that are slow are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from morello.ranking.description import Description
from morello.ranking.guide import Guide
from tests.ranking.test_model import stump


def described(kinds: list[float]) -> list[Description]:
    return [Description({"a": kind, "one": 1.0} if kind else {"one": 1.0}) for kind in kinds]


KINDS = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
PREDICTED = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]


def test_the_search_s_choice_is_first() -> None:
    """Then what promises most: not what is like it."""
    order = Guide(PREDICTED, described(KINDS), None).order({})
    assert sorted(order) == list(range(6))
    assert order[:2] == [0, 3]


@pytest.mark.parametrize(("slow", "wanted"), [(1.3, {1, 2}), (0.7, {4, 5})])
def test_programs_that_are_alike_are_off_alike(slow: float, wanted: set[int]) -> None:
    """Seconds or cycles: only how they compare counts."""
    guide = Guide(PREDICTED, described(KINDS), None)
    for unit in (1e-6, 1.0):
        order = guide.order({0: 100 * unit, 3: 103 * slow * unit})
        assert len(order) == 4
        assert set(order[:2]) == wanted


def test_a_model_is_believed_until_it_is_measured() -> None:
    """It says that one kind is faster; two measurements say that it is not."""
    model = stump(-0.3)
    guide = Guide(PREDICTED, described(KINDS), model)
    assert guide.order({})[:2] == [0, 3]
    assert guide.order({0: 100.0})[0] == 3
    assert set(guide.order({0: 100.0, 3: 150.0})[:2]) == {1, 2}


def test_a_pool_of_equal_plans_has_an_order() -> None:
    """Nothing tells them apart but what is predicted."""
    guide = Guide(PREDICTED, described([0.0] * 6), None)
    assert guide.order({0: 100.0}) == [1, 2, 3, 4, 5]
    assert Guide([100.0], described([1.0]), None).order({}) == [0]
    assert Guide([100.0], described([1.0]), None).order({0: 3.0}) == []


def test_it_finds_what_is_fast_sooner_than_the_predictions() -> None:
    """Of pools in which a feature makes programs slower or faster by up to 2."""
    random = np.random.default_rng(3)
    guided, blind = [], []
    for _ in range(40):
        features = random.normal(size=(40, 3))
        predicted = np.sort(100 * np.exp(0.1 * random.random(40)))
        times = predicted * np.exp(0.2 * features @ random.normal(size=3))
        told = [Description(dict(zip("abc", row, strict=True))) for row in features.tolist()]
        guide = Guide(predicted.tolist(), told, None)
        measured: dict[int, float] = {}
        for count in (4, 2, 2):
            measured |= {place: times[place] for place in guide.order(measured)[:count]}
        guided.append(min(measured.values()) / times.min())
        blind.append(times[:8].min() / times.min())
    assert np.mean(guided) - 1 < (np.mean(blind) - 1) / 3
