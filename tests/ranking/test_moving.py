"""What moved a model is what it would not have said otherwise."""

from __future__ import annotations

import pytest

from morello.ranking.description import Description
from morello.ranking.graphs import PlanGraph
from morello.ranking.moving import moved
from morello.records import replace
from tests.ranking.test_model import stump
from tests.ranking.test_network import network


def test_a_feature_counts_by_what_is_expected_without_it() -> None:
    """A stump asks for one; the others are not told."""
    first, other = Description({"a": 2.0, "b": 1.0}), Description({"a": 3.0, "c": 1.0})
    [(name, by)] = moved(stump(0.4), first, other)
    assert name == "a"
    assert by == pytest.approx(0.6)
    assert moved(stump(0.4), other, first) == ()
    assert moved(stump(0.4), first, first) == ()


def test_parts_count_by_who_makes_them() -> None:
    """Both plans have parts by one rule: what counts is how these differ."""
    model = network()
    model = replace(model, parts=("a", "option:tile"))

    def plan(a: float, made: float) -> Description:
        parts = ({"a": 1.0}, {"a": a, "option:tile": made})
        return Description({}, PlanGraph(parts, (1.0, 1.0), (0.2, 0.8), ((0, 1),), (0.8,)))

    found = moved(model, plan(1.0, 1.0), plan(2.0, 1.0))
    assert [name for name, _ in found] == ["parts by tile"]
    expected = model.corrections([plan(1.0, 1.0), plan(2.0, 1.0)]).mean(axis=0)[1]
    assert found[0][1] == pytest.approx(expected)
    assert moved(model, plan(1.0, 1.0), plan(1.0, 1.0)) == ()
