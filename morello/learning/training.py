"""From a corpus to a model: what predicted cycles leave unexplained is learned.

What is learned of a program is how much slower it is than the search's choice for its goal, beyond
what is predicted: programs of one goal are to be told apart, and what all of them have in common
says nothing about which is faster. Each goal has the same weight, whatever the number of its
programs. Each of the ensembles learns from other goals than its fellows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.learning import network_learning, tree_learning
from morello.learning.corpus import Group
from morello.learning.dataset import Dataset, Goal, dataset
from morello.ranking.model import About, Model, digest_of_costs
from morello.ranking.network import Network
from morello.ranking.trees import Trees

ENSEMBLES = 8
SHARE = 0.8
"""Of the goals, what each ensemble is trained on."""

GAIN = 0.02
"""By how much a program must be faster, for sure, to be chosen instead of the search's."""


class LearningError(MorelloError):
    """A corpus does not say enough."""


class Learner(Struct, frozen=True):
    """A way to learn.

    Attributes:
        learn: A model of a dataset, from the places of the goals for each ensemble.
        deviations: For `About.deviations`: networks agree more easily than trees, and are as sure.
        require: Its library.
    """

    learn: Callable[[About, Dataset, Sequence[Sequence[int]]], Model]
    deviations: float
    require: Callable[[], object]


LEARNERS: Mapping[str, Learner] = {
    Trees.kind: Learner(tree_learning.learn, 1.0, tree_learning.require_library),
    Network.kind: Learner(network_learning.learn, 2.0, network_learning.require_library),
}


def installed_learners() -> list[str]:
    """The learners whose library is there; the first one if none is, to say what is missing."""
    found = []
    for name, learner in LEARNERS.items():
        try:
            learner.require()
        except MorelloError:
            continue
        found.append(name)
    return found or [next(iter(LEARNERS))]


def train(groups: Sequence[Group], learner: str, gain: float = GAIN) -> Model:
    """A model of the programs of some groups, all for one target.

    Args:
        groups: Of one target and one processor.
        learner: One of `LEARNERS`.
        gain: For `About.gain`.

    Raises:
        LearningError: They are too few, or of several targets or processors.
        MorelloError: The learner's library is not installed.
    """
    data = dataset(groups)
    named = {(goal.group.target, goal.group.processor) for goal in data.goals}
    if len(named) > 1:
        told = ", ".join(f"{target} on {processor}" for target, processor in sorted(named))
        raise LearningError(f"one model is for one target and processor, not for {told}")
    return train_on(data, learner, gain)


def train_on(data: Dataset, learner: str, gain: float = GAIN) -> Model:
    """The same from arrays; for the target and the processor of the first goal."""
    how = LEARNERS[learner]
    count = len(data.goals)
    some = [
        np.random.default_rng(ensemble).permutation(count)[: max(1, round(SHARE * count))].tolist()
        for ensemble in range(ENSEMBLES)
    ]
    return how.learn(_about(data.goals, gain, how.deviations), data, some)


def _about(goals: Sequence[Goal], gain: float, deviations: float) -> About:
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
    return About(target, processor, costs.pop(), programs, len(goals), today, gain, deviations)
