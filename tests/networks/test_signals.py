"""Fourier transforms: what ONNX says, along any dimension, cut short or padded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from morello.errors import MorelloError

from .models import expected, interpreted, model_of, random, read

WHOLE, HALF = random(2, 7, 3, 2), random(2, 4, 3, 2)

CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "of numbers": ("DFT", {"x": random(2, 7, 3, 1)}, {"n": "", "axis": np.array(1)}, {}),
    "of complex numbers": ("DFT", {"x": WHOLE}, {"n": "", "axis": np.array(-3)}, {}),
    "along the last but one": ("DFT", {"x": WHOLE}, {}, {}),
    "of the first": ("DFT", {"x": WHOLE}, {"n": np.array(5), "axis": np.array(1)}, {}),
    "of zeros, too": ("DFT", {"x": WHOLE}, {"n": np.array(10), "axis": np.array(1)}, {}),
    "back": ("DFT", {"x": WHOLE}, {"n": "", "axis": np.array(1)}, {"inverse": 1}),
    "one half": (
        "DFT",
        {"x": random(2, 7, 3, 1)},
        {"n": "", "axis": np.array(1)},
        {"onesided": 1},
    ),
    "back from one half": (
        "DFT",
        {"x": HALF},
        {"n": np.array(7), "axis": np.array(1)},
        {"onesided": 1, "inverse": 1},
    ),
    "of windows": (
        "STFT",
        {"x": random(2, 37, 1)},
        {"step": np.array(5), "w": random(8) ** 2},
        {},
    ),
    "of windows without weights, both halves": (
        "STFT",
        {"x": random(2, 37, 1)},
        {"step": np.array(5), "w": "", "n": np.array(8)},
        {"onesided": 0},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_transforms(case: str, tmp_path: Path) -> None:
    operator, inputs, constants, attributes = CASES[case]
    names = [name if not isinstance(data, str) else "" for name, data in constants.items()]
    node = helper.make_node(operator, [*inputs, *names], ["y"], **attributes)
    known = {name: constants[name] for name in names if name}
    model = model_of([node], inputs, ["y"], known, opset=20)
    [result] = interpreted(read(model, tmp_path), inputs)
    [wanted] = expected(model, inputs)
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_a_transform_of_too_many_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("DFT", ["x"], ["y"], "far")
    with pytest.raises(MorelloError, match="'far': it transforms 3000 numbers"):
        read(model_of([node], {"x": random(1, 3000, 1)}, ["y"], opset=20), tmp_path)


def test_of_windows_of_complex_numbers_nothing_is_said(tmp_path: Path) -> None:
    node = helper.make_node("STFT", ["x", "step", "", "n"], ["y"], "far")
    constants = {"step": np.array(5), "n": np.array(8)}
    model = model_of([node], {"x": random(2, 37, 2)}, ["y"], constants)
    with pytest.raises(MorelloError, match="'far': its signal has an imaginary part"):
        read(model, tmp_path)
