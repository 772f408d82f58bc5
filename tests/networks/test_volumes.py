"""Convolutions and pools of three dimensions, and where the largest elements of pools are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from .models import expected, interpreted, model_of, random, read

VOLUME = random(2, 4, 5, 6, 7)

NODES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "filters of volumes": (
        "Conv",
        {"x": VOLUME},
        {"w": random(3, 4, 2, 3, 3), "b": random(3)},
        {"strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]},
    ),
    "filters that reach far": (
        "Conv",
        {"x": VOLUME},
        {"w": random(3, 4, 3, 1, 2)},
        {"dilations": [2, 1, 3]},
    ),
    "filters of single elements": ("Conv", {"x": VOLUME}, {"w": random(3, 4, 1, 1, 1)}, {}),
    "filters of groups": (
        "Conv",
        {"x": VOLUME},
        {"w": random(6, 2, 2, 2, 2)},
        {"group": 2, "auto_pad": "SAME_UPPER"},
    ),
    "filters of each channel": (
        "Conv",
        {"x": VOLUME},
        {"w": random(4, 1, 3, 3, 3), "b": random(4)},
        {"group": 4, "pads": [1] * 6},
    ),
    "filters of four dimensions": (
        "Conv",
        {"x": random(1, 2, 3, 4, 3, 4)},
        {"w": random(2, 2, 2, 1, 2, 2)},
        {"pads": [1, 0, 0, 1, 0, 1, 0, 0]},
    ),
    "filters back": (
        "ConvTranspose",
        {"x": random(1, 3, 2, 3, 4)},
        {"w": random(3, 2, 2, 3, 2), "b": random(2)},
        {"strides": [2, 2, 1], "pads": [0, 1, 0, 0, 1, 0]},
    ),
    "largest elements of volumes": (
        "MaxPool",
        {"x": VOLUME},
        {},
        {"kernel_shape": [2, 3, 2], "strides": [2, 2, 1], "pads": [1, 1, 0, 0, 1, 1]},
    ),
    "means of volumes": (
        "AveragePool",
        {"x": VOLUME},
        {},
        {"kernel_shape": [2, 2, 3], "strides": [1, 2, 2], "pads": [0, 1, 1, 1, 0, 1]},
    ),
    "norms of volumes": ("LpPool", {"x": VOLUME}, {}, {"kernel_shape": [2, 2, 2]}),
    "the mean of volumes": ("GlobalAveragePool", {"x": VOLUME}, {}, {}),
}


@pytest.mark.parametrize("case", NODES)
def test_it_computes_what_onnx_says(case: str, tmp_path: Path) -> None:
    operator, inputs, constants, attributes = NODES[case]
    node = helper.make_node(operator, [*inputs, *constants], ["y"], **attributes)
    model = model_of([node], inputs, ["y"], constants, opset=18)
    [result] = interpreted(read(model, tmp_path), inputs)
    [wanted] = expected(model, inputs)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 3, 8, 6), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((1, 2, 7, 6), {"kernel_shape": [3, 2], "pads": [1, 1, 1, 0]}),
        ((2, 3, 19), {"kernel_shape": [3], "strides": [2], "dilations": [2]}),
        ((1, 2, 4, 5, 6), {"kernel_shape": [2, 2, 3], "strides": [2, 1, 3]}),
    ],
)
def test_places_of_largest_elements(
    shape: tuple[int, ...], attributes: dict[str, Any], tmp_path: Path
) -> None:
    inputs = {"x": random(*shape)}
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], **attributes)
    model = model_of([node], inputs, ["y", "i"])
    found, places = interpreted(read(model, tmp_path), inputs)
    np.testing.assert_array_equal(found, expected(model, inputs)[0])
    assert places.dtype == np.int64
    np.testing.assert_array_equal(inputs["x"].reshape(-1)[places], found)


def test_of_equal_elements_the_first_is_the_place(tmp_path: Path) -> None:
    inputs = {"x": np.array([[[1, 3, 3, 3, 2]]], np.float32)}
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[3])
    places = interpreted(read(model_of([node], inputs, ["y", "i"]), tmp_path), inputs)[1]
    assert places.tolist() == [[[1, 1, 2]]]
