"""Coefficients that predict measured cycles: non-negative least squares of relative errors.

With x_i the counts of program i and y_i its cycles, the coefficients c >= 0 minimise

    sum over i of  w_i * (x_i . c / y_i - 1)^2  +  STIFFNESS * sum over j of (c_j / p_j - 1)^2

where p are the values that the target had: programs that say nothing of a coefficient leave it as
it was. The weights w are those of Huber's estimator (1964), so that a few programs that something
else disturbed do not bend the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from morello.errors import not_installed
from morello.ir.numeric import Array

STIFFNESS = 0.02
"""What leaving a coefficient costs, next to the error of one program."""

BEND = 0.1
"""Relative errors beyond this one count linearly."""

ROUNDS = 8


class Measured(Struct, frozen=True):
    """A program that was run: its name, counts of coefficients, and cycles."""

    name: str
    counts: Mapping[str, float]
    cycles: float


class Fit(Struct, frozen=True):
    """Coefficients by full name, with how well they predict what they were fitted to.

    ``errors`` are relative, in the order of the programs: 0.1 where 10% too much is predicted.
    ``rank_correlation`` is that of predicted with measured.
    """

    coefficients: Mapping[str, float]
    errors: tuple[float, ...]
    rank_correlation: float


def fit(programs: Sequence[Measured], prior: Mapping[str, float]) -> Fit:
    """Fit the coefficients that any of the programs uses.

    Args:
        programs: What was measured.
        prior: Values of all coefficients, by full name; one of 0 stays 0.

    Raises:
        MorelloError: The library that does this is not installed.
    """
    optimize, _ = require_libraries()
    names = sorted({n for p in programs for n in p.counts if prior[n] > 0})
    if not names:  # SciPy ends the process
        return Fit({}, (-1.0,) * len(programs), 0.0)
    cycles = np.array([p.cycles for p in programs])
    scale = np.array([prior[n] for n in names])
    shares = np.array([[p.counts.get(n, 0.0) for n in names] for p in programs])
    shares = shares * scale / cycles[:, None]
    stiff = np.sqrt(STIFFNESS) * np.eye(len(names))
    weights = np.ones(len(programs))
    for _ in range(ROUNDS):
        rows = np.vstack([shares * weights[:, None], stiff])
        found, _ = optimize.nnls(rows, np.concatenate([weights, stiff.sum(axis=1)]))
        errors = shares @ found - 1
        weights = np.sqrt(np.minimum(1, BEND / np.maximum(np.abs(errors), 1e-12)))
    predicted = (errors + 1) * cycles
    return Fit(
        dict(zip(names, (found * scale).tolist(), strict=True)),
        tuple(errors.tolist()),
        rank_correlation(predicted, cycles),
    )


def rank_correlation(predicted: Array, measured: Array) -> float:
    """Spearman's; 0 where one of them is constant, which leaves it undefined."""
    if np.ptp(predicted) == 0 or np.ptp(measured) == 0:
        return 0.0
    _, stats = require_libraries()
    return float(stats.spearmanr(predicted, measured).statistic)


def require_libraries() -> tuple[Any, Any]:
    """The modules that fit: least squares, statistics.

    Raises:
        MorelloError: They are not installed.
    """
    try:
        from scipy import optimize, stats  # noqa: PLC0415
    except ImportError as error:
        raise not_installed("fitting coefficients", "SciPy", "calibrate") from error
    return optimize, stats
