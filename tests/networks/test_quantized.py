"""Quantized nodes: what ONNX says, and no bytes that nothing reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from .models import Arrays, expected, interpreted, model_of, random, read

X = random(2, 3, 4)
IMAGE = random(1, 4, 9, 7)
BYTES = np.random.default_rng(5).integers(0, 256, (5, 12)).astype(np.uint8)
WEIGHTS = np.random.default_rng(6).integers(-128, 128, (12, 7)).astype(np.int8)
PIXELS = np.random.default_rng(7).integers(0, 256, (1, 4, 6, 5)).astype(np.uint8)
FILTERS = np.random.default_rng(8).integers(-128, 128, (3, 4, 3, 3)).astype(np.int8)
SCALE, ZERO = np.float32(0.04), np.uint8(117)

QUANTIZED: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "to bytes": ("QuantizeLinear", {"x": X * 9}, {"s": SCALE, "z": ZERO}, {}),
    "to signed bytes": ("QuantizeLinear", {"x": X}, {"s": SCALE, "z": np.int8(-3)}, {}),
    "to bytes, with a scale for each": (
        "QuantizeLinear",
        {"x": X},
        {"s": np.array([0.1, 0.2, 0.3], np.float32), "z": np.array([1, 20, 100], np.uint8)},
        {"axis": 1},
    ),
    "from bytes": ("DequantizeLinear", {"x": BYTES}, {"s": SCALE, "z": ZERO}, {}),
    "from bytes, with a scale for each": (
        "DequantizeLinear",
        {"x": BYTES},
        {"s": random(12), "z": np.arange(12).astype(np.uint8)},
        {"axis": -1},
    ),
    "a product of bytes": ("MatMulInteger", {"x": BYTES}, {"w": WEIGHTS}, {}),
    "a product with zero points": (
        "MatMulInteger",
        {"x": BYTES},
        {"w": WEIGHTS, "a": ZERO, "b": np.int8(-5)},
        {},
    ),
    "a product with unsigned weights": (
        "MatMulInteger",
        {"x": BYTES.reshape(1, 5, 12)},
        {"w": WEIGHTS.view(np.uint8), "a": ZERO, "b": np.uint8(120)},
        {},
    ),
    "a product, quantized again": (
        "QLinearMatMul",
        {"x": BYTES},
        {
            **{"xs": SCALE, "xz": ZERO, "w": WEIGHTS, "ws": np.float32(0.1), "wz": np.int8(3)},
            **{"ys": np.float32(3.7), "yz": np.uint8(100)},
        },
        {},
    ),
    "a convolution of bytes": (
        "ConvInteger",
        {"x": PIXELS},
        {"w": FILTERS, "a": ZERO},
        {"pads": [1, 1, 1, 1], "strides": [2, 1]},
    ),
    "a convolution, quantized again": (
        "QLinearConv",
        {"x": PIXELS},
        {
            **{"xs": SCALE, "xz": ZERO, "w": FILTERS, "ws": random(3) ** 2, "wz": np.int8(0)},
            **{"ys": np.float32(5.3), "yz": np.uint8(100), "b": np.array([5, -900, 12], np.int32)},
        },
        {"pads": [0, 1, 0, 1]},
    ),
}


@pytest.mark.parametrize("case", QUANTIZED)
def test_what_is_quantized(case: str, tmp_path: Path) -> None:
    operator, inputs, constants, attributes = QUANTIZED[case]
    node = helper.make_node(operator, [*inputs, *constants], ["y"], **attributes)
    known = {n: np.asarray(c) for n, c in constants.items()}
    model = model_of([node], inputs, ["y"], known, opset=19)
    [result] = interpreted(read(model, tmp_path), inputs)
    [wanted] = expected(model, inputs)
    assert np.issubdtype(wanted.dtype, np.floating) or result.dtype == wanted.dtype
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6)


def test_a_product_quantizes_what_it_is_given(tmp_path: Path) -> None:
    """As networks whose weights alone were quantized do; what is only read in f32 is no byte."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["wide"], to=1),
        helper.make_node("Mul", ["wide", "s"], ["y"]),
        helper.make_node("QuantizeLinear", ["y", "t"], ["bytes"]),
        helper.make_node("DequantizeLinear", ["bytes", "t"], ["v"]),
    ]
    inputs = {"x": random(5, 12)}
    constants: Arrays = {"w": WEIGHTS, "t": np.asarray(np.float32(9))}
    model = model_of(nodes, inputs, ["y", "v"], constants, opset=19)
    network = read(model, tmp_path)
    for result, wanted in zip(interpreted(network, inputs), expected(model, inputs), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5)
    computed = [node.output for node in network.nodes if node.operator == "Elementwise"]
    kept = [network.values[name].dtype for name in computed]
    assert kept.count("uint8") == 2  # x and its zero point, which the product reads


def test_constants_are_quantized_ahead(tmp_path: Path) -> None:
    """So they are constants for nodes that want some."""
    nodes = [
        helper.make_node("QuantizeLinear", ["w", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["v"]),
        helper.make_node("Conv", ["x", "v"], ["y"]),
    ]
    constants: Arrays = {"w": random(3, 4, 2, 2), "s": np.asarray(SCALE), "z": np.asarray(ZERO)}
    model = model_of(nodes, {"x": IMAGE}, ["y"], constants, opset=19)
    [result] = interpreted(read(model, tmp_path), {"x": IMAGE})
    np.testing.assert_allclose(result, expected(model, {"x": IMAGE})[0], rtol=1e-5, atol=1e-5)
