"""Solved variants, and how to look a Spec up in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from msgspec import Struct

from morello.ir.spec import Family, Spec, Variant
from morello.records import replace
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.search.planning.coarsening import Coarsening
from morello.search.solving.solve import NOTHING
from morello.search.tables.box import IRRELEVANT, Box
from morello.search.tables.gather import Table
from morello.search.tables.options import Option
from morello.search.tables.solved import Solved


class Counts(Struct, frozen=True):
    """What a search had to do: families and Specs that were solved, families that were not."""

    families: int = 0
    cells: int = 0
    recalled: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.families + other.families,
            self.cells + other.cells,
            self.recalled + other.recalled,
        )


@dataclass(frozen=True)
class Solution:
    """Solved variants with all that is needed to read them.

    Variants and families are those that were searched (`Context.searched`). Whoever asks may name
    others: answers are the same for all values that decide nothing.

    ``alternatives``: those of every family that lead to kernels, in the order that breaks ties.
    ``recalled``: variants whose choices are a memo's; of the others, all alternatives were tried.
    ``context`` is what was searched: with a ``coarsening``, a coarser target than was asked for.
    """

    context: Context
    alternatives: Mapping[Family, tuple[Alternative, ...]]
    solved: Mapping[Variant, Solved]
    recalled: frozenset[Variant] = frozenset()
    coarsening: Coarsening | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing was recalled."""
        return not self.recalled

    @property
    def tried(self) -> Mapping[Variant, Solved]:
        """Variants of which all alternatives were tried: those that were not recalled."""
        return {v: s for v, s in self.solved.items() if v not in self.recalled}

    @property
    def counts(self) -> Counts:
        """What the search had to solve, and what it recalled."""
        tried = self.tried
        families = {variant.family for variant in tried}
        return Counts(
            len(families),
            sum(solved.box.cells for solved in tried.values()),
            len({variant.family for variant in self.recalled} - families),
        )

    @cached_property
    def boxes(self) -> Mapping[Variant, Box]:
        """Coordinates of every variant."""
        return {variant: solved.box for variant, solved in self.solved.items()}

    @cached_property
    def tables(self) -> Mapping[Variant, Table]:
        """Costs of every variant."""
        return {variant: solved.costs for variant, solved in self.solved.items()}

    def alternatives_of(self, family: Family) -> tuple[Alternative, ...]:
        """Alternatives of a family that lead to kernels, in the order that breaks ties."""
        return self.alternatives[self.context.searched(family)]

    def canonical(self, spec: Spec) -> Spec:
        """The Spec without the levels that are no coordinates of its family."""
        axes = self.solved[self._variant(spec)].box.axes[len(spec.sizes) :]
        used = tuple(
            IRRELEVANT if axis[0] == IRRELEVANT else u
            for axis, u in zip(axes, spec.used, strict=True)
        )
        return replace(spec, used=used)

    def covers(self, spec: Spec) -> bool:
        """Whether the Spec is one of those that were solved."""
        variant = self._variant(spec)
        if variant not in self.solved:
            return False
        axes = self.solved[variant].box.axes
        return all(
            axis[0] == IRRELEVANT or value in axis
            for axis, value in zip(axes, spec.coordinates, strict=True)
        )

    @property
    def families(self) -> int:
        """Number of families that were solved."""
        return len({variant.family for variant in self.solved})

    @property
    def cells(self) -> int:
        """Number of Specs that were solved."""
        return sum(solved.box.cells for solved in self.solved.values())

    @property
    def bytes(self) -> int:
        """Memory that the tables take."""
        return sum(s.costs.nbytes + s.choices.nbytes for s in self.solved.values())

    def intensity(self, spec: Spec) -> float:
        """Least cost in cycles per iteration, as solved; infinite if nothing implements it."""
        solved = self.solved.get(self._variant(spec))
        return float("inf") if solved is None else float(solved.costs[_index(solved.box, spec)])

    def choice(self, spec: Spec) -> Option | None:
        """What attains the least cost, the first in the order that breaks ties."""
        solved = self.solved[self._variant(spec)]
        choice = int(solved.choices[_index(solved.box, spec)])
        return None if choice == NOTHING else solved.options[choice]

    def _variant(self, spec: Spec) -> Variant:
        """Where a Spec is solved, whatever the values of its scalars."""
        return self.context.searched_variant(spec.variant)


def _index(box: Box, spec: Spec) -> tuple[int, ...]:
    return tuple(int(box.rank(a, np.asarray(v))) for a, v in enumerate(spec.coordinates))
