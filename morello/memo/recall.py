"""Answers from pages alone: a plan is read off choices, page by page, without any search.

Costs are not in the memo. Those of single Specs are computed again from their choices, by the
recurrence that the search evaluates, in the same operations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from morello.ir.spec import Family, Spec, Variant
from morello.memo.page import ANY, Page
from morello.memo.pages import Pages
from morello.memo.records import Key
from morello.records import replace
from morello.rewriting.alternatives import Alternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives
from morello.search.planning.coarsening import Coarsening
from morello.search.planning.families import discover
from morello.search.results.solution import Counts, Solution
from morello.search.solving.one_spec import Application, DoesNotApplyError, application
from morello.search.tables.options import Option, named_option


class Recalled:
    """Solved Specs as a memo has them.

    Where a page is missing after all, or makes a choice that does not apply, the goal is searched,
    and the search answers from then on: the same answers, later.
    """

    def __init__(
        self,
        context: Context,
        pages: Pages,
        solve: Callable[[], Solution],
        coarsening: Coarsening | None = None,
        *,
        strict: bool = False,
    ) -> None:
        """Answers for the definitions of a context.

        Args:
            context: What was searched.
            pages: Where its choices are.
            solve: Searches the goal, if a page is missing.
            coarsening: What the context's target lacks of the one that was asked for.
            strict: Whether a choice that does not apply is an error, and no reason to search.
        """
        self.coarsening = coarsening
        self.counts = Counts()
        self._strict = strict
        self._applied: dict[Spec, Application | None] = {}
        self._context = context
        self._pages = pages
        self._solve = solve
        self._solution: Solution | None = None
        self._every: dict[Family, tuple[Alternative, ...]] = {}
        self._live: dict[Family, tuple[Alternative, ...]] = {}
        self._found: dict[Variant, list[Page]] = {}
        self._intensities: dict[Spec, float] = {}

    @property
    def context(self) -> Context:
        """What the search could use."""
        return self._solution.context if self._solution else self._context

    def covers(self, goal: Spec) -> bool:
        """Whether the pages have the plan of a Spec, down to kernels.

        A page that says what cannot be is rejected.
        """
        pending, seen = [goal], set[Spec]()
        while pending:
            spec = pending.pop()
            page = self._page(spec)
            if page is None:
                return False
            spec = self.canonical(spec)
            if spec in seen:
                continue
            seen.add(spec)
            applied = self._application(spec, page)
            if applied is None:
                # That nothing implements the goal is an answer. Of a Spec that a choice leads to,
                # it is a contradiction.
                if spec != self.canonical(goal) or page.choice_at(spec.coordinates) is not None:
                    self._pages.reject_page(self._context, spec.variant, page)
                return False
            pending += [child for child, _ in applied.uses]
        return True

    @property
    def keys(self) -> frozenset[Key]:
        """Those of the pages that were looked at so far."""
        return frozenset(
            self._pages.key(self._context, variant, page)
            for variant, pages in self._found.items()
            for page in pages
        )

    def alternatives_of(self, family: Family) -> tuple[Alternative, ...]:
        """Alternatives of a family that lead to kernels, in the order that breaks ties.

        Only the graph of families says which lead nowhere: no page is kept of where they lead.
        """
        family = self.context.searched(family)
        if family not in self._live:
            nodes = discover(self.context, family).nodes
            self._live |= {f: node.alternatives for f, node in nodes.items()}
            self._live.setdefault(family, ())
        return self._live[family]

    def canonical(self, spec: Spec) -> Spec:
        """The Spec without the levels that are no coordinates of its family."""
        page = None if self._solution else self._page(spec)
        if page is None:
            return self._search().canonical(spec)
        axes = page.axes[len(spec.sizes) :]
        used = (ANY if axis == (ANY,) else u for axis, u in zip(axes, spec.used, strict=True))
        return replace(spec, used=tuple(used))

    def choice(self, spec: Spec) -> Option | None:
        """What attains the least cost, the first in the order that breaks ties; if anything."""
        page = None if self._solution else self._page(spec)
        if page is None:
            return self._search().choice(spec)
        applied = self._application(self.canonical(spec), page)
        if applied is not None:
            return applied.option
        nothing = page.choice_at(spec.coordinates) is None
        return None if nothing else self._search().choice(spec)

    def _application(self, spec: Spec, page: Page) -> Application | None:
        """What a page chose for a canonical Spec, if that may be believed, whoever wrote the page.

        Guards and limits hold, and it does not need to know how full a level is that is no
        coordinate.
        """
        if spec not in self._applied:
            choice = page.choice_at(spec.coordinates)
            option = choice and self._option(spec.family, choice.name, choice.parameters)
            self._applied[spec] = self._applied_to(spec, option) if option else None
        return self._applied[spec]

    def _applied_to(self, spec: Spec, option: Option) -> Application | None:
        levels = zip(self.context.target.bounded, spec.used, strict=True)
        ignored = {level.name for level, used in levels if used == ANY}
        try:
            if ignored & option.alternative.consumes:
                raise DoesNotApplyError(f"'{option.name}' was chosen whatever a level holds")
            return application(self.context, spec, option)
        except DoesNotApplyError:
            if self._strict:
                raise
            return None

    def intensity(self, spec: Spec) -> float:
        """Least cost in cycles per iteration, float32; infinite if nothing implements it."""
        if self._solution is not None:
            return self._solution.intensity(spec)
        key = self.canonical(spec)
        if key not in self._intensities:
            self._intensities[key] = self._intensity(key)
        return self._intensities[key]

    def _intensity(self, spec: Spec) -> float:
        option = self.choice(spec)
        if option is None:
            return float("inf")
        if self._solution is not None:
            return self._solution.intensity(spec)
        applied = self._applied[spec]
        assert applied is not None  # else the search has answered
        below = [np.float32(self.intensity(child)) for child, _ in applied.uses]
        return float(applied.intensity(below))

    def _option(
        self, family: Family, name: str, parameters: tuple[tuple[str, str], ...]
    ) -> Option | None:
        """What a recorded choice names, of the family's alternatives."""
        family = self.context.searched(family)
        if family not in self._every:
            live = self._live.get(family)  # without those that lead nowhere, which nobody chose
            self._every[family] = live or tuple(alternatives(self.context, family))
        return named_option(self.context.target, self._every[family], name, parameters)

    def _page(self, spec: Spec) -> Page | None:
        known = self._found.setdefault(spec.variant, [])
        axes = tuple((value,) for value in spec.coordinates)
        page = next((page for page in known if page.covers(axes)), None)
        if page is None:
            page = self._pages.page(self._context, spec)
            if page is not None:
                known.append(page)
        return page

    def _search(self) -> Solution:
        if self._solution is None:
            self._solution = self._solve()
            self.counts += self._solution.counts
        return self._solution
