"""Programs from the whole space of a solved product, not only the best: derivations at random.

On the way down from the goal, every Spec takes the option that is best when the predicted costs of
all its options are multiplied by random factors. How far these are from 1 differs from program to
program, so that some are nearly as good as the best and others several times slower.

To work on a tile while a cache holds it is a step that emits no code, and caches hold what they
hold whether it was taken or not. So such steps are not drawn: they come before an option wherever
that makes it cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from math import exp
from random import Random

from morello.ir.spec import Family, Spec
from morello.rewriting.alternatives import Alternative, RuleAlternative
from morello.rewriting.context import Context
from morello.rewriting.steps import Leaf, Placed
from morello.search.planning.coarsening import Coarsening
from morello.search.results.reconstruct import (
    PlanNode,
    candidates,
    concrete_step,
    leaf_spec,
    reconstruct,
)
from morello.search.results.solution import Counts, Solution
from morello.search.tables.options import Option

SPREADS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviations of the logarithm of a factor, taking turns.

A plan is some twenty decisions deep, each of which may lose that much.
"""


def draw(solution: Solution, goal: Spec, seed: int) -> Iterator[PlanNode]:
    """Plans of a Spec without end, some of them equal; always the same for one seed.

    Args:
        solution: Solved tables that cover the goal.
        goal: A Spec that has an implementation.
        seed: Of the random numbers.
    """
    random = Random(seed)
    for spread in cycle(SPREADS):
        yield reconstruct(_Astray(solution, random, spread), goal)


@dataclass(frozen=True, slots=True)
class _Way:
    """What a Spec begins with: any steps without code, and one option that emits some."""

    cost: float
    choices: tuple[tuple[Spec, Option], ...]


@dataclass(frozen=True, slots=True)
class _Astray:
    """`SolvedView` of a solution, but for the choices. ``drawn`` are those that were made."""

    solution: Solution
    random: Random
    spread: float
    drawn: dict[Spec, Option] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        return self.solution.counts

    @property
    def context(self) -> Context:
        return self.solution.context

    @property
    def coarsening(self) -> Coarsening | None:
        return self.solution.coarsening

    def alternatives_of(self, family: Family) -> tuple[Alternative, ...]:
        return self.solution.alternatives_of(family)

    def canonical(self, spec: Spec) -> Spec:
        return self.solution.canonical(spec)

    def intensity(self, spec: Spec) -> float:
        return self.solution.intensity(spec)

    def choice(self, spec: Spec) -> Option | None:
        """The best after each cost was multiplied by a factor of its own."""

        def distorted(way: _Way) -> float:
            return way.cost * exp(self.random.gauss(0, self.spread))

        if spec not in self.drawn:
            self.drawn.update(min(self._ways(spec), key=distorted).choices)
        return self.drawn[spec]

    def _ways(self, spec: Spec) -> Iterable[_Way]:
        """The cheapest to each option that emits code."""
        found: dict[tuple[object, ...], _Way] = {}
        seen, ahead = {spec}, [(spec, _Way(0.0, ()))]
        while ahead:
            at, before = ahead.pop()
            for candidate in candidates(self, at):
                option, cost = candidate.option, before.cost + candidate.intensity
                way = _Way(cost, (*before.choices, (at, option)))
                below = self._without_code(at, option)
                if below is None:
                    key = (option.name, option.parameters)
                    found[key] = min(way, found.get(key, way), key=lambda one: one.cost)
                elif below not in seen:
                    seen.add(below)
                    ahead.append((below, _Way(cost - self.intensity(below), way.choices)))
        return found.values()

    def _without_code(self, spec: Spec, option: Option) -> Spec | None:
        """What is left to do after a step that emits no code; none if it emits some."""
        alternative = option.alternative
        if isinstance(alternative, RuleAlternative) and len(alternative.children) == 1:
            match concrete_step(self.context, spec, alternative, option.tile):
                case Placed(copied=False, body=Leaf() as leaf):
                    return self.canonical(leaf_spec(leaf))
        return None
