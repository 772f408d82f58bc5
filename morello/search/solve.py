"""From the leaves upwards: the least cost of every Spec of a variant, and what attains it.

In units of cycles per iteration the recurrence over the alternatives ``a`` of a Spec ``x`` is

    I(x) = min over a of ( sum over uses u of weight_u(x) * I(child_u(x)) + base_a(x) )

evaluated for all x of a variant at once, in float32. Alternatives that lead to other variants are
evaluated once, since those are solved. Tilings lead to smaller Specs of the same variant: for one
dimension, tile sizes in increasing order see only cells that are final as far as that dimension
is concerned; sweeps over the dimensions are repeated until each has changed nothing. That fixed
point is unique, since every Spec depends on smaller ones only, and it is reached from above, so
that the result does not depend on the order of anything.

The choice of a Spec is the first of its options, in `Option.order`, that attains the least cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from morello.rewriting.bind import Bound
from morello.search.box import Box
from morello.search.gather import Table
from morello.search.needs import Task
from morello.search.options import Option
from morello.search.sweep import Scratch, Sweep, SweepPlanner
from morello.search.updates import Update, updates
from morello.spec.spec import Variant

Choices = npt.NDArray[np.int16]

NOTHING = -1
"""The choice of a Spec that nothing implements."""

UNDECIDED = np.iinfo(np.int16).max
"""The choice of a Spec whose cost is known, but not yet what attains it."""

Step = Sweep | Update
"""Something that improves a table."""


@dataclass(frozen=True, slots=True)
class Solved:
    """A variant's box, solved.

    ``costs``: cycles per iteration, float32, infinite where nothing implements the Spec.
    ``choices``: what attains them, as positions in ``options``.
    """

    box: Box
    costs: Table
    choices: Choices
    options: tuple[Option, ...]


def solve_variant(
    task: Task,
    boxes: Mapping[Variant, Box],
    tables: Mapping[Variant, Table],
    choices: Choices,
    planner: SweepPlanner,
    scratch: Scratch,
) -> None:
    """Solve every Spec of the variant's box.

    Args:
        task: The variant.
        boxes: Boxes of all variants of the search.
        tables: Costs of the variant's children, and its own, to be written.
        choices: Of the variant, to be written.
        planner: Shared by the variants of one search.
        scratch: For this process alone.
    """
    solver = _Solver(tables[task.variant], choices, tables, scratch)
    again: list[tuple[int, Step]] = []
    first = 0
    for bound in task.bounds:
        for step in _steps(bound, task.box, boxes, planner):
            if step.leads_to(task.variant):
                again.append((first, step))
            else:
                solver.take(first, step)
        first += len(bound.tiles) or 1
    if again:
        solver.settle(again)


def _steps(
    bound: Bound, box: Box, boxes: Mapping[Variant, Box], planner: SweepPlanner
) -> Iterable[Step]:
    sweep = planner.plan(bound, box, boxes)
    return updates(bound, box, boxes) if sweep is None else (sweep,)


class _Solver:
    """The tables of one variant while it is being solved."""

    def __init__(
        self,
        costs: Table,
        choices: Choices,
        tables: Mapping[Variant, Table],
        scratch: Scratch,
    ) -> None:
        costs.fill(np.inf)
        choices.fill(NOTHING)
        self.costs, self.choices = costs, choices
        self.known = tables
        self.scratch = scratch

    def take(self, first: int, step: Step) -> None:
        """Take what is cheaper; of equal costs the earlier option stays."""
        view, chosen = step.view(self.costs), step.view(self.choices)
        for position, where, sliced, result in step.results(self.known, self.scratch):
            there, option = view[where], chosen[where]
            less = result < there
            np.copyto(there, result, where=less)
            np.copyto(option, first + position, where=less)
            if not sliced:
                view[where], chosen[where] = there, option

    def settle(self, steps: list[tuple[int, Step]]) -> None:
        """Improve by steps that lead to the variant itself until none does, and attribute.

        Args:
            steps: Each with the position of its first option.
        """
        before = self.costs.copy()
        for _, step in steps:
            self._improve(step)
        final = False
        while not final:
            self.choices[self.costs < before] = UNDECIDED
            final = True
            for first, step in steps:
                final &= self._attribute(first, step)

    def _improve(self, step: Step) -> None:
        view = step.view(self.costs)
        for _, where, sliced, result in step.results(self.known, self.scratch):
            there = view[where]
            np.minimum(there, result, out=there)
            if not sliced:
                view[where] = there

    def _attribute(self, first: int, step: Step) -> bool:
        """Choose the step where it attains the cost and comes before what is chosen so far.

        Returns:
            Whether it improves nothing any more: otherwise costs were not final.
        """
        final = True
        pending = self.choices > first
        view, chosen, open_ = (step.view(a) for a in (self.costs, self.choices, pending))
        for position, where, sliced, result in step.results(self.known, self.scratch):
            there = view[where]
            if (result < there).any():
                final = False
                view[where] = np.minimum(there, result)
            hit = (result == there) & open_[where]
            if not hit.any():
                continue
            option = chosen[where]
            np.copyto(option, first + position, where=hit)
            open_[where] &= ~hit
            if not sliced:
                chosen[where] = option
        return final
