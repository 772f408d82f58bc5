"""How near a rule or kernel that is not chosen comes to being chosen."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
from msgspec import Struct

from morello.ir.spec import Spec
from morello.report.plan import Plan, occurrences
from morello.report.usage.counts import Key, key_of
from morello.search.results.reconstruct import PlanNode
from morello.search.results.solved_view import SolvedView
from morello.search.solving.one_spec import applications
from morello.search.tables.options import Option


class Closest(Struct, frozen=True):
    """An option that applies to a Spec of a program.

    ``ratio``: the cost of the best program that begins with it, over that of the chosen one; at
    least 1.
    """

    ratio: float
    spec: Spec
    option: Option


def closest(plan: Plan, keys: Collection[Key]) -> dict[Key, Closest]:
    """For rules and kernels that a plan has not: where in it they would cost least more.

    Those that apply to no Spec of the plan are missing.
    """
    found: dict[Key, Closest] = {}
    for tree in plan.trees:
        for node, _ in occurrences(tree.root):
            for one in _at(tree.solved, node, keys):
                key = key_of(one.option.alternative)
                if key not in found or one.ratio < found[key].ratio:
                    found[key] = one
    return found


def _at(solved: SolvedView, node: PlanNode, keys: Collection[Key]) -> Iterator[Closest]:
    known = [a for a in solved.alternatives_of(node.spec.family) if key_of(a) in keys]
    if not known:
        return
    spec = solved.canonical(node.spec)
    least = solved.intensity(spec)
    for application in applications(solved.context, spec, known):
        below = (np.float32(solved.intensity(child)) for child, _ in application.uses)
        intensity = float(application.intensity(below))
        if np.isfinite(intensity):
            ratio = intensity / least if least else (1.0 if intensity == least else float("inf"))
            yield Closest(ratio, spec, application.option)
