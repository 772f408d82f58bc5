"""Why nothing implements a goal: which guard, pattern or limit refused, with its numbers."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.language.evaluate import evaluate
from morello.language.unparse import unparse
from morello.rewriting.alternatives import (
    Alternative,
    Context,
    KernelAlternative,
    Refusal,
    RuleAlternative,
    alternatives,
    choice_text,
)
from morello.rewriting.functions import Scope
from morello.rewriting.kernels import match_kernel
from morello.rewriting.patterns import implements
from morello.rewriting.references import spec_ref
from morello.rewriting.sized import is_sized
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled, Variants, instantiate
from morello.search.solution import Solution
from morello.spec.machine import Target
from morello.spec.spec import Family, Spec

SHOWN = 12
"""Refusals that a message shows."""

VISITED = 400
"""Specs below the goal that are looked at."""


class NoImplementationError(MorelloError):
    """Nothing implements a Spec. ``refusals`` say why, the nearest to a program first."""

    def __init__(self, spec: Spec, refusals: list[Refusal]) -> None:
        self.spec = spec
        self.refusals = list(dict.fromkeys(refusals))
        shown = "".join(f"\n  {refusal}" for refusal in self.refusals[:SHOWN])
        more = len(self.refusals) - SHOWN
        if more > 0:
            shown += f"\n  and {more} more"
        super().__init__(
            f"nothing implements {spec}; what was refused, the nearest first:{shown}",
            help="add a kernel or a rule for one of these, or change the Spec or the target",
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
    if not kernels:
        reason = f"{context.target.name} has no kernel for '{operator.name}'"
        return NoImplementationError(goal, [Refusal(operator.name, (), reason)])
    ordered = sorted(nearest.items(), key=lambda item: (item[1], item[0]))
    return NoImplementationError(
        goal, [Refusal(f"{name} for {family}", (), why) for (name, why), (_, family) in ordered]
    )


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
    """Families would do, but at these sizes every way ends at a guard or a limit."""
    seen = {solution.canonical(goal)}
    pending = deque(seen)
    refusals: list[tuple[int, Refusal]] = []
    while pending and len(seen) < VISITED:
        spec = pending.popleft()
        for bound in solution.tasks[spec.family].bounds:
            own, below = _follow(solution.context, spec, bound.alternative)
            refusals += [(int(np.prod(spec.sizes)), r) for r in own]
            for child in map(solution.canonical, below if not own else []):
                if child not in seen and not np.isfinite(solution.intensity(child)):
                    seen.add(child)
                    pending.append(child)
    refusals.sort(key=lambda r: (r[0], str(r[1])))
    return NoImplementationError(goal, [r for _, r in refusals])


def _follow(
    context: Context, spec: Spec, alternative: Alternative
) -> tuple[list[Refusal], list[Spec]]:
    """What refuses an alternative for a Spec, and the sub-Specs that it leads to."""
    if isinstance(alternative, KernelAlternative):
        return _kernel_refusals(context.target, spec, alternative), []
    return _rule_refusals(context, spec, alternative)


def _scope(target: Target, spec: Spec, variables: dict[str, Any]) -> Scope:
    sizes = dict(zip(spec.family.operation.dims, spec.sizes, strict=True))
    used = {lv.name: u for lv, u in zip(target.bounded, spec.used, strict=True)}
    return Scope(target, variables, sizes, used)


def _kernel_refusals(target: Target, spec: Spec, alternative: KernelAlternative) -> list[Refusal]:
    match = alternative.match
    sizes = dict(zip(spec.family.operation.dims, spec.sizes, strict=True))
    scope = _scope(target, spec, match.scope_variables(sizes))
    name = f"{match.kernel.name} for {spec}"
    reasons = [text for text, holds in match.shape_conditions(sizes) if not holds]
    reasons += [
        f"'{unparse(guard)}' does not hold{_free_text(target, spec)}"
        for guard in match.kernel.guards
        if not evaluate(guard, scope)
    ]
    return [Refusal(name, (), reason) for reason in reasons]


def _free_text(target: Target, spec: Spec) -> str:
    parts = [
        f"{(lv.capacity or 0) - used} of {lv.capacity} free at {lv.name}"
        for lv, used in zip(target.bounded, spec.used, strict=True)
        if used >= 0
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _rule_refusals(
    context: Context, spec: Spec, alternative: RuleAlternative
) -> tuple[list[Refusal], list[Spec]]:
    variables = dict(alternative.choices)
    declaration = alternative.rule.declaration
    variables[declaration.match.variable] = spec_ref(spec.family)
    axis = alternative.axis
    if axis is not None:
        variables[axis] = 1
    shown = tuple(
        (n, choice_text(v)) for n, v in variables.items() if n in dict(alternative.choices)
    )
    name = f"{alternative.rule.name} for {spec}"
    scope = _scope(context.target, spec, variables)
    names = {axis} if axis else set()
    refusals = [
        Refusal(name, shown, f"'{unparse(g)}' does not hold")
        for g in declaration.guards
        if is_sized(g, names) and not evaluate(g, scope)
    ]
    step = instantiate(
        context.target,
        context.operators,
        spec.family,
        declaration.result,
        variables,
        scope.sizes,
        scope.used,
    )
    limits, below = _walk(context.target, step)
    return refusals + [Refusal(name, shown, limit) for limit in limits], below


def _walk(target: Target, step: Step) -> tuple[list[str], list[Spec]]:
    """Limits that a concrete step exceeds, and its sub-Specs."""
    match step:
        case Leaf():
            assert step.sizes is not None
            assert step.used is not None
            return [], [Spec(step.family, tuple(map(int, step.sizes)), tuple(map(int, step.used)))]
        case Sequence(steps=steps):
            parts = [_walk(target, s) for s in steps]
            return [r for rs, _ in parts for r in rs], [s for _, ss in parts for s in ss]
        case Variants(options=options):
            return next(_walk(target, s) for condition, s in options if condition)
        case Placed():
            limits, below = _walk(target, step.body)
            if not step.fits:
                limits.insert(0, _limit(step))
            return limits, below
        case Tiled():
            limits, below = _walk(target, step.full)
            if not step.guard:
                limits.insert(0, f"'{step.dim}' cannot be tiled by {step.step} here")
            return limits, below


def _limit(step: Placed) -> str:
    level = step.tensor.operand.level
    unit = "registers" if not level.addressable else f"grains of {level.grain} bytes"
    return (
        f"{step.source.name} does not fit in what is free of the {level.capacity} {unit} of {level}"
    )
