"""From a corpus to a model: trees are boosted on what predicted cycles leave unexplained.

What is learned of a program is how much slower it is than the search's choice for its goal, beyond
what is predicted: programs of one goal are to be told apart, and what all of them have in common
says nothing about which is faster. Each goal has the same weight, whatever the number of its
programs. Errors count by Huber's loss: few programs are several times slower than their like, for
reasons that no feature tells.

Gradient boosting: J. Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; as
LightGBM does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.learning.corpus import Group
from morello.learning.dataset import Dataset, Goal, dataset
from morello.ranking.model import LEAF, LESS, About, Model, digest_of_costs

ENSEMBLES = 8
SHARE = 0.8
"""Of the goals, what each ensemble is trained on."""

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

GAIN = 0.02
"""By how much a program must be faster, for sure, to be chosen instead of the search's."""


class LearningError(MorelloError):
    """A corpus does not say enough."""


def train(groups: Sequence[Group], gain: float = GAIN) -> Model:
    """A model of the programs of some groups, all for one target.

    Args:
        groups: Of one target and one processor.
        gain: For `About.gain`.

    Raises:
        LearningError: They are too few, or of several targets or processors.
        MorelloError: LightGBM or SciPy is not installed.
    """
    data = dataset(groups)
    named = {(goal.group.target, goal.group.processor) for goal in data.goals}
    if len(named) > 1:
        told = ", ".join(f"{target} on {processor}" for target, processor in sorted(named))
        raise LearningError(f"one model is for one target and processor, not for {told}")
    return train_on(data, gain)


def train_on(data: Dataset, gain: float = GAIN) -> Model:
    """The same from arrays; for the target and the processor of the first goal."""
    about = _about(data.goals, gain)
    trees = _Trees()
    lightgbm = require_library()
    numbers = np.concatenate([np.full(len(g.cycles), n) for n, g in enumerate(data.goals)])
    rows = np.vstack([np.hstack([g.rows, g.rows - g.rows[:1]]) for g in data.goals])
    wanted = np.concatenate([_wanted(goal) for goal in data.goals])
    weights = np.concatenate([np.full(len(g.cycles), 1 / len(g.cycles)) for g in data.goals])
    for ensemble in range(ENSEMBLES):
        random = np.random.default_rng(ensemble)
        some = random.permutation(len(data.goals))[: max(1, round(SHARE * len(data.goals)))]
        kept = np.isin(numbers, some)
        given = lightgbm.Dataset(rows[kept], wanted[kept], weight=weights[kept])
        booster = lightgbm.train({**PARAMETERS, "seed": ensemble}, given, ROUNDS)
        trees.add(booster.dump_model()["tree_info"])
    return trees.model(about, (*data.columns, *(LESS + name for name in data.columns)))


def _wanted(goal: Goal) -> Array:
    left = np.log(goal.cycles / goal.predicted)
    compared: Array = left - left[0]
    return compared


def _about(goals: Sequence[Goal], gain: float) -> About:
    if len(goals) < 2:
        raise LearningError(
            f"cannot learn from {len(goals)} goals", help="'morello learn collect' measures more"
        )
    costs = {digest_of_costs(goal.group.coefficients) for goal in goals}
    if len(costs) > 1:
        raise LearningError(
            "its programs were drawn with several costs of the target",
            help="'morello learn check --update' gives all of them those of today",
        )
    target, processor = goals[0].group.target, goals[0].group.processor
    programs, today = sum(len(goal.cycles) for goal in goals), date.today().isoformat()
    return About(target, processor, costs.pop(), programs, len(goals), today, gain)


class _Trees:
    """Trees in one table of nodes, as `Model` has them."""

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

    def model(self, about: About, columns: tuple[str, ...]) -> Model:
        """All of them, with the columns that are asked for, and no others."""
        feature, threshold, left, right, value = zip(*self._nodes, strict=True)
        asked = sorted({f for f in feature if f != LEAF})
        longest = max(map(len, self._roots))
        places = {column: place for place, column in enumerate(asked)} | {LEAF: LEAF}
        return Model(
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
        raise MorelloError(
            "learning needs LightGBM, which is not installed",
            help="install the extra 'learn': pip install 'morello[learn]'",
        ) from error
    return lightgbm
