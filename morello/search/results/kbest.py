"""The cheapest derivations of a Spec, one after the other, lazily, from solved tables.

Solved tables are a hypergraph: its nodes are canonical Specs, and every option that applies to a
Spec is a hyperedge from its sub-Specs to it. A *derivation* of a Spec is one of its options with
a derivation of every sub-Spec: all of a plan. They are enumerated by algorithm 3 of L. Huang and D.
Chiang, "Better k-best parsing" (IWPT 2005): the next derivation of a Spec is looked for when it is
asked for, among its options as they are best, and the neighbours of those that were taken: one
sub-Spec's derivation worse by one rank.

The cost is the float32 recurrence of `morello.search.solving.solve`, with the intensities of the
sub-Specs' derivations in the place of their best:

    J(a, r) = base_a + sum over sub-Specs u of  weight_u * J(r_u-th derivation of u)

Multiplying by a positive weight, adding and rounding are monotone, so that a sub-Spec's worse
derivation never makes an option cheaper. Equal costs are ordered by `Candidate.order`, then by the
ranks of the sub-Specs; hence the first derivation is that of `reconstruct`, and the list is the one
that sorting all derivations would give.

Sub-Specs of one option that are equal share one derivation, as in `reconstruct`. Equal Specs
below different options may differ. What is not here: when derivations are alike
(`morello.search.results.plan_signature`), and which are compiled.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Protocol

import numpy as np
from msgspec import Struct

from morello.ir.spec import Spec
from morello.records import replace
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Step
from morello.search.results.reconstruct import (
    Candidate,
    PlanNode,
    concrete_step,
    evaluated,
    leaf_spec,
    leaves,
    own_cycles,
)
from morello.search.results.solution import Solution
from morello.search.solving.one_spec import Application


class Signature(Protocol):
    """Which derivations of a Spec are as good as one.

    Of derivations with equal codes only the first counts, for its own Spec and in those above. An
    option is given up when ``max_repeats`` of its derivations in a row were not new, so that the
    number of those that are looked at stays in proportion to those that are found.
    """

    max_repeats: int

    def varies(self, plan: PlanNode) -> tuple[bool, ...]:
        """For every leaf of an option in its best form: whether other derivations of it count."""

    def code(self, plan: PlanNode, below: tuple[Hashable, ...]) -> Hashable:
        """What tells a plan apart, from the codes of its leaves."""


def derivations(
    solution: Solution, goal: Spec, signature: Signature | None = None
) -> Iterator[Derivation]:
    """Derivations of a Spec that has an implementation, in increasing cost.

    They are ordered by ``intensity``, float32; plans' ``cycles``, in float64, may disagree where
    costs are equal to seven digits.

    The first is that of `reconstruct`. Each further one asks at most the Specs of one plan for a
    derivation more. A Spec that is asked for the first time costs an evaluation of all that
    applies to it. Where many derivations are alike, many are looked at between two that are not.

    Args:
        solution: Solved tables that cover the goal.
        goal: The Spec.
        signature: Which derivations are left out; none gives all.
    """
    enumeration = _Enumeration(solution, signature)
    for rank in count():
        found = enumeration.derivation(solution.canonical(goal), rank)
        if found is None:
            return
        yield found


class Derivation(Struct, frozen=True):
    """A plan with its cost in cycles per iteration, and what tells it apart from those alike."""

    plan: PlanNode
    intensity: float
    code: Hashable


class _Hyperedge(Struct, frozen=True):
    """An option, ready to be evaluated for any derivations of its sub-Specs.

    ``children`` are its distinct sub-Specs; ``places`` says for every leaf which of them it is,
    ``counts`` are the leaves'. ``own`` are cycles.
    """

    application: Application
    own: float
    step: Step | None = None
    children: tuple[Spec, ...] = ()
    places: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()

    def plan(self, spec: Spec, parts: list[Derivation]) -> PlanNode:
        """The plan with these derivations of the leaves."""
        plans = tuple(part.plan for part in parts)
        cycles = self.own + sum(n * p.cycles for n, p in zip(self.counts, plans, strict=True))
        option = self.application.option
        return PlanNode(spec, option, self.step, plans, self.counts, self.own, cycles)

    def intensity(self, parts: list[Derivation]) -> float:
        """The recurrence, in the order and the precision of the search."""
        return float(self.application.intensity(np.float32(part.intensity) for part in parts))


@dataclass(order=True, slots=True)
class _Candidate:
    """A decision with ranks of its sub-Specs; none stands for all 0. Compared by order, ranks.

    ``edge`` and ``varies``, which of its children have other ranks, are known once it was taken.
    ``alike`` counts how many on the way to it, without interruption, were like others.
    """

    order: tuple[object, ...]
    ranks: tuple[int, ...]
    intensity: float = field(compare=False)
    application: Application = field(compare=False)
    edge: _Hyperedge | None = field(compare=False, default=None)
    varies: tuple[int, ...] = field(compare=False, default=())
    alike: int = field(compare=False, default=0)


@dataclass(slots=True)
class _Ranking:
    """A Spec's derivations so far, what may come next, and what was taken but has no neighbours."""

    queue: list[_Candidate]
    found: list[Derivation] = field(default_factory=list)
    codes: set[Hashable] = field(default_factory=set)
    taken: _Candidate | None = None


class _Enumeration:
    """Rankings of all Specs that were asked for."""

    def __init__(self, solution: Solution, signature: Signature | None) -> None:
        self.solution = solution
        self.signature = signature
        self.rankings: dict[Spec, _Ranking] = {}

    def derivation(self, spec: Spec, rank: int) -> Derivation | None:
        """The derivation of this rank, counted from 0, of a canonical Spec."""
        ranking = self.rankings.get(spec)
        if ranking is None:
            ranking = self.rankings[spec] = self._ranking(spec)
        while len(ranking.found) <= rank:
            # Only now: neighbours may need derivations of sub-Specs that nothing has asked for yet.
            if ranking.taken is not None:
                self._neighbours(ranking, ranking.taken)
            if not ranking.queue:
                return None
            ranking.taken = heappop(ranking.queue)
            self._take(spec, ranking, ranking.taken)
        return ranking.found[rank]

    def _ranking(self, spec: Spec) -> _Ranking:
        queue = [
            _Candidate(candidate.order, (), candidate.intensity, application)
            for candidate, application in evaluated(self.solution, spec)
        ]
        heapify(queue)
        return _Ranking(queue)

    def _take(self, spec: Spec, ranking: _Ranking, candidate: _Candidate) -> None:
        """Append what a candidate stands for, unless it is like one before."""
        new = candidate.edge is None
        edge = candidate.edge or self._hyperedge(spec, candidate.application)
        if new:
            candidate.edge, candidate.ranks = edge, (0,) * len(edge.children)
        parts = self._parts(edge, candidate.ranks)
        plan = edge.plan(spec, parts)
        if new:
            candidate.varies = self._varying(edge, plan)
        # Without a signature no two derivations are alike.
        code: Hashable = len(ranking.found)
        if self.signature is not None:
            code = self.signature.code(plan, tuple(part.code for part in parts))
        if code in ranking.codes:
            candidate.alike += 1
            return
        candidate.alike = 0
        ranking.codes.add(code)
        ranking.found.append(Derivation(plan, candidate.intensity, code))

    def _exists(self, spec: Spec, rank: int) -> bool:
        return self.derivation(spec, rank) is not None

    def _parts(self, edge: _Hyperedge, ranks: tuple[int, ...]) -> list[Derivation]:
        """Derivations of the leaves; those of lower ranks were found before these."""
        found = [self.derivation(*child) for child in zip(edge.children, ranks, strict=True)]
        known = [part for part in found if part is not None]
        assert len(known) == len(found), "a sub-Spec has fewer derivations than were asked for"
        return [known[place] for place in edge.places]

    def _varying(self, edge: _Hyperedge, plan: PlanNode) -> tuple[int, ...]:
        if self.signature is None:
            return tuple(range(len(edge.children)))
        varies = zip(edge.places, self.signature.varies(plan), strict=True)
        return tuple(sorted({place for place, does in varies if does}))

    def _hyperedge(self, spec: Spec, application: Application) -> _Hyperedge:
        context, option = self.solution.context, application.option
        own = own_cycles(context.target, spec, option)
        if isinstance(option.alternative, KernelAlternative):
            return _Hyperedge(application, own)
        step = concrete_step(context, spec, option.alternative, option.tile)
        pairs = leaves(step)
        specs = [self.solution.canonical(leaf_spec(leaf)) for leaf, _ in pairs]
        children = tuple(dict.fromkeys(specs))
        places = tuple(map(children.index, specs))
        return _Hyperedge(application, own, step, children, places, tuple(n for _, n in pairs))

    def _neighbours(self, ranking: _Ranking, candidate: _Candidate) -> None:
        """Queue the neighbours of what was taken: the rank of one sub-Spec higher by one.

        Only from the last rank that is not 0 onwards: so each is reached in one way.
        """
        ranking.taken = None
        if self.signature is not None and candidate.alike >= self.signature.max_repeats:
            return
        ranks, edge = candidate.ranks, candidate.edge
        assert edge is not None
        last = max((i for i, rank in enumerate(ranks) if rank), default=0)
        for position in candidate.varies:
            higher = (*ranks[:position], ranks[position] + 1, *ranks[position + 1 :])
            if position < last or not self._exists(edge.children[position], higher[position]):
                continue
            intensity = edge.intensity(self._parts(edge, higher))
            order = Candidate(edge.application.option, intensity).order
            after = replace(candidate, order=order, ranks=higher, intensity=intensity)
            heappush(ranking.queue, after)
