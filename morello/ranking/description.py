"""What a model is told of a plan: features of the whole, and the graph of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from morello.ranking.features import PlanFeatures, remembered_shares
from morello.ranking.graphs import NO_GRAPH, PlanGraph, PlanGraphs
from morello.report.plan import Plan


@dataclass(frozen=True, slots=True)
class Description:
    """A plan in numbers. Features that are 0 may be left out."""

    features: Mapping[str, float]
    graph: PlanGraph = field(default=NO_GRAPH, repr=False)


class Describer:
    """Descriptions of plans that share parts, such as those of a pool."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        shares = remembered_shares()
        self._features = PlanFeatures(shares)
        self._graphs = PlanGraphs(shares)

    def of(self, plan: Plan) -> Description:
        """What there is to say of one plan."""
        return Description(self._features.of(plan), self._graphs.of(plan))
