"""That nothing implements a goal: the error, and why no family of kernels does."""

from __future__ import annotations

from collections import deque

from morello.errors import MorelloError
from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import composition_of
from morello.ir.operators import Operation
from morello.ir.spec import Family, Spec
from morello.ir.target import Target
from morello.rewriting.alternatives import Refusal
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.rewriting.matching import match_kernel
from morello.rewriting.meaning_cost import computes_in
from morello.rewriting.patterns import implements

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
    searched = context.searched(goal.family)
    operator = searched.operation.operator
    kernels = [k for k in context.target.kernels if implements(k, operator)]
    nearest: dict[tuple[str, str], tuple[int, str]] = {}
    for family in _below(context, searched):
        if family.operation.operator != operator:
            continue
        distance = sum(o.level.distance for o in family.operands)
        for kernel in kernels:
            reason = match_kernel(kernel, context.target, family)
            if isinstance(reason, str):
                found = (distance, str(family))
                nearest[kernel.name, reason] = min(found, nearest.get((kernel.name, reason), found))
    advice = _another_type(context.target, goal.family) or taken_apart(goal.family)
    if not kernels:
        named = goal.family.operation.operator.label
        reason = f"{context.target.name} has no kernel for '{named}'"
        return NoImplementationError(goal, [Refusal(named, (), reason)], advice)
    ordered = sorted(nearest.items(), key=lambda item: (item[1], item[0]))
    refusals = [Refusal(f"{name} for {family}", (), why) for (name, why), (_, family) in ordered]
    return NoImplementationError(goal, refusals, advice)


def _another_type(target: Target, family: Family) -> str:
    """Where the target computes something in other element types only: what to do about it."""
    for operation, own in _single(family):
        able = [t for t in DTYPES.values() if computes_in(target, operation, t)]
        if able and own not in able:
            does = f"{target.name} computes '{operation.operator.label}' in {able[0]}, not in {own}"
            return f"{does}: declare what it computes as {able[0]}, and convert that"
    return ""


def taken_apart(family: Family) -> str:
    """Advice where one operation moves elements and computes: a statement may do one of these."""
    for operation, _ in _single(family):
        inputs = operation.operands[:-1]
        reads = any(index.margins for access in inputs for index in access)
        operator = operation.operator
        if (reads and not operator.slices) or (operation.framed and not operator.frames):
            does = (
                f"'{operator.label}' {'reads' if reads else 'writes'} between margins and computes"
            )
            return (
                f"{does}, and is as it is declared since a rule or a kernel names it: "
                "leave what moves elements to an operator of its own"
            )
    return ""


def _single(family: Family) -> list[tuple[Operation, DType]]:
    """The operations of one statement that a family is of, each with the type of its result."""
    composition = composition_of(family.operation.operator)
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
