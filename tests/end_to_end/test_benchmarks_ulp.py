"""The benchmark that measures errors of functions."""

from __future__ import annotations

import json

import numpy as np
from click.testing import CliRunner

from benchmarks.ulp import main, numbers, ulps
from morello.ir.primitives import FUNCTION_ULPS


def test_a_coarse_sweep_is_within_what_is_stated() -> None:
    """Of every 1021st number; the line says the function, the stride and the worst."""
    given = ["exp", "--target", "x86.scalar", "--stride", "1021", "--json"]
    result = CliRunner().invoke(main, given, catch_exceptions=False)
    found = json.loads(result.output)
    ((error, _),) = found["worst"].values()
    assert (found["function"], found["stride"]) == ("exp", 1021)
    assert 0.5 <= error <= FUNCTION_ULPS["exp"]


def test_numbers_are_all_bits() -> None:
    """The first part of them begins with 0 and has the stride."""
    first = next(numbers(3)).view(np.uint32)
    assert first[:3].tolist() == [0, 3, 6]


def test_errors_are_seen() -> None:
    """Of a unit at 1, and of what should be a number."""
    exact = np.array([1.0, 1.0, np.nan, np.inf])
    results = np.array([1 + 2.0**-23, np.nan, np.nan, 3e38], np.float32)
    assert ulps(results, exact).tolist() == [1.0, np.inf, 0.0, np.inf]
