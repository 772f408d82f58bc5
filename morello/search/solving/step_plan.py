"""What is done with a table, step by step: the steps of an alternative, ready to be evaluated.

Steps are planned once for all alternatives whose bindings have equal arrays, as long as their boxes
and those of their children are the same: a loop over a dimension is much the same in most families.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from cachetools import LRUCache

from morello.ir.spec import Variant
from morello.rewriting.bind import Bound, SharedBinding
from morello.search.solving.arranged import arrange
from morello.search.solving.sweep import Sweep, SweepPlan
from morello.search.solving.sweep_plan import SweepPlanner
from morello.search.solving.updates import Update, UpdatePlan, plan_updates
from morello.search.tables.box import Box

Step = Sweep | Update
"""Something that improves a table."""

REMEMBERED = 32 << 20
"""Bytes of plans to keep: most that share one are solved soon after another."""

_Plans = SweepPlan | tuple[UpdatePlan, ...]


class StepPlanner:
    """Plans the steps of one search."""

    def __init__(self) -> None:
        self._sweeps = SweepPlanner()
        self._plans: LRUCache[object, _Plans] = LRUCache(REMEMBERED, _bytes)
        self._digests: dict[SharedBinding, bytes] = {}

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
        arrays = self._digest(bound.shared)
        key = (arrays, own, boxes[variant], *children)
        plans = self._plans.get(key)
        if plans is None:
            arranged = arrange(bound.shared, boxes[variant], children, own)
            plans = self._sweeps.plan(arranged) or tuple(plan_updates(arranged))
            # The cache raises an error for what is larger than all of it.
            if _bytes(plans) <= REMEMBERED:
                self._plans[key] = plans
        if isinstance(plans, SweepPlan):
            return (Sweep(plans, bound.variants),)
        return tuple(Update(plan, bound.variants) for plan in plans)

    def _digest(self, shared: SharedBinding) -> bytes:
        """The same for bindings with equal arrays, whatever their families."""
        found = self._digests.get(shared)
        if found is None:
            found = self._digests[shared] = _digest(shared)
        return found


def _digest(shared: SharedBinding) -> bytes:
    """A digest of all that plans take from a binding: not of the families that it leads to."""
    arrays = [shared.mask, shared.cost]
    for use in shared.uses:
        arrays += (use.weight, *map(np.asarray, use.coordinates))
    digest = blake2b(repr((shared.tiles, [(a.shape, a.dtype.str) for a in arrays])).encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.digest()


def _bytes(plans: _Plans) -> int:
    """Memory that plans take; groups of sweeps are shared further and not counted."""
    if isinstance(plans, SweepPlan):
        return sum(gather.bytes for gather in plans.gathers if gather is not None)
    return sum(plan.bytes for plan in plans)
