"""Why a Spec begins as it does: what else it could begin with at what cost, and what refused."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from msgspec import Struct

from morello.ir.spec import Spec
from morello.report.plan import CostShare, shares
from morello.rewriting.alternatives import Refusal
from morello.rewriting.enumeration import alternatives
from morello.rewriting.patterns import implements
from morello.search.results.reconstruct import Reconstruction, candidates
from morello.search.results.refusals import refusals_at
from morello.search.results.solved_view import SolvedView
from morello.search.tables.options import Option


class Beginning(Struct, frozen=True):
    """An option that applies to a Spec.

    ``cycles`` is the least predicted cost of a program that begins with it.
    """

    option: Option
    cycles: float


@dataclass(frozen=True)
class Why:
    """Everything that a solved Spec could begin with, and what keeps the rest from it."""

    solved: SolvedView
    spec: Spec

    @cached_property
    def beginnings(self) -> tuple[Beginning, ...]:
        """Options that apply, the cheapest first: that is the choice itself."""
        volume = prod(self.spec.sizes)
        found = sorted(candidates(self.solved, self.spec), key=lambda c: c.order)
        return tuple(Beginning(c.option, c.intensity * volume) for c in found)

    @cached_property
    def refused(self) -> tuple[Refusal, ...]:
        """What does not apply: whatever the sizes, and then at these sizes, with the numbers.

        Kernels for other operators are left out.
        """
        context, family = self.solved.context, self.spec.family
        refusals: list[Refusal] = []
        alternatives(context, family, refusals)
        operator = family.operation.operator
        others = {k.name for k in context.target.kernels if not implements(k, operator)}
        here = refusals_at(context, self.solved.canonical(self.spec))
        return tuple(r for r in dict.fromkeys([*refusals, *here]) if r.name not in others)

    def costs(self, beginning: Beginning) -> list[CostShare]:
        """What each coefficient makes of the cheapest program that begins so."""
        spec = self.solved.canonical(self.spec)
        plan = self._plans.beginning_with(beginning.option, spec)
        return shares(self.solved.context.target, plan)

    @cached_property
    def _plans(self) -> Reconstruction:
        """Shared by all beginnings: most of what is below them is the same."""
        return Reconstruction(self.solved)
