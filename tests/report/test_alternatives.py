"""Why a Spec begins as it does: costs of what else it could begin with, and refusals."""

from __future__ import annotations

from math import fsum, isclose

import pytest

from morello.report.alternatives import Why
from morello.rewriting.enumeration import alternatives
from morello.search.results.refusals import refusals_at
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import nodes, plan_of, solved

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(5, 4, 3, threads=3)),
    ("tiny.buffered", elementwise("add", 5, 3, Z=(1, 0))),
    ("tiny.flat", copy(3, 5, X=(1, 0))),
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_every_beginning_costs_what_its_coefficients_add_up_to(name: str, wanted: Wanted) -> None:
    """For every Spec of a plan; the first is what was chosen."""
    solution = solved(name, wanted)
    for node in nodes(plan_of(name, wanted)):
        why = Why(solution, node.spec)
        first, *others = why.beginnings
        assert first.option == node.option
        assert all(first.cycles <= other.cycles for other in others)
        for beginning in why.beginnings:
            total = fsum(share.cycles for share in why.costs(beginning))
            assert isclose(beginning.cycles, total, rel_tol=1e-5, abs_tol=1e-9)


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_what_does_not_apply_is_refused(name: str, wanted: Wanted) -> None:
    """An alternative of the family either applies, with some tile size, or says why not."""
    solution = solved(name, wanted)
    for node in nodes(plan_of(name, wanted)):
        applies = {b.option.alternative.key for b in Why(solution, node.spec).beginnings}
        refused = {r.name.split(" for ")[0] for r in refusals_at(context(name), node.spec)}
        for alternative in alternatives(context(name), node.spec.family):
            if alternative.key not in applies and max(node.spec.sizes) > 1:
                assert alternative.key[1] in refused or alternative.children


def test_refusals_have_numbers() -> None:
    """Seven elements are four vectors, and there are three registers."""
    spec = elementwise("relu", 7).spec(context("tiny.flat").target)
    why = Why(solved("tiny.flat", elementwise("relu", 7)), spec)
    texts = [str(refusal) for refusal in why.refused]
    assert any("X takes 4 registers of reg, and 3 of 3 are free" in text for text in texts)
