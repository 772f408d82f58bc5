"""What is done with a table, step by step: the steps of an alternative, ready to be evaluated.

Steps are planned once for all variants that share a form of the alternative, as long as their
children have the same boxes.
"""

from __future__ import annotations

from collections.abc import Mapping

from cachetools import LRUCache

from morello.rewriting.bind import Bound
from morello.search.arranged import arrange
from morello.search.box import Box
from morello.search.sweep import Sweep, SweepPlan
from morello.search.sweep_plan import SweepPlanner
from morello.search.updates import Update, UpdatePlan, plan_updates
from morello.spec.spec import Variant

Step = Sweep | Update
"""Something that improves a table."""

REMEMBERED = 32 << 20
"""Bytes of plans to keep: variants of a family, which share them, are solved one after another."""

_Plans = SweepPlan | tuple[UpdatePlan, ...]


class StepPlanner:
    """Plans the steps of one search."""

    def __init__(self) -> None:
        self._sweeps = SweepPlanner()
        self._plans: LRUCache[object, _Plans] = LRUCache(REMEMBERED, _bytes)

    def steps(
        self, bound: Bound, variant: Variant, boxes: Mapping[Variant, Box]
    ) -> tuple[Step, ...]:
        """The steps of an alternative, in the order of its options.

        Args:
            bound: The alternative.
            variant: Whose it is.
            boxes: Of all variants of the search.
        """
        children = [boxes[child] for child in bound.variants]
        own = tuple(child == variant for child in bound.variants)
        key = (bound.form, own, *(child.key for child in children))
        plans = self._plans.get(key)
        if plans is None:
            arranged = arrange(bound.form, boxes[variant], children, own)
            plans = self._sweeps.plan(arranged) or tuple(plan_updates(arranged))
            if _bytes(plans) <= REMEMBERED:
                self._plans[key] = plans
        if isinstance(plans, SweepPlan):
            return (Sweep(plans, bound.variants),)
        return tuple(Update(plan, bound.variants) for plan in plans)


def _bytes(plans: _Plans) -> int:
    """Memory that plans take; groups of sweeps are shared further and not counted."""
    if isinstance(plans, SweepPlan):
        return sum(gather.bytes for gather in plans.gathers if gather is not None)
    return sum(plan.bytes for plan in plans)
