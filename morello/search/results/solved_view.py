"""What can be asked of a search that is done, wherever its results are kept."""

from __future__ import annotations

from typing import Protocol

from morello.ir.spec import Family, Spec
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.search.planning.coarsening import Coarsening
from morello.search.results.solution import Counts
from morello.search.tables.options import Option


class SolvedView(Protocol):
    """Solved Specs: in tables (`morello.search.results.solution`), or recalled from a memo."""

    @property
    def coarsening(self) -> Coarsening | None:
        """What was left out to stay within a budget, if anything."""

    @property
    def counts(self) -> Counts:
        """What was searched so far, to answer."""

    @property
    def context(self) -> Context:
        """What the search could use."""

    def alternatives_of(self, family: Family) -> tuple[Alternative, ...]:
        """Alternatives of a family that may lead to kernels, in the order that breaks ties."""

    def canonical(self, spec: Spec) -> Spec:
        """The Spec without the levels that are no coordinates of its family."""

    def intensity(self, spec: Spec) -> float:
        """Least cost in cycles per iteration, float32; infinite if nothing implements it."""

    def choice(self, spec: Spec) -> Option | None:
        """What attains the least cost, the first in the order that breaks ties; if anything."""
