"""Choosing among plans with a model: only where it is sure that it gains.

The affine choice stays unless another plan is faster by more than the model's ``gain``, in the view
of nearly all of its ensembles. So what the model does not know changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from morello.ranking.description import Describer, Description
from morello.ranking.guide import Guide
from morello.ranking.model import Model
from morello.ranking.moving import moved
from morello.records import replace
from morello.report.documents import Document
from morello.report.plan import Plan
from morello.search.results.reconstruct import PlanNode

DRAWN = 64
"""Plans that a pool is taken from, unless the caller says otherwise."""


@dataclass(frozen=True)
class Ranking:
    """What a model says of some plans, the search's choice first.

    ``ratios``: of each plan, its time over that of the first, as the model expects; ``bounds``:
    what that is below, as far as the ensembles agree. ``chosen``: a place among them. ``plans``
    says of each what it is, and ``predicted`` its cycles. ``moved``: why the first of `order` is
    that, as `morello.ranking.moving` says.
    """

    ratios: tuple[float, ...]
    bounds: tuple[float, ...]
    chosen: int
    digest: str
    predicted: tuple[float, ...]
    plans: tuple[str, ...] = ()
    moved: tuple[tuple[str, float], ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """Places by what the model expects, the fastest first."""
        return tuple(sorted(range(len(self.ratios)), key=lambda place: self.ratios[place]))

    @property
    def unsure(self) -> bool:
        """Whether it expects another plan to be faster, and does not know it well enough."""
        return self.chosen == 0 and self.order[0] != 0

    def to_json(self) -> Document:
        """For tools: of each plan its expected time over that of the search's choice."""
        return {
            "model": self.digest,
            "ratios": list(self.ratios),
            "bounds": list(self.bounds),
            "predicted": list(self.predicted),
            "plans": list(self.plans),
            "moved": [{"feature": name, "by": by} for name, by in self.moved],
            "chosen": self.chosen,
            "unsure": self.unsure,
        }

    def __str__(self) -> str:
        place = self.order[0]
        told = f"of {len(self.ratios)} plans"
        if self.chosen:
            gained = 1 / self.ratios[self.chosen] - 1
            return f"{told} it chose another one, for {gained:.0%}"
        if self.unsure:
            return f"{told} it is unsure: another may be {1 / self.ratios[place] - 1:.1%} faster"
        return f"{told} it expects the search's choice to be the fastest"


class DrawnPlans:
    """Plans of a pool for one goal, with what a model says of them, if there is one.

    Attributes:
        choices: The plans, one for each computation of the goal; the search's first.
        ranking: By the model.
        chosen: A place among them: the model's choice, or the search's.
    """

    def __init__(
        self,
        choices: Sequence[Sequence[PlanNode]],
        plans: Sequence[Plan],
        model: Model | None,
    ) -> None:
        """Describe them, and rank them."""
        describer = Describer()
        self.choices = choices
        self._model = model
        self._described = [describer.of(plan) for plan in plans]
        self._predicted = [plan.cycles for plan in plans]
        self.ranking: Ranking | None = None
        if model is not None:
            found = ranking(model, self._described, self._predicted)
            self.ranking = replace(
                found,
                plans=tuple(plan.summary() for plan in plans),
                moved=moved(model, self._described[0], self._described[found.order[0]]),
            )
        self.chosen = self.ranking.chosen if self.ranking is not None else 0

    @property
    def guide(self) -> Guide:
        """What says which of them to measure."""
        return Guide(self._predicted, self._described, self._model)


def ranking(model: Model, described: Sequence[Description], predicted: Sequence[float]) -> Ranking:
    """What a model says of plans for one goal; the first is the search's choice.

    Args:
        model: What ranks.
        described: What there is to say of each plan.
        predicted: Cycles of each.
    """
    scores = np.log(np.asarray(predicted)) + model.corrections(described)
    compared = scores - scores[:, :1]
    mean = compared.mean(axis=0)
    bounds = mean + model.about.deviations * compared.std(axis=0)
    best = int(np.argmin(bounds))
    chosen = best if bounds[best] < log(1 - model.about.gain) else 0
    ratios, below = (tuple(map(exp, values.tolist())) for values in (mean, bounds))
    return Ranking(ratios, below, chosen, model.digest, tuple(predicted))
