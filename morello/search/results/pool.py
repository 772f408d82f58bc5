"""Plans worth measuring: different ones, from solved tables, those that promise most first.

The cheapest plans are near-copies of each other, and which of them is the fastest is luck. What
may be much faster than the choice is a program of another kind, whose coefficients are wrong. So
plans are drawn under distorted coefficients (`morello.search.results.distorted`). A class of plans
promises as much as it has *wins*: distortions under which one of it is the best that was found.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice

from morello.ir.spec import Spec
from morello.search.results.distorted import distorted_plans
from morello.search.results.kbest import derivations
from morello.search.results.plan_class import plan_class
from morello.search.results.plan_length import written_kernels
from morello.search.results.plan_signature import PlanSignature, significant
from morello.search.results.reconstruct import PlanNode
from morello.search.results.solution import Solution

OF_A_CLASS = 2
"""Plans of one class that a pool has at most."""

DRAWN_PER_CHEAPEST = 32
"""For so many plans that are drawn, one of the cheapest is looked at."""

LONGEST = 250
"""Kernels that a program may name, or twice as many as the choice: some 50,000 characters.

C compilers take seconds for longer ones.
"""

SEED = 0
"""Of the distortions: the pool of a goal is always the same."""


def pool(solution: Solution, goal: Spec, drawn: int) -> list[PlanNode]:
    """Plans of a goal: the choice, then others by what they promise, at most two of a class.

    All classes come once before any comes twice. Of equal wins the cheaper is first; the cheapest
    plans have none where no distortion led to them. Plans whose code would be too long are left
    out, but for the choice.

    Args:
        solution: Solved tables that cover the goal.
        goal: A Spec that has an implementation.
        drawn: How many plans to draw, at least 1; most are like others.
    """
    looked_at = 1 + drawn // DRAWN_PER_CHEAPEST
    ranked = derivations(solution, goal, PlanSignature())
    choice, *cheapest = (derivation.plan for derivation in islice(ranked, looked_at))
    wins = Counter[int]()
    plans = {id(plan): plan for plan in cheapest}
    # Where several distortions have one plan, it is one object.
    for plan in distorted_plans(solution, goal, drawn, SEED):
        plans[id(plan)] = plan
        wins[id(plan)] += 1
    longest = max(LONGEST, 2 * written_kernels(choice))
    classes = {plan_class(choice): _Class([choice])}
    for plan in sorted(plans.values(), key=lambda plan: (-wins[id(plan)], plan.cycles)):
        if written_kernels(plan) <= longest:
            classes.setdefault(plan_class(plan), _Class()).add(plan, wins[id(plan)])
    return _in_turn(list(classes.values()))


@dataclass(slots=True)
class _Class:
    """Plans that stand for a class, and how often any of it won."""

    plans: list[PlanNode] = field(default_factory=list)
    wins: int = 0

    def add(self, plan: PlanNode, wins: int) -> None:
        """Count its wins; take it unless there are enough, or one does the same work."""
        self.wins += wins
        known = {significant(one.cycles) for one in self.plans}
        if len(known) < OF_A_CLASS and significant(plan.cycles) not in known:
            self.plans.append(plan)


def _in_turn(classes: list[_Class]) -> list[PlanNode]:
    """A plan of each class, then another of each; the first class is the choice's."""
    first, *others = classes
    others.sort(key=lambda one: (-one.wins, one.plans[0].cycles))
    turns = range(OF_A_CLASS)
    return [one.plans[n] for n in turns for one in (first, *others) if n < len(one.plans)]
