"""A plan as a graph: its parts, each described in numbers, under those that they are part of.

`features` describes a plan as a whole. Here each part keeps what is its own: how large it is, where
its operands lie, what loops it has, what it costs, and how often it runs. So a model can learn what
parts do to each other. A part that is used in several places is one node.

Names are of the same two kinds as in `features`: those with a colon mean something to models for
one target only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2, prod

from msgspec import Struct

from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.ranking.features import (
    OPERANDS,
    Shares,
    remembered_shares,
    rows_apart,
    trips_and_buffers,
)
from morello.report.plan import CostShare, Plan
from morello.search.results.reconstruct import PlanNode

LEAST = 1e-3
"""Of a plan's cycles, what a part has to take with all below it to be a node."""

SIZES = 5

Part = Mapping[str, float]
"""Features of a part of a plan, wherever it is used; those that are 0 are left out."""


class PlanGraph(Struct, frozen=True):
    """The parts of a plan, each before those that are part of it.

    Attributes:
        parts: The nodes.
        runs: How often each runs in a call.
        shares: Of all cycles, what each takes without what is below it.
        edges: Places of a part and of one below it.
        weights: Of each edge, the share of the upper part's cycles that the lower one takes there.
    """

    parts: tuple[Part, ...]
    runs: tuple[float, ...]
    shares: tuple[float, ...]
    edges: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]


NO_GRAPH = PlanGraph((), (), (), (), ())


class PlanGraphs:
    """Graphs of plans that share parts, such as those of a pool: each part is described once."""

    def __init__(self, shares: Shares | None = None) -> None:
        """Nothing is known yet. ``shares``: as for `PlanFeatures`."""
        self._shares = shares or remembered_shares()
        self._parts: dict[tuple[int, Spec, object], Part] = {}
        self._same: dict[frozenset[tuple[str, float]], Part] = {}

    def of(self, plan: Plan) -> PlanGraph:
        """The graph of one plan."""
        total = max(plan.cycles, 1.0)
        nodes, places = self._upper_first(plan)
        runs = [0.0] * len(nodes)
        for tree in plan.trees:
            runs[places[id(tree.root)]] += 1
        edges: dict[tuple[int, int], float] = {}
        for place, (node, _) in enumerate(nodes):
            for count, child in zip(node.counts, node.children, strict=True):
                edge = place, places[id(child)]
                runs[edge[1]] += count * runs[place]
                edges[edge] = edges.get(edge, 0.0) + count * child.cycles / max(node.cycles, 1.0)
        kept = [p for p, (node, _) in enumerate(nodes) if runs[p] * node.cycles >= LEAST * total]
        left = {place: number for number, place in enumerate(kept)}
        shown = {e: weight for e, weight in edges.items() if {*e} <= left.keys()}
        return PlanGraph(
            tuple(nodes[place][1] for place in kept),
            tuple(runs[place] for place in kept),
            tuple(runs[place] * nodes[place][0].own / total for place in kept),
            tuple((left[above], left[below]) for above, below in shown),
            tuple(shown.values()),
        )

    def _upper_first(self, plan: Plan) -> tuple[list[tuple[PlanNode, Part]], dict[int, int]]:
        """The parts of a plan, each after all that it is part of; places of nodes by identity.

        Nodes of which the same is said, as of all below them, are one part.
        """
        lower_first: list[tuple[PlanNode, Part]] = []
        known: dict[tuple[object, ...], int] = {}
        places: dict[int, int] = {}
        pending = [(tree.target, tree.root, False) for tree in reversed(plan.trees)]
        while pending:
            target, node, done = pending.pop()
            if done:
                part = self._part(target, node)
                below = tuple(places[id(child)] for child in node.children)
                place = known.setdefault((id(part), node.counts, below), len(known))
                places[id(node)] = place
                if place == len(lower_first):
                    lower_first.append((node, part))
            elif id(node) not in places:
                pending.append((target, node, True))
                pending += [(target, child, False) for child in reversed(node.children)]
        last = len(lower_first) - 1
        return lower_first[::-1], {node: last - place for node, place in places.items()}

    def _part(self, target: Target, node: PlanNode) -> Part:
        key = (id(target), node.spec, node.option)
        if key not in self._parts:
            found = _features(target, node, self._shares(target, node))
            self._parts[key] = self._same.setdefault(frozenset(found.items()), found)
        return self._parts[key]


def _features(target: Target, node: PlanNode, shares: Sequence[CostShare]) -> Part:
    """What its Spec and its choice say of a part, whatever is chosen below it."""
    spec = node.spec
    found: dict[str, float] = {
        f"option:{node.option.name}": 1,
        "log own": log2(max(node.own, 1)),
    }
    for place, size in enumerate(sorted(spec.sizes, reverse=True)[:SIZES]):
        found[f"log size {place}"] = log2(size)
    for place, operand in enumerate(spec.family.operands[:OPERANDS]):
        elements = prod(map(float, spec.extents(place)))
        found[f"log bytes {place}"] = log2(max(elements * operand.dtype.bytes, 1))
        found[f"distance {place}"] = operand.level.distance
        found[f"in memory {place}"] = operand.addressable
    found |= rows_apart(spec)
    if node.step is None:
        found["kernel"] = 1
    else:
        trips, buffers = trips_and_buffers(node.step)
        found["loops"] = len(trips)
        found["log trips"] = sum(map(log2, trips))
        found["buffers"] = buffers
        found["log uses"] = log2(max(sum(node.counts), 1))
    for one in shares:
        found[f"coefficient:{one.coefficient}"] = one.cycles / max(node.own, 1)
    return {name: float(value) for name, value in found.items() if value}
