"""A batch is a loop over the program for one element, and costs a search no more than that."""

from __future__ import annotations

from math import prod

import pytest

from morello.ir.spec import Spec
from morello.records import replace
from morello.search.results.solution import Solution
from morello.search.search import search
from tests.search.goals import Wanted
from tests.search.machines import context

PRODUCT = Wanted("matmul", (3, 5, 4))


def _searched(name: str, wanted: Wanted) -> Solution:
    known = context(name)
    return search(known, wanted.spec(known.target), single_goal=True)


@pytest.mark.parametrize("name", ["tiny.cached", "tiny.flat"])
@pytest.mark.parametrize("batch", [(1,), (4,), (2, 3)], ids=str)
def test_it_costs_as_much_as_its_elements_and_the_loops(name: str, batch: tuple[int, ...]) -> None:
    """And a Spec more for each of its dimensions."""
    wanted = replace(PRODUCT, sizes=(*batch, *PRODUCT.sizes), rank=len(batch))
    one, many = _searched(name, PRODUCT), _searched(name, wanted)
    target = context(name).target
    cost = _cost(one, PRODUCT.spec(target))
    for count in reversed(batch):
        cost = count * (cost + target.coefficients["loop_step"].value)
    assert _cost(many, wanted.spec(target)) == pytest.approx(cost, rel=1e-6)
    assert many.cells == one.cells + len(batch)


def _cost(found: Solution, spec: Spec) -> float:
    return found.intensity(spec) * prod(spec.sizes)
