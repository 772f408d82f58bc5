"""From the leaves upwards: the least cost of every Spec of a variant, and what attains it.

The recurrence, for every Spec ``x`` of a variant's box, in float32 and cycles per iteration:

    costs[x]   = min over options a with mask_a[x] of
                     ( sum over uses u of a of  weight_u[x] * costs[child_u(x)] ) + base_a[x]
    choices[x] = the first a, in `Option.order`, that attains it; NOTHING where no mask holds

    base_a[x]   = cost_a[x] / volume(x)
    weight_u[x] = count_u[x] * volume(child_u(x)) / volume(x); 0 where the sub-Spec is not there

``mask``, ``cost`` and ``weight`` are those of a `Bound`. ``child_u(x)``, a Spec at the coordinates
of the use, may be of another variant, with a table of its own. An option is an alternative with a
tile size.

An example with one dimension, in a box of n = 1, 2, 3, 4. A kernel ``one`` is for n = 1, at 2
cycles, a kernel ``two`` for n = 2, at 3. A loop with tiles of t = 1 or t = 2 costs 1 cycle a step.
It leads to the same variant, so it reads the rows above its own: n = t, and the remainder n = 1.

     n | one    two    loop, t = 1    loop, t = 2                     | costs   choices
     1 | 2/1                                                          | 2       one
     2 |        3/2    1*2 + 2/2                                      | 1.5     two
     3 |               1*2 + 3/3      2/3*1.5 + 1/3*2 + 2/3           | 2.333   loop, t = 2
     4 |               1*2 + 4/4      1*1.5 + 2/4                     | 2       loop, t = 2

So n = 3 takes 2.333 * 3 = 7 cycles: 3 of ``two``, 2 of ``one``, and 2 steps. Tiles that fill n have
weight 1.

All x are evaluated at once. Alternatives that lead to other variants are evaluated once, since
those are solved. Tilings lead to smaller Specs of the same variant: for one dimension, tile sizes
in increasing order see only cells that are final as far as that dimension is concerned; sweeps over
the dimensions are repeated until each has changed nothing. That fixed point is unique, since every
Spec depends on smaller ones only, and it is reached from above, so that the result does not depend
on the order of anything.

A choice is taken together with the cost: steps come in the order of options at first, so that of
equal costs the earlier stays. When they are repeated, a tie goes to the option that comes before.
Costs only fall; an option that attains the final cost of a Spec is evaluated after its children are
final.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

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
                # Kept after the step: its own changes need no second look. A tile size reads
                # smaller sizes than it changes, and those are done.
                again.append(_Repeated(first, step, costs.copy()))
        first += len(bound.tiles) or 1
    changes = bool(again)
    while changes:
        changes = False
        for repeated in again:
            # Costs only fall: a cell that differs has changed since, and none changes back.
            changed = costs != repeated.seen
            if repeated.step.repeat(costs, choices, repeated.first, tables, scratch, changed):
                np.copyto(repeated.seen, costs)
                changes = True


class _Repeated(Struct, frozen=True):
    """A step that leads to its own variant: its first option, and the costs that it left behind."""

    first: int
    step: Step
    seen: Table
