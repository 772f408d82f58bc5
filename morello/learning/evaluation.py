"""How well programs are ranked that a model has not seen.

A corpus is split; a model is trained on one part and ranks the goals of the other, until all goals
were ranked. What counts is how well the order is that of the measurements (Kendall's tau), and
*regret*: by how much the program that is ranked first, or the best of the first five, is slower
than the fastest of the goal. Beside the model stand the cost model as it is (``affine``), its
coefficients refitted to the other goals (``refit``), what is chosen by the model where it is sure,
and by the search elsewhere (`SURE`), and what one run of the measurement says about all of them
(``ceiling``): nothing that is learned can be better than that for sure.

Goals whose two runs do not agree are left out: what would be ranked is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.learning.corpus import Group
from morello.learning.dataset import Dataset, Goal, dataset, tau
from morello.learning.refitting import refit, refitted
from morello.learning.training import GAIN, LearningError, train_on
from morello.ranking.features import INTERMEDIATES
from morello.ranking.guide import Guide
from morello.ranking.model import Model
from morello.ranking.rank import ranking
from morello.runtime.rounds import rounds_of
from morello.search.search import Progress

FOLDS = 5
SAMPLES = 1_000
INTERVAL = (0.05, 0.95)
"""Of means, by the bootstrap over goals: B. Efron, Annals of Statistics 7, 1979."""

WORSE = 0.02
"""A goal is worse, or better, than with the affine model if the choice is by so much."""

EIGHT = 8
"""Programs that are measured."""

FUSION = 0.05
"""By how much the logarithms of two times differ that fusing makes a difference to."""

SURE = " if sure"
"""How the name of a learner ends whose model is followed only where it is sure."""

Fold = tuple[list[int], list[int]]
"""Places of goals to train on, and of those to judge by."""


class Judged(Struct, frozen=True):
    """How one method ranks one goal. ``first``, ``five`` and ``eight``: regrets.

    ``eight``: of the program that one run finds the fastest of eight, measured in rounds.
    ``error``: by how much its ratios of times are off, of each program to the search's choice, in
    the mean. ``chosen``: the cycles of what is ranked first. ``fusion``: of pairs of programs that
    fuse more and less, and take different times, how many it has right, and all. ``tiles``: of
    programs that the same rules and kernels make with other parameters, such as sizes of tiles, the
    regret of the one that is ranked first, in the mean.
    """

    tau: float
    first: float
    five: float
    eight: float
    error: float
    chosen: float
    fusion: tuple[int, int]
    tiles: float


@dataclass(frozen=True)
class Evaluation:
    """What each method was worth on each goal, in the same order."""

    split: str
    goals: tuple[Goal, ...] = field(repr=False)
    judged: Mapping[str, tuple[Judged, ...]] = field(repr=False)

    def mean(self, method: str, what: str) -> float:
        """The mean over goals of a field of `Judged`."""
        return float(np.mean([getattr(one, what) for one in self.judged[method]]))

    def interval(self, method: str, what: str) -> tuple[float, float]:
        """Where it lies with 90%."""
        return _interval([getattr(one, what) for one in self.judged[method]])

    def gained(self, method: str) -> tuple[float, float]:
        """By how much regret is lower than the affine model's in the mean: where that lies."""
        pairs = zip(self.judged["affine"], self.judged[method], strict=True)
        return _interval([affine.first - one.first for affine, one in pairs])

    def share(self, method: str, sign: int) -> float:
        """Of goals whose choice is worse than affine's (1), or better (-1), by over `WORSE`."""
        pairs = zip(self.judged["affine"], self.judged[method], strict=True)
        return float(np.mean([sign * (m.chosen / a.chosen - 1) > WORSE for a, m in pairs]))

    def row(self, method: str) -> dict[str, float]:
        """All of one method."""
        regrets = [one.first for one in self.judged[method]]
        return {
            "tau": self.mean(method, "tau"),
            "first": self.mean(method, "first"),
            "median": float(np.median(regrets)),
            "worst": max(regrets),
            "five": self.mean(method, "five"),
            "eight": self.mean(method, "eight"),
            "eight, worst": max(one.eight for one in self.judged[method]),
            "error": self.mean(method, "error"),
            "worse": self.share(method, 1),
            "better": self.share(method, -1),
            "fusion": self.fusion(method),
            "tiles": self.mean(method, "tiles"),
        }

    def fusion(self, method: str) -> float:
        """Of all pairs that fuse more and less, the share that it has right; 1 of none."""
        judged = self.judged[method]
        right, pairs = (sum(one.fusion[place] for one in judged) for place in range(2))
        return float(right / pairs) if pairs else 1.0


def evaluate(
    groups: Sequence[Group],
    split: str,
    learners: Sequence[str],
    report: Callable[[Progress], None] = lambda _: None,
    gain: float = GAIN,
) -> Evaluation:
    """Train and judge on the parts of a split.

    Args:
        groups: Of one target and one processor, but for the split by machine.
        split: One of `SPLITS`.
        learners: Those of `LEARNERS` to judge.
        report: Called before each model is trained.
        gain: For `About.gain`.

    Raises:
        LearningError: There are too few goals for it.
        MorelloError: A library is not installed.
    """
    data = dataset(groups)
    goals: list[Goal] = []
    judged: dict[str, list[Judged]] = {}
    folds = list(SPLITS[split](data))
    for number, (known, others) in enumerate(folds):
        asked = [data.goals[place] for place in others if data.goals[place].rankable]
        if not asked or len(known) < 2:
            continue
        part = Dataset(data.columns, tuple(data.goals[place] for place in known))
        models = {}
        for learner in learners:
            report(Progress(number, len(folds), f"split by {split}: {learner}"))
            models[learner] = train_on(part, learner, gain)
        for goal, found in zip(asked, _judge(part, asked, models), strict=True):
            goals.append(goal)
            for method, one in found.items():
                judged.setdefault(method, []).append(one)
    if not goals:
        raise LearningError(
            f"there are no two parts to split by {split}, with goals whose runs agree",
            help="'morello learn collect' measures more",
        )
    return Evaluation(split, tuple(goals), {m: tuple(found) for m, found in judged.items()})


def _judge(
    part: Dataset, asked: Sequence[Goal], models: Mapping[str, Model]
) -> Iterator[dict[str, Judged]]:
    ratios = refit(part)
    for goal in asked:
        affine = np.log(goal.predicted)
        scores: dict[str, tuple[Array, Model | None]] = {
            "affine": (affine, None),
            "refit": (affine + refitted(goal.rows, ratios), None),
        }
        for learner, model in models.items():
            ranked = ranking(model, goal.described, goal.predicted.tolist())
            learned = np.log(ranked.ratios)
            sure = learned.copy()
            sure[ranked.chosen] = learned.min() - 1e-9
            scores |= {learner: (learned, model), learner + SURE: (sure, model)}
        scores["ceiling"] = (np.log(goal.first), None)
        pairs = _fusions(goal, part.columns)
        found = {}
        for method, (one, own) in scores.items():
            predicted = np.exp(one) if own is None else goal.predicted
            guide = Guide(predicted.tolist(), goal.described, own)
            found[method] = _judged(goal, one, pairs, _eight(goal, guide))
        yield found


def _fusions(goal: Goal, columns: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of programs that fuse more and less, and take times that differ by `FUSION`."""
    if INTERMEDIATES not in columns:
        return []
    begun = np.rint(goal.rows[:, columns.index(INTERMEDIATES)] * goal.predicted)
    return [
        (one, other)
        for one, other in combinations(range(len(begun)), 2)
        if begun[one] != begun[other]
        and abs(np.log(goal.cycles[one] / goal.cycles[other])) > FUSION
    ]


def _eight(goal: Goal, guide: Guide) -> float:
    """The cycles of what one run finds the fastest of so many programs, measured in rounds."""
    measured: dict[int, float] = {}
    for size in rounds_of(EIGHT):
        some = guide.order(measured)[:size]
        measured |= {place: float(goal.first[place]) for place in some}
    return float(goal.cycles[min(measured, key=lambda place: measured[place])])


def _judged(goal: Goal, scores: Array, pairs: Sequence[tuple[int, int]], eight: float) -> Judged:
    """``scores``: logarithms of cycles, but for an offset. ``eight``: as `_eight`."""
    order = np.argsort(scores, kind="stable")
    times, best = goal.cycles[order], goal.cycles.min()
    error = np.abs(np.exp(scores - scores[0]) * goal.cycles[0] / goal.cycles - 1)
    return Judged(
        tau(scores, goal.cycles),
        float(times[0] / best - 1),
        float(times[:5].min() / best - 1),
        eight / float(best) - 1,
        float(np.mean(error)),
        float(times[0]),
        (
            sum((scores[a] < scores[b]) == (goal.cycles[a] < goal.cycles[b]) for a, b in pairs),
            len(pairs),
        ),
        _tiles(goal, scores),
    )


def _tiles(goal: Goal, scores: Array) -> float:
    """The mean regret of choices among programs of one structure; 0 where all are of others."""
    structures: dict[frozenset[str], list[int]] = {}
    for place, program in enumerate(goal.group.programs):
        structures.setdefault(program.structure, []).append(place)
    regrets = [
        goal.cycles[min(places, key=lambda place: scores[place])] / goal.cycles[places].min() - 1
        for places in structures.values()
        if len(places) > 1
    ]
    return float(np.mean(regrets)) if regrets else 0.0


def _interval(values: Sequence[float]) -> tuple[float, float]:
    random = np.random.default_rng(0)
    drawn = random.choice(np.asarray(values), (SAMPLES, len(values)))
    low, high = np.quantile(drawn.mean(axis=1), INTERVAL)
    return float(low), float(high)


# ------------------------------------------------------------------------- splits


def _by_goal(data: Dataset) -> Iterator[Fold]:
    """Goals at random; whatever compilers measured a goal, its groups stay together."""
    asked = [(g.group.spec, g.group.name, str(sorted(g.group.defines.items()))) for g in data.goals]
    different = sorted(set(asked))
    order = np.random.default_rng(0).permutation(len(different))
    for fold in range(FOLDS):
        some = {different[place] for place in order[fold::FOLDS]}
        yield _fold(data, [place for place, goal in enumerate(asked) if goal in some])


def _held_out(data: Dataset) -> Iterator[Fold]:
    """Those that are held out."""
    yield _fold(data, [place for place, goal in enumerate(data.goals) if goal.group.held_out])


def _by_field(field: str, data: Dataset) -> Iterator[Fold]:
    """All goals at once that have one value of a group's field: nothing was learned about it."""
    values = [getattr(goal.group, field) for goal in data.goals]
    for value in sorted(set(values)):
        yield _fold(data, [place for place, own in enumerate(values) if own == value])


def _by_size(data: Dataset) -> Iterator[Fold]:
    """The large half, from the small one."""
    order = sorted(range(len(data.goals)), key=lambda place: data.goals[place].predicted.min())
    yield _fold(data, order[len(order) // 2 :])


def _fold(data: Dataset, asked: Sequence[int]) -> Fold:
    kept = {*asked}
    return [place for place in range(len(data.goals)) if place not in kept], sorted(kept)


SPLITS: Mapping[str, Callable[[Dataset], Iterator[Fold]]] = {
    "held-out": _held_out,
    "goal": _by_goal,
    "operator": partial(_by_field, "name"),
    "size": _by_size,
    "machine": partial(_by_field, "processor"),
}
