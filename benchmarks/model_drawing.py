"""Programs from the whole space of a solved product, not only the best: derivations at random.

On the way down from the goal, every Spec takes the option that is best when the predicted costs of
all its options are multiplied by random factors. How far these are from 1 differs from program to
program, so that some are nearly as good as the best and others several times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from math import exp
from random import Random

from morello.rewriting.alternatives import Alternative, Context
from morello.search.coarsening import Coarsening
from morello.search.options import Option
from morello.search.reconstruct import Candidate, PlanNode, candidates, reconstruct
from morello.search.solution import Solution
from morello.spec.spec import Family, Spec

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
class _Astray:
    """`Answers` of a solution, but for the choices. `reconstruct` asks once for a Spec."""

    solution: Solution
    random: Random
    spread: float

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

        def distorted(candidate: Candidate) -> float:
            return candidate.intensity * exp(self.random.gauss(0, self.spread))

        return min(candidates(self, spec), key=distorted).option
