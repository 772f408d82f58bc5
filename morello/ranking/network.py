"""Models that are ensembles of graph networks over the parts of a plan.

Parts begin with what is known of them alone. In each round, a part takes up what its own
parts have come to, each by its share of the cycles, and the mean of what it is part of. The plan is
the sum of its parts by their shares of all cycles, beside their mean, and its features as a whole.

Message passing as in GraphSAGE (W. Hamilton et al., "Inductive Representation Learning on Large
Graphs", NIPS 2017), which "A Learned Performance Model for Tensor Processing Units" (S. Kaufman et
al., MLSys 2021) uses for tensor programs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ranking.description import Description
from morello.ranking.graphs import PlanGraph
from morello.ranking.model import Model, rows_of

USES = ("log runs", "share")
"""Columns of a node that say how it is used."""

LIMIT = 5.0
"""What is farther from the mean than so many deviations counts as that far."""

WEIGHTS = (
    "enter",
    "enter_bias",
    "own",
    "own_bias",
    "lower",
    "upper",
    "whole",
    "whole_bias",
    "join",
    "join_bias",
    "leave",
)
"""What is learned; by ensemble, those of rounds by round, then by input and output."""


def scaled(columns: Array, centers: Array, scales: Array) -> Array:
    """Columns as networks take them."""
    found: Array = np.clip((columns - centers) / scales, -LIMIT, LIMIT).astype(np.float32)
    return found


class Packed(Struct, frozen=True):
    """Graphs of some programs as arrays. Parts of a program stand together.

    Attributes:
        nodes: By part and column: its features, those of `USES` last.
        shares: Of its program's cycles, by part.
        program: Of each part, its program.
        above, below: Of each edge, the parts.
        weights: Of each edge.
        counts: Of parts, by program.
    """

    nodes: Array
    shares: Array
    program: Array
    above: Array
    below: Array
    weights: Array
    counts: Array


def packed(graphs: Sequence[PlanGraph], columns: Sequence[str]) -> Packed:
    """Some graphs, with these columns of features."""
    places = {name: place for place, name in enumerate(columns)}
    counts = np.array([len(graph.parts) for graph in graphs], np.int64)
    begins = np.concatenate([[0], np.cumsum(counts)])
    parts = {id(part): part for graph in graphs for part in graph.parts}
    known = np.zeros((len(parts), len(columns)), np.float32)
    for row, part in enumerate(parts.values()):
        for name, value in part.items():
            if name in places:
                known[row, places[name]] = value
    rows = {identity: row for row, identity in enumerate(parts)}
    shares = np.array([share for graph in graphs for share in graph.shares], np.float32)
    runs = np.array([run for graph in graphs for run in graph.runs], np.float32)
    nodes = np.column_stack(
        [
            known[np.array([rows[id(p)] for graph in graphs for p in graph.parts], np.int64)],
            np.log2(np.maximum(runs, 1)),
            shares,
        ]
    )
    edges = [
        np.array(graph.edges, np.int64).reshape(-1, 2) + begin
        for graph, begin in zip(graphs, begins, strict=False)
    ]
    joined = np.concatenate([*edges, np.zeros((0, 2), np.int64)])
    return Packed(
        nodes,
        shares,
        np.repeat(np.arange(len(graphs)), counts),
        joined[:, 0],
        joined[:, 1],
        np.array([weight for graph in graphs for weight in graph.weights], np.float32),
        counts,
    )


class Passing(Protocol):
    """What the arithmetic of a network is done with: numpy's arrays, or tensors that are trained.

    All take a row for each part of some programs; see `Packed`.
    """

    def positive(self, values: Any) -> Any:
        """What is more than 0, and 0 for what is less."""

    def from_lower(self, values: Any) -> Any:
        """For each part what its own parts have, each by its weight."""

    def from_upper(self, values: Any) -> Any:
        """For each part the mean of what it is part of."""

    def of_programs(self, values: Any) -> Sequence[Any]:
        """For each program the sum of its parts by their shares, and their mean."""

    def beside(self, columns: Sequence[Any]) -> Any:
        """Several arrays, one beside the other."""


def outputs(passing: Passing, weights: Mapping[str, Any], nodes: Any, whole: Any) -> Any:
    """What one network says of each program; a fixed offset apart.

    Args:
        passing: Over the programs' graphs.
        weights: Those of `WEIGHTS`, of one ensemble.
        nodes: By part and column, scaled.
        whole: By program and column, scaled.
    """
    parts = passing.positive(nodes @ weights["enter"] + weights["enter_bias"])
    rounds = zip(*(weights[name] for name in ("own", "own_bias", "lower", "upper")), strict=True)
    for own, bias, lower, upper in rounds:
        taken = passing.from_lower(parts) @ lower + passing.from_upper(parts) @ upper
        parts = parts + passing.positive(parts @ own + bias + taken)
    program = passing.positive(whole @ weights["whole"] + weights["whole_bias"])
    joined = passing.beside([*passing.of_programs(parts), program])
    return passing.positive(joined @ weights["join"] + weights["join_bias"]) @ weights["leave"]


class _Numpy:
    """`Passing` over numpy's arrays."""

    def __init__(self, graphs: Packed) -> None:
        count = len(graphs.nodes)
        self._shares = graphs.shares[:, None]
        self._counts = np.maximum(graphs.counts, 1)[:, None].astype(np.float32)
        uppers = np.bincount(graphs.below, minlength=count)
        self._uppers = np.maximum(uppers, 1)[:, None].astype(np.float32)
        self._to_above = _Sums(graphs.above, count, graphs.below, graphs.weights)
        self._to_below = _Sums(graphs.below, count, graphs.above)
        self._to_program = _Sums(graphs.program, len(graphs.counts), np.arange(count))

    def positive(self, values: Array) -> Array:
        return np.maximum(values, 0)

    def from_lower(self, values: Array) -> Array:
        return self._to_above(values)

    def from_upper(self, values: Array) -> Array:
        return self._to_below(values) / self._uppers

    def of_programs(self, values: Array) -> Sequence[Array]:
        summed = self._to_program(np.concatenate([values * self._shares, values], axis=1))
        width = values.shape[1]
        return summed[:, :width], summed[:, width:] / self._counts

    def beside(self, columns: Sequence[Array]) -> Array:
        return np.concatenate(columns, axis=1)


class _Sums:
    """Sums of rows that go to the same place, each by its weight."""

    def __init__(
        self, places: Array, count: int, rows: Array, weights: Array | None = None
    ) -> None:
        order = np.argsort(places, kind="stable")
        self._count = count
        self._rows = rows[order]
        self._weights = None if weights is None else weights[order][:, None]
        self._reached, self._begins = np.unique(places[order], return_index=True)

    def __call__(self, values: Array) -> Array:
        taken = values[self._rows]
        if self._weights is not None:
            taken *= self._weights
        total = np.zeros((self._count, values.shape[1]), values.dtype)
        if len(taken):
            total[self._reached] = np.add.reduceat(taken, self._begins)
        return total


@dataclass(frozen=True, eq=False)
class Network(Model):
    """Graph networks.

    ``parts`` are the columns of nodes. ``centers`` and ``scales`` are what is taken from them and
    what they are divided by, those of ``columns`` after those of nodes.
    """

    parts: tuple[str, ...]
    centers: Array
    scales: Array
    enter: Array
    enter_bias: Array
    own: Array
    own_bias: Array
    lower: Array
    upper: Array
    whole: Array
    whole_bias: Array
    join: Array
    join_bias: Array
    leave: Array

    kind: ClassVar[str] = "network"
    NAMES: ClassVar[tuple[str, ...]] = ("columns", "parts")
    ARRAYS: ClassVar[tuple[str, ...]] = ("centers", "scales", *WEIGHTS)

    def corrections(self, described: Sequence[Description]) -> Array:
        """As `Model.corrections`: all programs at once, one ensemble after the other."""
        if not described:
            return np.zeros((len(self.leave), 0))
        graphs = packed([one.graph for one in described], self.parts)
        whole = rows_of(described, self.columns)
        count = graphs.nodes.shape[1]
        nodes = scaled(graphs.nodes, self.centers[:count], self.scales[:count])
        whole = scaled(whole, self.centers[count:], self.scales[count:])
        passing = _Numpy(graphs)
        found = [
            outputs(passing, self._weights(ensemble), nodes, whole)
            for ensemble in range(len(self.leave))
        ]
        values = np.array(found, np.float64)
        return values - values[:, :1]

    def _weights(self, ensemble: int) -> Mapping[str, Array]:
        return {name: getattr(self, name)[ensemble].astype(np.float32) for name in WEIGHTS}

    def check(self) -> None:
        """Refuse arrays whose shapes do not fit, and numbers that are none."""
        ensembles, nodes, width = self.enter.shape
        (_, rounds), (_, wholes) = self.own.shape[:2], self.whole.shape[:2]
        square = (ensembles, rounds, width, width)
        shapes = {
            "centers": (nodes + wholes,),
            "scales": (nodes + wholes,),
            "enter": (ensembles, nodes, width),
            "enter_bias": (ensembles, width),
            "own": square,
            "own_bias": (ensembles, rounds, width),
            "lower": square,
            "upper": square,
            "whole": (ensembles, wholes, width),
            "whole_bias": (ensembles, width),
            "join": (ensembles, 3 * width, width),
            "join_bias": (ensembles, width),
            "leave": (ensembles, width),
        }
        columns = (len(self.parts) + len(USES), len(self.columns))
        if columns != (nodes, wholes) or not ensembles:
            raise ValueError("its arrays do not fit")
        for name, array in self.arrays.items():
            if array.shape != shapes[name] or array.dtype.kind != "f":
                raise ValueError("its arrays do not fit")
            if not np.all(np.isfinite(array)):
                raise ValueError("a number is none")
        if not np.all(self.scales > 0):
            raise ValueError("its scales are none")
