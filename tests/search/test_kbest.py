"""The k best derivations are those that sorting all gives; and what is left out as alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Hashable, Iterator
from functools import cache
from itertools import islice, pairwise
from math import isclose, prod
from pathlib import Path

import pytest

from morello.checking.rules import check_rules
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.context import Context
from morello.search.results.kbest import Derivation, derivations
from morello.search.results.plan_signature import PlanSignature
from morello.search.results.reconstruct import PlanNode, reconstruct
from morello.search.results.solution import Solution
from morello.search.search import search
from tests.search.all_derivations import AllDerivations, kernels, tree
from tests.search.goals import Wanted, copy, elementwise, matmul
from tests.search.machines import context
from tests.search.solved import plan_of, solved
from tests.search.test_brute_force import CASES, enumeration

MANY, FEW = 200, 15
"""How many derivations of a goal are compared where there are too many to have all; few if slow."""

ALL = 3000
"""How many there may be where all are."""

SMALL = (
    ("tiny.cached", elementwise("add", 2, dtype="s32")),
    ("tiny.buffered", copy(3, dtypes=("s32", "f32"))),
    ("tiny.flat", elementwise("relu", 3)),
    ("tiny.flat", copy(2, 2, X=(1, 0))),
    ("tiny.flat", matmul(1, 2, 1)),
)

LARGER = (
    ("tiny.cached", matmul(5, 3, 7)),
    ("tiny.flat", elementwise("relu", 7)),
    ("x86.avx512", matmul(17, 41, 12)),
    ("x86.avx512", matmul(5, 33, 18, threads=2)),
)


@cache
def _enumeration(name: str, limit: int | None = None) -> AllDerivations:
    """One for each target and limit; least costs, which have no limit, are shared by all."""
    found, known = AllDerivations(context(name), limit), enumeration(name)
    found.known, found.structure = known.known, known.structure
    return found


def _best(name: str, wanted: Wanted, count: int | None = None) -> list[Derivation]:
    spec = wanted.spec(context(name).target)
    return list(islice(derivations(solved(name, wanted), spec), count))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("name", "wanted"), CASES)
def test_the_first_are_those_of_the_enumeration(name: str, wanted: Wanted) -> None:
    """The same derivations in the same order, ties and all; so none comes twice."""
    limit = FEW if wanted.operator == "matmul" else MANY
    expected = _enumeration(name, limit).derivations(wanted.spec(context(name).target))
    found = _best(name, wanted, limit)
    assert [d.tree for d in expected] == [tree(d.plan) for d in found]
    assert [d.intensity for d in expected] == [d.intensity for d in found]


@pytest.mark.parametrize(("name", "wanted"), SMALL, ids=str)
def test_all_are_found_and_no_more(name: str, wanted: Wanted) -> None:
    """To exhaustion, against all combinations."""
    everything = _enumeration(name)
    spec = wanted.spec(context(name).target)
    assert 1 < everything.count(spec) <= ALL
    expected = [d.tree for d in everything.derivations(spec)]
    assert everything.count(spec) == len(expected)
    assert expected == [tree(d.plan) for d in _best(name, wanted)]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "wanted"), LARGER, ids=str)
def test_the_first_is_the_plan_and_costs_do_not_fall(name: str, wanted: Wanted) -> None:
    """The very plan of `reconstruct`; costs in float64 agree with those they are sorted by."""
    found = _best(name, wanted, MANY)
    assert plan_of(name, wanted) == found[0].plan
    assert all(a.intensity <= b.intensity for a, b in pairwise(found))
    for d in found:
        cycles = d.intensity * prod(d.plan.spec.sizes)
        assert isclose(d.plan.cycles, cycles, rel_tol=1e-5)


TWICE = """
rule refill
  "Initialise twice: correct, and never worth it."
  match  f: op
  where  reduces(f)
  yield  fill(f.out, identity(f)); fill(f.out, identity(f)); accumulating f
"""


def test_equal_sub_specs_of_a_decision_share_their_derivation() -> None:
    """As in `reconstruct`: a rule that has one twice has no combinations of two."""
    known = context("tiny.flat")
    collector = Collector()
    rules = check_rules([parse_rules(Source("twice.mrules", TWICE))], known.operators, collector)
    collector.raise_if_any()
    used = Context(known.target, known.operators, (*known.rules, *rules))
    spec = matmul(1, 2, 1).spec(used.target)
    everything = AllDerivations(used, None)
    found = list(derivations(search(used, spec), spec))
    assert [d.tree for d in everything.derivations(spec)] == [tree(d.plan) for d in found]
    twice = [d.plan for d in found if d.plan.option.name == "refill"]
    assert twice
    assert all(plan.children[0] is plan.children[1] for plan in twice)


class Kernels:
    """Plans with the same kernels are alike, and nothing else is left out."""

    max_repeats = 10**6

    def varies(self, plan: PlanNode) -> tuple[bool, ...]:
        """Everything."""
        return (True,) * len(plan.children)

    def code(self, plan: PlanNode, below: tuple[Hashable, ...]) -> Hashable:
        """Names of all kernels."""
        if isinstance(plan.option.alternative, KernelAlternative):
            return frozenset((plan.option.name,))
        return frozenset().union(*(part for part in below if isinstance(part, frozenset)))


@pytest.mark.parametrize(("name", "wanted"), SMALL, ids=str)
def test_of_those_alike_the_cheapest_is_found(name: str, wanted: Wanted) -> None:
    """Dropping what is alike at every Spec finds what dropping it at the end would."""
    spec = wanted.spec(context(name).target)
    expected: dict[frozenset[str], float] = {}
    for derivation in _enumeration(name).derivations(spec):
        expected.setdefault(kernels(derivation.tree), float(derivation.intensity))
    found = list(derivations(solved(name, wanted), spec, Kernels()))
    assert list(expected.values()) == [d.intensity for d in found]
    assert set(expected) == {kernels(tree(d.plan)) for d in found}


def _main(solution: Solution, wanted: Wanted) -> Iterator[Derivation]:
    return derivations(solution, wanted.spec(solution.context.target), PlanSignature())


@pytest.mark.parametrize(("name", "wanted"), SMALL, ids=str)
def test_main_parts_leave_out_and_add_nothing(name: str, wanted: Wanted) -> None:
    """What is found is among all derivations, the first of all included, in their order."""
    everything = [tree(d.plan) for d in _best(name, wanted)]
    places = [everything.index(tree(d.plan)) for d in _main(solved(name, wanted), wanted)]
    assert 0 == places[0]
    assert sorted(set(places)) == places


@pytest.mark.parametrize(("name", "wanted"), LARGER, ids=str)
def test_main_parts_tell_fewer_apart(name: str, wanted: Wanted) -> None:
    """The first is the plan, costs do not fall, and they rise faster than those of all."""
    solution = solved(name, wanted)
    found = list(islice(_main(solution, wanted), 20))
    assert reconstruct(solution, wanted.spec(solution.context.target)) == found[0].plan
    assert all(a.intensity <= b.intensity for a, b in pairwise(found))
    plain = _best(name, wanted, len(found))
    assert found[-1].intensity > plain[-1].intensity


def test_fewer_plans_still_have_other_kernels() -> None:
    """There are fewer plans than derivations, and those with other kernels are among them."""
    name, wanted = "tiny.flat", elementwise("relu", 2)
    found = list(_main(solved(name, wanted), wanted))
    assert len(found) < len(_best(name, wanted))
    assert len({kernels(tree(d.plan)) for d in found}) > 1


PROGRAM = """
from itertools import islice
from morello.search.results.kbest import derivations
from morello.search.results.plan_signature import PlanSignature
from tests.search.all_derivations import tree
from tests.search.goals import matmul
from tests.search.machines import context
from tests.search.solved import solved
solution, wanted = solved("tiny.cached", matmul(3, 2, 5)), matmul(3, 2, 5)
spec = wanted.spec(context("tiny.cached").target)
for likeness in (None, PlanSignature()):
    for derivation in islice(derivations(solution, spec, likeness), 40):
        print(tree(derivation.plan))
"""


@pytest.mark.slow
def test_hash_seeds_change_nothing(project: Path) -> None:
    """Other processes with other seeds find the same plans in the same order."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            cwd=project,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert 1 == len(found)
    assert 80 == len(found.pop().splitlines())
