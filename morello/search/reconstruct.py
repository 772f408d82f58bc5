"""From solved tables to a plan: the winning alternative of every Spec on the way down.

Every alternative of one Spec, for those who ask, is evaluated here by the code that solved the
boxes, on boxes of one cell. `Decision.order` breaks ties: least cost, kernels before rules, then
the name of the rule, its parameters as text, and the smaller tile. Nothing else enters, so that
decisions depend neither on the order of rules nor on what else was solved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from morello.language.evaluate import evaluate
from morello.rewriting.alternatives import (
    Alternative,
    Context,
    KernelAlternative,
    RuleAlternative,
    choice_text,
    result_in,
    scope_at,
)
from morello.rewriting.bind import bind
from morello.rewriting.references import point
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.box import one_cell
from morello.search.solution import Solution
from morello.search.updates import updates
from morello.spec.machine import Coefficient, Target
from morello.spec.spec import Spec


@dataclass(frozen=True, slots=True)
class Decision:
    """What was chosen for a Spec: a rule or kernel by name, with its parameters.

    ``intensity`` is its cost in cycles per iteration, float32 as in the tables.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    intensity: float
    alternative: Alternative = field(compare=False, repr=False)
    tile: int | None = field(compare=False, repr=False)

    @property
    def order(self) -> tuple[object, ...]:
        """What decisions are compared by: the order that `morello.search.solve` keeps as well."""
        return (self.intensity, self.alternative.key, self.tile or 0)


@dataclass(frozen=True)
class PlanNode:
    """A Spec with its decision, and the plans of the sub-Specs in the order of `leaves`.

    ``cycles`` is the predicted cost, computed from the program in float64; ``own`` the part of it
    that is not its children's. ``step`` is absent for a kernel.
    """

    spec: Spec
    decision: Decision
    step: Step | None
    children: tuple[PlanNode, ...]
    counts: tuple[int, ...]
    own: float
    cycles: float


def candidates(solution: Solution, spec: Spec) -> Iterator[Decision]:
    """Every alternative of a Spec that applies, with its cost, in the order that breaks ties."""
    context = solution.context
    family = spec.family
    spec = solution.canonical(spec)
    box = one_cell(spec)
    largest = max(spec.sizes, default=1)
    tiles = tuple(t for t in context.target.sizes if t < largest)
    for alternative in solution.alternatives[family]:
        if alternative.axis is not None and not tiles:
            continue
        axis = tiles if alternative.axis is not None else ()
        bound = bind(context, family, alternative, box.open_grid, axis)
        for update in updates(bound, box, solution.boxes):
            cost = float(update.costs(solution.tables).reshape(-1)[0])
            if np.isfinite(cost):
                tile = axis[update.position] if axis else None
                yield _decision(alternative, tile, cost)


def _decision(alternative: Alternative, tile: int | None, intensity: float) -> Decision:
    if isinstance(alternative, KernelAlternative):
        return Decision(alternative.match.kernel.name, (), intensity, alternative, None)
    parameters = [(n, choice_text(v)) for n, v in alternative.choices]
    if alternative.axis is not None:
        parameters.append((alternative.axis, str(tile)))
    return Decision(alternative.rule.name, tuple(parameters), intensity, alternative, tile)


def decide(solution: Solution, spec: Spec) -> Decision | None:
    """The winner for a Spec, or none if nothing implements it."""
    option = solution.choice(spec)
    return None if option is None else _decision(*option, solution.intensity(spec))


def reconstruct(solution: Solution, goal: Spec) -> PlanNode:
    """The plan for a Spec that has an implementation. Equal Specs share their plan."""
    return _Reconstruction(solution).plan(goal)


class _Reconstruction:
    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.target = solution.context.target
        self.done: dict[Spec, PlanNode] = {}

    def plan(self, spec: Spec) -> PlanNode:
        key = self.solution.canonical(spec)
        if key not in self.done:
            self.done[key] = self._plan(key)
        return self.done[key]

    def _plan(self, spec: Spec) -> PlanNode:
        decision = decide(self.solution, spec)
        assert decision is not None, f"a solved Spec has no decision: {spec}"
        own = own_cycles(self.target, spec, decision)
        alternative = decision.alternative
        if isinstance(alternative, KernelAlternative):
            return PlanNode(spec, decision, None, (), (), own, own)
        step = concrete_step(self.solution.context, spec, alternative, decision.tile)
        pairs = leaves(step)
        children = tuple(self.plan(leaf_spec(leaf)) for leaf, _ in pairs)
        counts = tuple(count for _, count in pairs)
        cycles = own + sum(n * c.cycles for n, c in zip(counts, children, strict=True))
        return PlanNode(spec, decision, step, children, counts, own, cycles)


def concrete_step(
    context: Context, spec: Spec, alternative: RuleAlternative, tile: int | None
) -> Step:
    """A rule's result for one Spec, with numbers for sizes."""
    at = point(context.target, spec.family, spec.coordinates)
    return result_in(
        context, alternative, scope_at(context.target, spec.family, alternative, at, tile)
    )


def leaves(step: Step) -> list[tuple[Leaf, int]]:
    """Sub-Specs of a concrete step in program order, with how often the slowest thread runs each.

    Tails that do not exist are left out.
    """
    match step:
        case Leaf():
            return [(step, 1)]
        case Sequence(steps=steps):
            return [pair for inner in steps for pair in leaves(inner)]
        case Placed(body=body):
            return leaves(body)
        case Tiled():
            full = [(leaf, n * int(step.runs)) for leaf, n in leaves(step.full)]
            return full + (leaves(step.tail) if step.remainder else [])


def leaf_spec(leaf: Leaf) -> Spec:
    """The Spec of a concrete leaf."""
    assert leaf.sizes is not None
    assert leaf.used is not None
    sizes, used, packing = (
        tuple(map(int, values)) for values in (leaf.sizes, leaf.used, leaf.packing)
    )
    return Spec(leaf.family, sizes, used, packing)


def own_cycles(target: Target, spec: Spec, decision: Decision) -> float:
    """Cycles of a decision without its sub-Specs, in float64."""
    return float(np.asarray(_own_cost(target, spec, decision), dtype=np.float64))


def own_features(target: Target, spec: Spec, decision: Decision) -> dict[str, float]:
    """How often each coefficient is counted in a decision's own cost.

    The cost is linear in the coefficients: evaluated with a unit vector for each of them, it gives
    all counts at once. Names are ``NAME`` or ``LEVEL.NAME``.
    """
    names, vectors = _unit_target(target)
    counts = np.broadcast_to(_own_cost(vectors, spec, decision), (len(names),))
    return {n: float(c) for n, c in zip(names, counts, strict=True) if c}


def _unit_target(target: Target) -> tuple[list[str], Target]:
    names = [*target.coefficients]
    names += [f"{lv.name}.{c}" for lv in target.levels for c in lv.coefficients]
    units = dict(zip(names, np.eye(len(names)), strict=True))

    def unit(coefficient: Coefficient, name: str) -> Coefficient:
        return replace(coefficient, value=units[name])  # type: ignore[arg-type]

    levels = tuple(
        replace(lv, coefficients={n: unit(c, f"{lv.name}.{n}") for n, c in lv.coefficients.items()})
        for lv in target.levels
    )
    coefficients = {n: unit(c, n) for n, c in target.coefficients.items()}
    return names, replace(target, levels=levels, coefficients=coefficients)


def _own_cost(target: Target, spec: Spec, decision: Decision) -> Any:
    alternative = decision.alternative
    at = point(target, spec.family, spec.coordinates)
    scope = scope_at(target, spec.family, alternative, at, decision.tile)
    if isinstance(alternative, KernelAlternative):
        return evaluate(alternative.match.kernel.cost, scope)
    cost = alternative.rule.declaration.cost
    return 0.0 if cost is None else evaluate(cost, scope)
