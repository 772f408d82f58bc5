"""Why nothing implements a goal: which guard, pattern or limit refused, with its numbers."""

from __future__ import annotations

from collections import deque
from math import prod

import numpy as np

from morello.errors import MorelloError
from morello.language import ast
from morello.language.evaluate import evaluate
from morello.language.sized import levels_asked
from morello.language.unparse import unparse
from morello.rewriting.alternatives import (
    Alternative,
    Context,
    KernelAlternative,
    Refusal,
    RuleAlternative,
    alternatives,
    choice_text,
    scope_at,
)
from morello.rewriting.functions import Scope
from morello.rewriting.kernels import match_kernel
from morello.rewriting.meaning_cost import computes_in
from morello.rewriting.patterns import implements
from morello.rewriting.references import point
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.reconstruct import concrete_step, leaf_spec
from morello.search.solution import Solution
from morello.spec.dtypes import DTYPES, DType
from morello.spec.layout import panel, panel_text
from morello.spec.machine import Target
from morello.spec.operators import Operation
from morello.spec.spec import Family, Spec

SHOWN = 12
"""Refusals that a message shows."""

VISITED = 400
"""Specs below the goal that are looked at."""


class NoImplementationError(MorelloError):
    """Nothing implements a Spec. ``refusals`` say why, the nearest to a program first."""

    def __init__(self, spec: Spec, refusals: list[Refusal], advice: str = "") -> None:
        self.spec = spec
        self.refusals = list(dict.fromkeys(refusals))
        shown = "".join(f"\n  {refusal}" for refusal in self.refusals[:SHOWN])
        more = len(self.refusals) - SHOWN
        if more > 0:
            shown += f"\n  and {more} more"
        super().__init__(
            f"nothing implements {spec}; what was refused, the nearest first:{shown}",
            help=advice
            or "add a kernel or a rule for one of these, or change the Spec or the target",
        )


def no_family(context: Context, goal: Spec) -> NoImplementationError:
    """No choice of alternatives reaches kernels only, whatever the sizes.

    The kernels' reasons are given, those for operands nearest to the registers first.
    """
    operator = goal.family.operation.operator
    kernels = [k for k in context.target.kernels if implements(k, operator)]
    nearest: dict[tuple[str, str], tuple[int, str]] = {}
    for family in _below(context, goal.family):
        if family.operation.operator != operator:
            continue
        distance = sum(o.level.distance for o in family.operands)
        for kernel in kernels:
            reason = match_kernel(kernel, context.target, family)
            if isinstance(reason, str):
                found = (distance, str(family))
                nearest[kernel.name, reason] = min(found, nearest.get((kernel.name, reason), found))
    advice = _another_type(context.target, goal.family) or _taken_apart(goal.family)
    if not kernels:
        reason = f"{context.target.name} has no kernel for '{operator.name}'"
        return NoImplementationError(goal, [Refusal(operator.name, (), reason)], advice)
    ordered = sorted(nearest.items(), key=lambda item: (item[1], item[0]))
    refusals = [Refusal(f"{name} for {family}", (), why) for (name, why), (_, family) in ordered]
    return NoImplementationError(goal, refusals, advice)


def _another_type(target: Target, family: Family) -> str:
    """Where the target computes something in other element types only: what to do about it."""
    for operation, own in _single(family):
        able = [t for t in DTYPES.values() if computes_in(target, operation, t)]
        if able and own not in able:
            does = f"{target.name} computes '{operation.operator.name}' in {able[0]}, not in {own}"
            return f"{does}: declare what it computes as {able[0]}, and convert that"
    return ""


def _taken_apart(family: Family) -> str:
    """Where an operation moves elements and computes, though statements do the one or the other."""
    for operation, _ in _single(family):
        inputs = operation.operands[:-1]
        reads = any(index.margins for access in inputs for index in access)
        operator = operation.operator
        if (reads and not operator.slices) or (operation.framed and not operator.frames):
            does = (
                f"'{operator.name}' {'reads' if reads else 'writes'} between margins and computes"
            )
            return (
                f"{does}, and is as it is declared since a rule or a kernel names it: "
                "leave what moves elements to an operator of its own"
            )
    return ""


def _single(family: Family) -> list[tuple[Operation, DType]]:
    """The operations of one statement that a family is of, each with the type of its result."""
    composition = family.operation.operator.composition
    if composition is None:
        return [(family.operation, family.operands[-1].dtype)]
    graph = composition.graph
    return [(node.operation, graph.dtype(node.output)) for node in graph.nodes]


def _below(context: Context, goal: Family) -> list[Family]:
    """Families that a goal leads to, dead ones too, up to a limit."""
    seen: dict[Family, None] = {goal: None}
    pending = deque(seen)
    while pending and len(seen) < VISITED:
        for alternative in alternatives(context, pending.popleft()):
            for child in alternative.children:
                if child not in seen:
                    seen[child] = None
                    pending.append(child)
    return list(seen)


def no_program(solution: Solution, goal: Spec) -> NoImplementationError:
    """Families would do, but at these sizes every way ends at a guard or a limit.

    Reasons for the smallest Specs come first, each with the smallest Spec that it holds for.
    """
    context = solution.context
    seen = {goal}
    pending = deque(seen)
    smallest: dict[tuple[str, str], tuple[int, str, Refusal]] = {}
    while pending and len(seen) < VISITED:
        spec = pending.popleft()
        for alternative in alternatives(context, spec.family):
            own, below = _follow(context, spec, alternative)
            for refusal in own:
                reason = (str(alternative.key[1]), refusal.reason)
                found = (prod(spec.sizes), str(refusal), refusal)
                smallest[reason] = min(found, smallest.get(reason, found), key=lambda r: r[:2])
            for child in below:
                if child not in seen and not _solved(solution, child):
                    seen.add(child)
                    pending.append(child)
    ordered = sorted(smallest.values(), key=lambda r: r[:2])
    return NoImplementationError(goal, [r for _, _, r in ordered], _taken_apart(goal.family))


def refusals_at(context: Context, spec: Spec) -> list[Refusal]:
    """What keeps alternatives of a Spec's family from applying at its sizes, with the numbers."""
    found = (_follow(context, spec, a)[0] for a in alternatives(context, spec.family))
    return [refusal for own in found for refusal in own]


def _solved(solution: Solution, spec: Spec) -> bool:
    return solution.covers(spec) and np.isfinite(solution.intensity(spec)).item()


def _follow(
    context: Context, spec: Spec, alternative: Alternative
) -> tuple[list[Refusal], list[Spec]]:
    """What refuses an alternative for a Spec; if nothing does, the sub-Specs that it leads to."""
    if isinstance(alternative, KernelAlternative):
        return _kernel_refusals(context.target, spec, alternative), []
    if alternative.axis is None:
        return _rule_refusals(context, spec, alternative, None)
    refusals: list[Refusal] = []
    for tile in (t for t in context.target.sizes if t < max(spec.sizes)):
        own, below = _rule_refusals(context, spec, alternative, tile)
        if not own:
            return [], below
        refusals = refusals or own
    return refusals, []


def _kernel_refusals(target: Target, spec: Spec, alternative: KernelAlternative) -> list[Refusal]:
    match = alternative.match
    at = point(target, spec.variant, spec.coordinates)
    scope = scope_at(target, spec.family, alternative, at)
    reasons = [f"it wants that {text}" for text, holds in match.conditions(at) if not holds]
    reasons += [_guard_text(g, target, spec) for g in match.kernel.guards if not evaluate(g, scope)]
    return [Refusal(f"{match.kernel.name} for {spec}", (), reason) for reason in reasons]


def _guard_text(guard: ast.Expr, target: Target, spec: Spec) -> str:
    levels = levels_asked(guard)
    parts = [
        f"{(level.capacity or 0) - used} of {level.capacity} are free at {level}"
        for level, used in zip(target.bounded, spec.used, strict=True)
        if level.name in levels
    ]
    numbers = f" ({', '.join(parts)})" if parts else ""
    return f"'{unparse(guard)}' does not hold{numbers}"


def _rule_refusals(
    context: Context, spec: Spec, alternative: RuleAlternative, tile: int | None
) -> tuple[list[Refusal], list[Spec]]:
    shown = tuple((name, choice_text(value)) for name, value in alternative.choices)
    declaration = alternative.rule.declaration
    if alternative.axis is not None:
        shown = (*shown, (alternative.axis, str(tile)))
    at = point(context.target, spec.variant, spec.coordinates)
    scope = scope_at(context.target, spec.family, alternative, at, tile)
    reasons = [
        _guard_text(g, context.target, spec) for g in declaration.guards if not evaluate(g, scope)
    ]
    step = concrete_step(context, spec, alternative, tile)
    limits, below = _walk(step, scope)
    name = f"{alternative.rule.name} for {spec}"
    return [Refusal(name, shown, reason) for reason in reasons + limits], below


def _walk(step: Step, scope: Scope) -> tuple[list[str], list[Spec]]:
    """Limits that a concrete step exceeds, and its sub-Specs."""
    match step:
        case Leaf():
            return [], [leaf_spec(step)]
        case Sequence(steps=steps):
            parts = [_walk(inner, scope) for inner in steps]
            return [r for rs, _ in parts for r in rs], [s for _, ss in parts for s in ss]
        case Placed():
            limits, below = _walk(step.body, scope)
            return ([] if step.fits else [_limit(step, scope)]) + limits, below
        case Tiled():
            return _walk_loop(step, scope)


def _walk_loop(step: Tiled, scope: Scope) -> tuple[list[str], list[Spec]]:
    if step.step >= scope.sizes[step.dim] and not step.guard:
        return [], []  # nothing to divide: the rule leads nowhere, and no limit is to blame
    limits, below = _walk(step.full, scope)
    if step.remainder:
        more, rest = _walk(step.tail, scope)
        limits, below = limits + more, below + rest
    if step.guard:
        return limits, below
    return [f"tiles of {step.step} along '{step.dim}' do not fill whole registers", *limits], below


def _limit(step: Placed, scope: Scope) -> str:
    level, source = step.tensor.operand.level, step.source
    capacity = level.capacity
    free = None if capacity is None else capacity - scope.used[level.name]
    if free is None or step.taken <= free:
        if panels := panel(step.tensor.packing):
            return f"{source.name} has no more than one panel of {panel_text(int(panels))}"
        return f"{source.name} is not computed yet: there is nothing that {level} could hold"
    unit, each = ("bytes", level.grain) if level.addressable else ("registers", 1)
    return (
        f"{source.name} takes {step.taken * each} {unit} of {level}, "
        f"and {free * each} of {(capacity or 0) * each} are free"
    )
