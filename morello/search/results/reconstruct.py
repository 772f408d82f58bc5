"""From what was solved to a plan: the choice of every Spec on the way down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.language.evaluate import Value, evaluate
from morello.rewriting.alternatives import KernelAlternative, RuleAlternative, scope_at
from morello.rewriting.context import Context
from morello.rewriting.enumeration import result_in
from morello.rewriting.references import point
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.solved_view import SolvedView
from morello.search.solving.one_spec import Application, applications
from morello.search.tables.options import Option

STEP = 2.0**-12
"""Cycles to both sides, over which slopes are taken: near to a bend, and far above rounding."""


class Candidate(Struct, frozen=True):
    """An option that applies to a Spec, with its cost in cycles per iteration, float32."""

    option: Option
    intensity: float

    @property
    def order(self) -> tuple[object, ...]:
        """What candidates are compared by: least cost, then `Option.order`."""
        return (self.intensity, self.option.order)


@dataclass(frozen=True)
class PlanNode:
    """A Spec with what was chosen for it, and the plans of the sub-Specs in the order of `leaves`.

    ``cycles`` is the predicted cost, computed from the program in float64; ``own`` the part of it
    that is not its children's. ``step`` is absent for a kernel.
    """

    spec: Spec
    option: Option
    step: Step | None
    children: tuple[PlanNode, ...]
    counts: tuple[int, ...]
    own: float
    cycles: float


def candidates(answers: SolvedView, spec: Spec) -> Iterator[Candidate]:
    """Every option of a Spec that applies, with its cost, in the order that breaks ties."""
    return (candidate for candidate, _ in evaluated(answers, spec))


def evaluated(answers: SolvedView, spec: Spec) -> Iterator[tuple[Candidate, Application]]:
    """`candidates`, each with the recurrence that its cost comes from."""
    known = answers.alternatives_of(spec.family)
    for application in applications(answers.context, answers.canonical(spec), known):
        below = (np.float32(answers.intensity(child)) for child, _ in application.uses)
        intensity = float(application.intensity(below))
        if np.isfinite(intensity):
            yield Candidate(application.option, intensity), application


def reconstruct(answers: SolvedView, goal: Spec) -> PlanNode:
    """The plan for a Spec that has an implementation."""
    return Reconstruction(answers).plan(goal)


class Reconstruction:
    """Plans of Specs that have an implementation. Equal Specs share their plan."""

    def __init__(self, answers: SolvedView) -> None:
        """Plans from what was solved."""
        self._answers = answers
        self._done: dict[Spec, PlanNode] = {}

    def plan(self, spec: Spec) -> PlanNode:
        """The plan of what was chosen."""
        key = self._answers.canonical(spec)
        if key not in self._done:
            option = self._answers.choice(key)
            assert option is not None, f"nothing was chosen for a solved Spec: {key}"
            self._done[key] = self.beginning_with(option, key)
        return self._done[key]

    def beginning_with(self, option: Option, spec: Spec) -> PlanNode:
        """The best plan of a canonical Spec that begins with an option that applies to it."""
        return plan_node(self._answers.context, spec, option, lambda _, below: self.plan(below))


def plan_node(
    context: Context, spec: Spec, option: Option, plan: Callable[[int, Spec], PlanNode]
) -> PlanNode:
    """A Spec done by an option that applies to it. ``plan``: that of its n-th sub-Spec."""
    own = own_cycles(context.target, spec, option)
    if isinstance(option.alternative, KernelAlternative):
        return PlanNode(spec, option, None, (), (), own, own)
    step = concrete_step(context, spec, option.alternative, option.tile)
    pairs = leaves(step)
    children = tuple(plan(place, leaf_spec(leaf)) for place, (leaf, _) in enumerate(pairs))
    counts = tuple(count for _, count in pairs)
    cycles = own + sum(n * c.cycles for n, c in zip(counts, children, strict=True))
    return PlanNode(spec, option, step, children, counts, own, cycles)


def concrete_step(
    context: Context, spec: Spec, alternative: RuleAlternative, tile: int | None
) -> Step:
    """A rule's result for one Spec, with numbers for sizes."""
    at = point(context.target, spec.variant, spec.coordinates)
    return result_in(
        context, alternative, scope_at(context.target, spec.family, alternative, at, tile)
    )


def leaves(step: Step) -> list[tuple[Leaf, int]]:
    """Sub-Specs of a concrete step in program order, with how often the slowest thread runs each.

    Tails that do not exist are left out. What is prepacked runs 0 times in a call. So does a tail
    for which another thread has time, unless it is done in order: then threads wait for it.
    """
    match step:
        case Leaf(prepack=ahead):
            return [(step, 0 if ahead else 1)]
        case Sequence(steps=steps):
            return [pair for inner in steps for pair in leaves(inner)]
        case Placed(body=body):
            return leaves(body)
        case Tiled():
            full = [(leaf, n * int(step.full_runs(leaf))) for leaf, n in leaves(step.full)]
            tail = leaves(step.tail) if step.remainder else []
            idle = bool(step.idle)
            return full + [(leaf, 0 if idle and not leaf.ordered else n) for leaf, n in tail]


def leaf_spec(leaf: Leaf) -> Spec:
    """The Spec of a concrete leaf."""
    assert leaf.sizes is not None
    assert leaf.used is not None
    sizes, used, packing = (
        tuple(map(int, values)) for values in (leaf.sizes, leaf.used, leaf.packing)
    )
    return Spec(leaf.family, sizes, used, packing)


def own_cycles(target: Target, spec: Spec, option: Option) -> float:
    """Cycles of an option without its sub-Specs, in float64."""
    return float(np.asarray(own_cost(target, spec, option), dtype=np.float64))


def own_features(target: Target, spec: Spec, option: Option) -> dict[str, float]:
    """How often each coefficient is counted in an option's own cost: counts times values are it.

    A cost that is linear in the coefficients, evaluated with a unit vector for each of them, gives
    all counts at once. One with a maximum of them is linear near the target's values: counts are
    its slopes there, between two sides that are equal the mean of theirs. Names are ``NAME`` or
    ``LEVEL.NAME``.
    """
    known = target.every_coefficient
    counts = _own_costs(target, 0.0, 1.0, spec, option)
    # Counts of a linear cost add up to it. If they do not, there is a maximum in it.
    values = np.array([coefficient.value for coefficient in known.values()])
    if not np.isclose(counts @ values, own_cycles(target, spec, option), rtol=1e-9, atol=0):
        above, below = (_own_costs(target, 1.0, step, spec, option) for step in (STEP, -STEP))
        counts = (above - below) / (2 * STEP)
    return {n: float(c) for n, c in zip(known, counts, strict=True) if c}


def _own_costs(target: Target, share: float, step: float, spec: Spec, option: Option) -> Array:
    """Costs with coefficients of which one at a time is other; see `Target.one_by_one`."""
    priced = target.one_by_one(share, step)
    cost = np.asarray(own_cost(priced, spec, option), dtype=np.float64)
    return np.broadcast_to(cost, (len(target.every_coefficient),))


def own_cost(target: Target, spec: Spec, option: Option) -> Value:
    """`own_cycles`, or a vector of them where the target's coefficients are vectors."""
    alternative = option.alternative
    at = point(target, spec.variant, spec.coordinates)
    scope = scope_at(target, spec.family, alternative, at, option.tile)
    if isinstance(alternative, KernelAlternative):
        return evaluate(alternative.match.kernel.cost, scope)
    cost = alternative.rule.declaration.cost
    return 0.0 if cost is None else evaluate(cost, scope)
