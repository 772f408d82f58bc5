"""Elements in order: the largest, the least, and which are in front where several are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from .models import expected, interpreted, model_of, random, read

ENDS = random(2, 3, 7)
ENDS[0, 0, 1] = ENDS[0, 0, 4]
ENDS[1, 1, 2:4] = np.inf, -np.inf

CASES: dict[str, tuple[np.ndarray[Any, Any], int, dict[str, Any]]] = {
    "the largest": (ENDS, 3, {}),
    "all": (ENDS, 7, {}),
    "the least of columns": (ENDS, 2, {"axis": 1, "largest": 0}),
    "whole numbers": (np.array([[16777217, 16777216, 5, 16777217]], np.int32), 3, {}),
    "of 64 bits": (np.array([3, -1, 3, 7]), 2, {"axis": 0}),
    "one": (random(4, 1), 1, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_of_an_order(case: str, tmp_path: Path) -> None:
    x, count, attributes = CASES[case]
    node = helper.make_node("TopK", ["x", "k"], ["values", "places"], **attributes)
    model = model_of([node], {"x": x}, ["values", "places"], {"k": np.array([count])})
    results = interpreted(read(model, tmp_path), {"x": x})
    for result, wanted in zip(results, expected(model, {"x": x}), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_where_they_are_may_be_all_that_is_wanted(tmp_path: Path) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["", "places"])
    model = model_of([node], {"x": ENDS}, ["places"], {"k": np.array([2])})
    [result] = interpreted(read(model, tmp_path), {"x": ENDS})
    np.testing.assert_array_equal(result, np.argsort(-ENDS, axis=-1, kind="stable")[..., :2])
