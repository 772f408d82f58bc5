"""Plans that would be the best if the coefficients were others, without another search.

Where a target's coefficients are wrong, the best program is the choice under those that are right.
So every coefficient is multiplied by a random factor, many times over, and each *distortion* gets
the plan that is best under it. All distortions are evaluated at once: a cost is a vector, with one
element for each.

Only Specs that some plan reaches are solved again. A Spec is *expanded* when a plan comes to it:
all its options are listed. One that is not expanded yet is taken to be done as the tables say. So
every cost is that of a plan that exists, and it only falls when more is expanded. This is what LAO*
does (E. Hansen and S. Zilberstein, "LAO*", Artificial Intelligence 129, 2001), but that costs of
what is not expanded are bounds from above: a plan may stay that is good, and not the best.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Spec
from morello.ir.target import Coefficient, Target
from morello.records import replace
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Step
from morello.search.results.reconstruct import (
    PlanNode,
    concrete_step,
    evaluated,
    leaf_spec,
    leaves,
    own_cost,
    own_cycles,
)
from morello.search.results.solution import Solution
from morello.search.tables.options import Option

SPREADS = (0.1, 0.2, 0.4, 0.8)
"""Standard deviations of the logarithm of a factor; distortions take turns.

Most coefficients are known to some tenths; a kernel's may be wrong by a factor of two.
"""

PASSES = 2
"""How often all distortions expand what they reach: what one expands may change another's plan."""

DEAREST = 4.0
"""An option that the tables say costs this many times the best is not looked at."""


def distorted_plans(solution: Solution, goal: Spec, count: int, seed: int) -> Iterator[PlanNode]:
    """The best plan found under each of so many distortions; always the same for one seed.

    Where several distortions have the same plan, it is the same object.

    Args:
        solution: Solved tables that cover the goal.
        goal: A Spec that has an implementation.
        count: How many distortions, at least 1.
        seed: Of the random numbers.
    """
    resolved = _Resolved(solution, count, seed)
    root = solution.canonical(goal)
    for _ in range(PASSES):
        for place in range(count):
            resolved.expand(root, place)
    resolved.settle()
    for place in range(count):
        yield resolved.plan(root, place)


def distorted_target(target: Target, count: int, seed: int) -> Target:
    """The target with all distortions of each coefficient, as a vector."""
    random = Random(seed)

    def distort(_: str, coefficient: Coefficient) -> Coefficient:
        spreads = islice(cycle(SPREADS), count)
        factors: Any = np.array([random.lognormvariate(0, spread) for spread in spreads])
        return replace(coefficient, value=coefficient.value * factors)

    return target.with_coefficients(distort)


class _Edge(Struct, frozen=True):
    """An option with its sub-Specs, how often each runs, and its own cost by distortion."""

    option: Option
    step: Step | None
    children: tuple[Spec, ...]
    counts: tuple[int, ...]
    own: Array

    def plan(self, target: Target, spec: Spec, children: tuple[PlanNode, ...]) -> PlanNode:
        """The plan with these plans of the sub-Specs, and the costs of a target."""
        own = own_cycles(target, spec, self.option)
        cycles = own + sum(n * c.cycles for n, c in zip(self.counts, children, strict=True))
        return PlanNode(spec, self.option, self.step, children, self.counts, own, cycles)


class _Resolved:
    """Least costs known so far, by distortion, and the options of what is expanded."""

    def __init__(self, solution: Solution, count: int, seed: int) -> None:
        self._solution = solution
        self._count = count
        self._target = distorted_target(solution.context.target, count, seed)
        self._edges: dict[Spec, list[_Edge]] = {}
        self._chosen: dict[Spec, _Edge] = {}
        self._costs: dict[Spec, Array] = {}
        self._bests: dict[Spec, Array] = {}
        self._plans: dict[tuple[int, ...], PlanNode] = {}

    def expand(self, spec: Spec, place: int) -> None:
        """Expand all that the plan of one distortion reaches, and correct costs on the way up."""
        self._expand(spec, place, {})

    def settle(self) -> None:
        """Let what was expanded last reach the costs of all above it."""
        done: set[Spec] = set()
        for spec in self._edges:
            self._settle(spec, done)

    def plan(self, spec: Spec, place: int) -> PlanNode:
        """The best under a distortion; what is not expanded is done as the tables say."""
        return self._plan(spec, place, {})

    def _plan(self, spec: Spec, place: int, done: dict[Spec, PlanNode]) -> PlanNode:
        if spec not in done:
            edge = self._best(spec, place)
            children = tuple(self._plan(child, place, done) for child in edge.children)
            key = (id(edge), *map(id, children))
            if key not in self._plans:
                self._plans[key] = edge.plan(self._solution.context.target, spec, children)
            done[spec] = self._plans[key]
        return done[spec]

    def _expand(self, spec: Spec, place: int, done: dict[Spec, bool]) -> bool:
        """Whether anything was expanded here or below."""
        if spec not in done:
            new = done[spec] = spec not in self._edges
            if new:
                self._edges[spec] = self._listed(spec)
                self._compare(spec)
            below = [self._expand(child, place, done) for child in self._best(spec, place).children]
            done[spec] = new or any(below)
            if done[spec]:
                self._compare(spec)
        return done[spec]

    def _settle(self, spec: Spec, done: set[Spec]) -> None:
        if spec in done or spec not in self._edges:
            return
        done.add(spec)
        for edge in self._edges[spec]:
            for child in edge.children:
                self._settle(child, done)
        self._compare(spec)

    def _best(self, spec: Spec, place: int) -> _Edge:
        if spec not in self._edges:
            return self._chosen[spec]
        return self._edges[spec][int(self._bests[spec][place])]

    def _compare(self, spec: Spec) -> None:
        """Take the least costs; of equal ones the first in the order that breaks ties."""
        costs = np.array([self._through(edge) for edge in self._edges[spec]])
        self._bests[spec] = np.argmin(costs, axis=0)
        self._costs[spec] = np.min(costs, axis=0)

    def _through(self, edge: _Edge) -> Array:
        """Costs of doing a Spec in this way."""
        below = zip(edge.counts, edge.children, strict=True)
        return sum((count * self._cost(child) for count, child in below), start=edge.own)

    def _cost(self, spec: Spec) -> Array:
        """Least costs; of a Spec that was not asked for before, those of the tables' choice."""
        known = self._costs.get(spec)
        if known is None:
            option = self._solution.choice(spec)
            assert option is not None, f"nothing was chosen for a solved Spec: {spec}"
            edge = self._chosen[spec] = self._edge(spec, option)
            known = self._costs[spec] = self._through(edge)
        return known

    def _listed(self, spec: Spec) -> list[_Edge]:
        listed = [candidate for candidate, _ in evaluated(self._solution, spec)]
        dearest = DEAREST * min(candidate.intensity for candidate in listed)
        return [self._edge(spec, c.option) for c in listed if c.intensity <= dearest]

    def _edge(self, spec: Spec, option: Option) -> _Edge:
        # What uses no coefficient costs the same under all distortions.
        cost = np.asarray(own_cost(self._target, spec, option), dtype=np.float64)
        own = np.broadcast_to(cost, (self._count,))
        if isinstance(option.alternative, KernelAlternative):
            return _Edge(option, None, (), (), own)
        step = concrete_step(self._solution.context, spec, option.alternative, option.tile)
        pairs = leaves(step)
        children = tuple(self._solution.canonical(leaf_spec(leaf)) for leaf, _ in pairs)
        return _Edge(option, step, children, tuple(count for _, count in pairs), own)
