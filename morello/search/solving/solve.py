"""From the leaves upwards: the least cost of every Spec of a variant, and what attains it.

In units of cycles per iteration the recurrence over the alternatives ``a`` of a Spec ``x`` is

    I(x) = min over a of ( sum over uses u of weight_u(x) * I(child_u(x)) + base_a(x) )

evaluated for all x of a variant at once, in float32. Alternatives that lead to other variants are
evaluated once, since those are solved. Tilings lead to smaller Specs of the same variant: for one
dimension, tile sizes in increasing order see only cells that are final as far as that dimension
is concerned; sweeps over the dimensions are repeated until each has changed nothing. That fixed
point is unique, since every Spec depends on smaller ones only, and it is reached from above, so
that the result does not depend on the order of anything.

The choice of a Spec is the first of its options, in `Option.order`, that attains the least cost. It
is taken together with the cost: steps come in the order of options at first, so that of equal costs
the earlier stays. When they are repeated, a tie goes to the option that comes before. Costs only
fall; an option that attains the final cost of a Spec is evaluated after its children are final.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from morello.ir.spec import Variant
from morello.search.planning.demand import Task
from morello.search.solving.step_plan import Step, StepPlanner
from morello.search.tables.box import Box
from morello.search.tables.gather import Table
from morello.search.tables.scratch import Choices, Scratch

NOTHING = -1
"""The choice of a Spec that nothing implements."""


def solve_variant(
    task: Task,
    boxes: Mapping[Variant, Box],
    tables: Mapping[Variant, Table],
    choices: Choices,
    planner: StepPlanner,
    scratch: Scratch,
) -> None:
    """Solve every Spec of the variant's box.

    Args:
        task: The variant.
        boxes: Boxes of all variants of the search.
        tables: Costs of the variant's children, and its own, to be written; as they are stored.
        choices: Of the variant, to be written; as they are stored.
        planner: Shared by the variants of one search.
        scratch: For this process alone.
    """
    costs = tables[task.variant]
    costs.fill(np.inf)
    choices.fill(NOTHING)
    again: list[_Repeated] = []
    first = 0
    for bound in task.bounds:
        for step in planner.steps(bound, task.variant, boxes):
            step.improve(costs, choices, first, tables, scratch)
            if step.leads_to(task.variant):
                again.append(_Repeated(first, step, costs.copy()))
        first += len(bound.tiles) or 1
    changes = bool(again)
    while changes:
        changes = False
        for repeated in again:
            changed = costs != repeated.seen
            if repeated.step.repeat(costs, choices, repeated.first, tables, scratch, changed):
                np.copyto(repeated.seen, costs)
                changes = True


@dataclass(frozen=True, slots=True)
class _Repeated:
    """A step that leads to its own variant: its first option, and the costs that it left behind."""

    first: int
    step: Step
    seen: Table
