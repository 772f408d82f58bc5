"""Coefficients fitted anew to a corpus: the first learner, which others are compared with.

It is the fit of `morello.calibration.fitting`, to programs of all goals: non-negative least squares
of relative errors.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from morello.calibration.fitting import Measured, fit
from morello.ir.numeric import Array
from morello.learning.dataset import Dataset

COEFFICIENT = "coefficient:"
"""How features begin that are shares of predicted cycles."""


def refit(data: Dataset) -> Array:
    """By column: of shares of a coefficient its fitted value over that of the target, else 0."""
    prior = {n: v for goal in data.goals for n, v in goal.group.coefficients.items()}
    measured = [
        Measured("", _counts(program.features, program.predicted, prior), program.cycles)
        for goal in data.goals
        for program in goal.group.programs
    ]
    found = fit(measured, prior).coefficients
    ratios = np.zeros(len(data.columns))
    for place, column in enumerate(data.columns):
        name = column.removeprefix(COEFFICIENT)
        if name != column and prior.get(name):
            # One of 0 would leave a program that has no other without a cost.
            ratios[place] = max(found.get(name, prior[name]) / prior[name], 1e-6)
    return ratios


def refitted(rows: Array, ratios: Array) -> Array:
    """Of each program: the logarithm of its cost with fitted coefficients over that predicted.

    Args:
        rows: Features by program and column.
        ratios: What `refit` gives.
    """
    shares = rows[:, ratios > 0]
    before, after = shares.sum(axis=1), shares @ ratios[ratios > 0]
    known = before > 0
    total: Array = np.log(np.where(known, after, 1) / np.where(known, before, 1))
    return total


def _counts(
    features: Mapping[str, float], predicted: float, prior: Mapping[str, float]
) -> dict[str, float]:
    """How often each coefficient counts."""
    shares = {n.removeprefix(COEFFICIENT): v for n, v in features.items() if COEFFICIENT in n}
    return {n: share * predicted / prior[n] for n, share in shares.items() if prior.get(n)}
