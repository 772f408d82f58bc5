"""Why nothing implements a goal: which guard, pattern or limit refused, with its numbers."""

from __future__ import annotations

from collections import deque
from math import prod

import numpy as np

from morello.ir.layout import panel, panel_text
from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.language import ast
from morello.language.evaluate import evaluate
from morello.language.sized import levels_asked
from morello.language.unparse import unparse
from morello.rewriting.alternatives import (
    Alternative,
    KernelAlternative,
    Refusal,
    RuleAlternative,
    choice_text,
    scope_at,
)
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.rewriting.functions import Scope
from morello.rewriting.references import point
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.planning.unimplemented import VISITED, NoImplementationError, taken_apart
from morello.search.results.reconstruct import concrete_step, leaf_spec
from morello.search.results.solution import Solution


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
    return NoImplementationError(goal, [r for _, _, r in ordered], taken_apart(goal.family))


def implemented(solution: Solution, goal: Spec) -> Solution:
    """The solution, in which there is a program for a goal.

    Raises:
        NoImplementationError: There is none; it says what was refused and why.
    """
    if solution.intensity(goal) == float("inf"):
        error = no_program(solution, goal)
        if solution.coarsening is not None:
            error.help += f"; or allow more: this search was {solution.coarsening}"
        raise error
    return solution


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
    if alternative.axis is not None:
        shown = (*shown, (alternative.axis, str(tile)))
    at = point(context.target, spec.variant, spec.coordinates)
    scope = scope_at(context.target, spec.family, alternative, at, tile)
    # All other guards hold, or there were no such alternative.
    guards = alternative.rule.sized_guards
    reasons = [_guard_text(g, context.target, spec) for g in guards if not evaluate(g, scope)]
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
    unit, each = ("bytes", level.capacity_unit) if level.addressable else ("registers", 1)
    return (
        f"{source.name} takes {step.taken * each} {unit} of {level}, "
        f"and {free * each} of {(capacity or 0) * each} are free"
    )
