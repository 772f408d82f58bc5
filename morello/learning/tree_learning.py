"""Trees that are boosted on what is to be learned of programs, by their features as a whole.

Errors count by Huber's loss: few programs are several times slower than their like, for reasons
that no feature tells.

Gradient boosting: J. Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; as
LightGBM does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.errors import not_installed
from morello.learning.dataset import Dataset
from morello.ranking.model import About
from morello.ranking.trees import LEAF, Trees

PARAMETERS = {
    "objective": "huber",
    "alpha": 0.1,
    "num_leaves": 8,
    "learning_rate": 0.05,
    "min_data_in_leaf": 10,
    "feature_fraction": 0.5,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
ROUNDS = 300


def learn(about: About, data: Dataset, parts: Sequence[Sequence[int]]) -> Trees:
    """An ensemble for each part of the goals.

    Raises:
        MorelloError: LightGBM is not installed.
    """
    lightgbm = require_library()
    table = _Table()
    numbers = np.concatenate([np.full(len(g.cycles), n) for n, g in enumerate(data.goals)])
    rows = np.vstack([goal.compared for goal in data.goals])
    wanted = np.concatenate([goal.left for goal in data.goals])
    weights = np.concatenate([np.full(len(g.cycles), 1 / len(g.cycles)) for g in data.goals])
    for ensemble, part in enumerate(parts):
        kept = np.isin(numbers, part)
        given = lightgbm.Dataset(rows[kept], wanted[kept], weight=weights[kept])
        booster = lightgbm.train({**PARAMETERS, "seed": ensemble}, given, ROUNDS)
        table.add(booster.dump_model()["tree_info"])
    return table.model(about, data.compared_columns)


class _Table:
    """Trees in one table of nodes, as `Trees` has them."""

    def __init__(self) -> None:
        # The first node is a tree that says nothing: ensembles may have ended early.
        self._nodes: list[tuple[int, float, int, int, float]] = [(LEAF, 0.0, 0, 0, 0.0)]
        self._roots: list[list[int]] = []

    def add(self, trees: Sequence[Any]) -> None:
        """The trees of an ensemble, as LightGBM tells them."""
        self._roots.append([self._add(tree["tree_structure"]) for tree in trees])

    def _add(self, node: Any) -> int:
        place = len(self._nodes)
        self._nodes.append((LEAF, 0.0, place, place, float(node.get("leaf_value", 0.0))))
        if "split_feature" in node:
            left, right = self._add(node["left_child"]), self._add(node["right_child"])
            self._nodes[place] = (node["split_feature"], node["threshold"], left, right, 0.0)
        return place

    def model(self, about: About, columns: tuple[str, ...]) -> Trees:
        """All of them, with the columns that are asked for, and no others."""
        feature, threshold, left, right, value = zip(*self._nodes, strict=True)
        asked = sorted({f for f in feature if f != LEAF})
        longest = max(map(len, self._roots))
        places = {column: place for place, column in enumerate(asked)} | {LEAF: LEAF}
        return Trees(
            about,
            tuple(columns[column] for column in asked),
            np.array([places[f] for f in feature], np.int16),
            np.array(threshold),
            np.array(left, np.int32),
            np.array(right, np.int32),
            np.array(value, np.float32),
            np.array([row + [0] * (longest - len(row)) for row in self._roots], np.int32),
        )


def require_library() -> Any:
    """LightGBM.

    Raises:
        MorelloError: It is not installed.
    """
    try:
        import lightgbm  # noqa: PLC0415
    except ImportError as error:
        raise not_installed("learning", "LightGBM", "learn") from error
    return lightgbm
