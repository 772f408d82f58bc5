"""A box and a single Spec: the same code, and the same value to the last bit."""

from __future__ import annotations

from math import inf, isclose
from random import Random

import pytest

from morello.ir.spec import Spec
from morello.search.results.reconstruct import candidates, reconstruct
from morello.search.results.solution import Solution
from tests.search.goals import Wanted, batched, copy, elementwise, matmul
from tests.search.solved import cell, nodes, plan_of, solved, volume

CASES: tuple[tuple[str, Wanted], ...] = (
    ("tiny.cached", matmul(5, 4, 3, threads=3)),
    ("tiny.buffered", batched(2, 1, 7, 4)),
    ("tiny.flat", matmul(5, 7, 9, A=(1, 0))),
    ("tiny.flat", elementwise("add", 4, 9, Z=(1, 0))),
    ("x86.scalar", copy(17, 9, 4, X=(2, 0, 1))),
    ("x86.avx2", matmul(13, 33, 7, "s32")),
    ("x86.avx512", matmul(17, 41, 12)),
)
IDS = [f"{name} {wanted}" for name, wanted in CASES]
SAMPLES = 40


def _samples(solution: Solution) -> list[Spec]:
    """Specs of variants drawn at random, every one as likely as another."""
    random = Random(0)
    variants = sorted(solution.boxes, key=lambda v: v.key)
    found = []
    for _ in range(SAMPLES):
        variant = random.choice(variants)
        box = solution.boxes[variant]
        ranks = tuple(random.randrange(length) for length in box.shape)
        found.append(cell(solution.context.target, variant, box, ranks))
    return found


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_the_best_candidate_has_the_value_of_the_table(name: str, wanted: Wanted) -> None:
    """Equal, not close: both are float32 and come from the same operations. Nor may ties differ."""
    solution = solved(name, wanted)
    for spec in _samples(solution):
        best = min(candidates(solution, spec), key=lambda d: d.order, default=None)
        assert solution.intensity(spec) == (best.intensity if best else inf), spec
        assert solution.choice(spec) == (best.option if best else None), spec


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_cycles_of_a_plan_are_what_the_table_says(name: str, wanted: Wanted) -> None:
    """Computed from the program in float64, within what float32 sums lose."""
    solution = solved(name, wanted)
    for spec in _samples(solution):
        predicted = solution.intensity(spec) * volume(spec)
        if predicted == inf:
            assert solution.choice(spec) is None
            continue
        plan = reconstruct(solution, spec)
        assert isclose(predicted, plan.cycles, rel_tol=1e-5), spec


@pytest.mark.parametrize(("name", "wanted"), CASES, ids=IDS)
def test_every_node_of_a_plan_is_the_best_for_its_spec(name: str, wanted: Wanted) -> None:
    """Options are those of the table, and nodes add up."""
    solution = solved(name, wanted)
    for node in nodes(plan_of(name, wanted)):
        best = min(candidates(solution, node.spec), key=lambda c: c.order)
        assert best.option == node.option
        below = sum(n * c.cycles for n, c in zip(node.counts, node.children, strict=True))
        assert isclose(node.own + below, node.cycles, rel_tol=1e-12)
