"""Which plans of a pool to measure next, from what those took that were measured.

By how much a program is slower than predicted is alike for programs that are alike: a Gaussian
process over their features, whose mean is the prediction, with a model's corrections where there is
one, and the disagreement of its ensembles. What is measured next promises most: the expected
improvement over the fastest program known.

C. Rasmussen and C. Williams, "Gaussian Processes for Machine Learning", 2006, chapter 2; D. Jones
et al., "Efficient Global Optimization of Expensive Black-Box Functions", Journal of Global
Optimization 13, 1998.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import erf, pi, sqrt

import numpy as np

from morello.ir.numeric import Array
from morello.ranking.description import Description
from morello.ranking.model import Model, rows_of

SPREAD = 0.2
"""How far off predictions of unlike programs are from each other: a logarithm."""

NOISE = 0.01
"""The same of two measurements of one program."""

OFFSET = 1.0
"""How far off the predictions of all programs for a goal may be together."""


class Guide:
    """Chooses among plans for one goal; the first is the search's choice."""

    def __init__(
        self, predicted: Sequence[float], described: Sequence[Description], model: Model | None
    ) -> None:
        """Nothing is measured yet.

        Args:
            predicted: Cycles of each plan.
            described: What there is to say of each.
            model: What corrects predictions, if there is one.
        """
        self._mean = np.log(np.asarray(predicted, np.float64))
        self._covariance = OFFSET**2 + SPREAD**2 * _likeness(described)
        if model is not None:
            corrections = model.corrections(described)
            mean = corrections.mean(axis=0)
            apart = corrections - mean
            self._mean = self._mean + mean
            self._covariance += apart.T @ apart / max(len(corrections) - 1, 1)

    def order(self, measured: Mapping[int, float]) -> list[int]:
        """Places that were not measured, the most promising first; before all, the first place.

        Args:
            measured: What plans took by place, in any unit; those that were.
        """
        if not measured:
            return [0, *self._ordered({0: 0.0}, {0: float(self._mean[0])})]
        taken = {place: float(np.log(value)) for place, value in measured.items()}
        # All that is known of the unit is that the first program took what was predicted, or so.
        shift = float(self._mean[0]) - taken.get(0, min(taken.values()))
        return self._ordered(measured, {place: value + shift for place, value in taken.items()})

    def _ordered(self, measured: Collection[int], taken: Mapping[int, float]) -> list[int]:
        expected, deviation = self._posterior(taken)
        gains = _improvements(expected, deviation, min(taken.values()))
        places = np.lexsort((expected, -gains)).tolist()
        return [place for place in places if place not in measured]

    def _posterior(self, taken: Mapping[int, float]) -> tuple[Array, Array]:
        """Means and deviations of all, given what some took."""
        places = np.array(list(taken))
        known = self._covariance[np.ix_(places, places)] + NOISE**2 * np.eye(len(places))
        across = self._covariance[:, places]
        weights = np.linalg.solve(known, across.T)
        off = np.array(list(taken.values())) - self._mean[places]
        left = np.diag(self._covariance) - np.einsum("ij,ji->i", across, weights)
        return self._mean + weights.T @ off, np.sqrt(np.maximum(left, NOISE**2))


def _likeness(described: Sequence[Description]) -> Array:
    """1 of equal plans, less the more features differ, each by how it varies among these."""
    columns = sorted({name for one in described for name in one.features})
    rows = rows_of(described, columns)
    spread = rows.std(axis=0)
    rows = rows[:, spread > 0] / spread[spread > 0]
    squares = np.einsum("ij,ij->i", rows, rows)
    apart = squares[:, None] + squares[None, :] - 2 * rows @ rows.T
    found: Array = np.exp(-np.maximum(apart, 0) / 2 / max(rows.shape[1], 1))
    return found


def _improvements(expected: Array, deviation: Array, best: float) -> Array:
    """By how much each is expected to be below the best, where it is."""
    ahead = (best - expected) / deviation
    below = np.array([(1 + erf(value / sqrt(2))) / 2 for value in ahead.tolist()])
    density = np.exp(-ahead * ahead / 2) / sqrt(2 * pi)
    found: Array = np.maximum(deviation * (ahead * below + density), 0)
    return found
