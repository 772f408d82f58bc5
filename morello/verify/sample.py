"""Which elements of large outputs are compared: all, if that is little work, or a sample.

The sample depends on the sizes of the spec, and on nothing else. Along each axis of an output there
is one index of each of equal stretches, at random in it, and beside those the first and the last
ones and where loops of the program end. So a wrong tile is met if it is larger than the stretches.
Along an axis that is read through windows, several indices next to each other cost little more than
one: there the sample is a few blocks, at both ends and in between.

The stretches grow, first along the axis where that saves most, until there is little enough work.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct

from morello.reference.partial import Indices, PartialGoal, whole
from morello.reference.steps import Steps

MOST_WORK = 1.5e7
"""Operations for each kind of inputs, as `Step.work` counts them: about a second."""

BLOCKS = 4
"""Of an axis that is read through windows; two are at the ends."""

LARGEST_STRETCH = 1 << 20

SEED = 0


class Sample(Struct, frozen=True):
    """What is compared: for each of ``goals`` what it needs of the outputs, or all (none)."""

    goals: tuple[PartialGoal, ...] = ()


def sample_of(steps: Steps, outputs: Sequence[str], boundaries: Collection[int] = ()) -> Sample:
    """What is compared of a goal.

    Args:
        steps: The goal.
        outputs: Names of its outputs.
        boundaries: Where loops of the program end: indices that are tried along every axis.
    """
    if steps.work <= MOST_WORK:
        return Sample()
    share = MOST_WORK / len(outputs)
    goals = (goal for name in outputs for goal in _Thinning(steps, name, boundaries).until(share))
    return Sample(tuple(goals))


class _Thinning:
    """The sample of one output, with stretches that grow."""

    def __init__(self, steps: Steps, output: str, boundaries: Collection[int]) -> None:
        self._steps, self._output = steps, output
        self._shape = steps.shapes[output]
        self._boundaries = boundaries
        self._windowed = _windowed(steps, output)

    def until(self, most: float) -> list[PartialGoal]:
        """What is needed with stretches so large that there is no more work than this."""
        stretches = [1] * len(self._shape)
        goals = self._goals(stretches)
        while (work := _work(goals)) > most:
            tried = [
                (self._goals(wider), wider)
                for axis in range(len(stretches))
                if (wider := self._wider(stretches, axis)) is not None
            ]
            if not tried:
                break
            best, wider = min(tried, key=lambda each: _work(each[0]))
            if _work(best) >= work:  # no axis saves anything alone
                wider = [min(2 * s, LARGEST_STRETCH) for s in stretches]
                best = self._goals(wider)
                if _work(best) >= work:
                    break
            goals, stretches = best, wider
        return goals

    def _wider(self, stretches: Sequence[int], axis: int) -> list[int] | None:
        if stretches[axis] >= self._shape[axis]:
            return None
        return [2 * s if a == axis else s for a, s in enumerate(stretches)]

    def _goals(self, stretches: Sequence[int]) -> list[PartialGoal]:
        """One goal, or one for each place of the blocks of windowed axes."""
        random = np.random.default_rng(SEED)
        plain = [
            _stretches(n, s, self._boundaries, random)
            for n, s in zip(self._shape, stretches, strict=True)
        ]
        blocks = [
            _blocks(n, s, random) if axis in self._windowed and s > 1 else None
            for axis, (n, s) in enumerate(zip(self._shape, stretches, strict=True))
        ]
        count = BLOCKS if any(b is not None for b in blocks) else 1
        selections = [
            tuple(p if b is None else b[i] for p, b in zip(plain, blocks, strict=True))
            for i in range(count)
        ]
        return [PartialGoal.of(self._steps, {self._output: s}) for s in selections]


def _work(goals: Sequence[PartialGoal]) -> float:
    return sum(goal.work for goal in goals)


def _windowed(steps: Steps, output: str) -> frozenset[int]:
    """Axes of an output of which only what is next to each other can be selected."""
    shape = steps.shapes[output]
    found = set()
    for axis, n in enumerate(shape):
        ends = tuple(np.array([0, n - 1]) if a == axis else i for a, i in enumerate(whole(shape)))
        if n > 2 and PartialGoal.of(steps, {output: ends}).needed[output][axis].size > 2:
            found.add(axis)
    return frozenset(found)


def _stretches(
    n: int, stretch: int, boundaries: Collection[int], random: np.random.Generator
) -> Indices:
    """An index of each stretch, and those at which something begins or ends."""
    if stretch == 1:
        return np.arange(n)
    starts = np.arange(0, n, stretch)
    inside = starts + random.integers(0, np.minimum(stretch, n - starts))
    edges = [0, n - 1, *(b + d for b in boundaries for d in (-1, 0) if 0 < b < n)]
    return np.union1d(inside, edges)


def _blocks(n: int, stretch: int, random: np.random.Generator) -> list[Indices]:
    """Places of a block, together as much as a sample with such stretches has."""
    length = max(1, n // stretch // BLOCKS)
    inner = random.integers(0, n - length + 1, BLOCKS - 2)
    return [np.arange(start, start + length) for start in (0, *inner, n - length)]
