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
    "a product of signed bytes": (
        "MatMulInteger",
        {"x": BYTES.view(np.int8)},
        {"w": WEIGHTS, "a": np.int8(-7)},
        {},
    ),
    "a product with a zero point for each column": (
        "MatMulInteger",
        {"x": BYTES},
        {"w": WEIGHTS // 2, "a": ZERO, "b": np.arange(-3, 4).astype(np.int8)},
        {},
    ),
    "a convolution of signed bytes": (
        "ConvInteger",
        {"x": PIXELS.view(np.int8)},
        {"w": FILTERS // 2, "a": np.int8(-9), "b": np.int8(5)},
        {"pads": [1, 0, 2, 1]},
    ),
    "a convolution of pixels of unsigned filters": (
        "ConvInteger",
        {"x": PIXELS},
        {"w": FILTERS[:, :, :1, :1].view(np.uint8), "a": ZERO, "b": np.uint8(128)},
        {},
    ),
    "a convolution whose filters need more bits": (
        "ConvInteger",
        {"x": PIXELS},
        {"w": FILTERS, "b": np.int8(100)},
        {},
    ),
    "a depthwise convolution of bytes": (
        "ConvInteger",
        {"x": PIXELS},
        {"w": FILTERS.reshape(12, 1, 3, 3)[:4], "a": ZERO},
        {"group": 4, "pads": [1, 1, 1, 1]},
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


def _converted(name: str, data: Any, **scales: Any) -> tuple[list[Any], Arrays]:
    """Bytes, converted to f32: nodes, whose result has this name, and their constants."""
    known = {f"{name}_{key}": np.asarray(value) for key, value in scales.items() if key != "axis"}
    attributes = {"axis": scales["axis"]} if "axis" in scales else {}
    given = {} if data is None else {f"{name}_bytes": data}
    node = helper.make_node("DequantizeLinear", [f"{name}_bytes", *known], [name], **attributes)
    return [node], {**given, **known}


SIGNED = np.random.default_rng(9).integers(-128, 128, (1, 8, 6, 5)).astype(np.int8)
MANY = np.random.default_rng(10).integers(-127, 128, (6, 8, 3, 3)).astype(np.int8)
EACH = np.abs(random(6)) / 50

CONVERTED: dict[str, tuple[Any, Any, str, dict[str, Any], bool]] = {
    "an image": (
        _converted("x", None, s=SCALE, z=np.int8(-11)),
        _converted("w", MANY, s=EACH, z=np.zeros(6, np.int8), axis=0),
        "Conv",
        {"pads": [1, 2, 0, 1], "strides": [2, 1]},
        True,
    ),
    "an image, in two groups": (
        _converted("x", None, s=SCALE, z=np.int8(3)),
        _converted("w", MANY[:, :4], s=EACH, axis=0),
        "Conv",
        {"group": 2},
        True,
    ),
    "pixels": (
        _converted("x", None, s=SCALE),
        _converted("w", MANY[:, :, :1, :1], s=np.float32(0.02)),
        "Conv",
        {},
        True,
    ),
    "an image of few channels": (
        _converted("x", None, s=SCALE, z=np.int8(-11)),
        _converted("w", MANY[:, :2], s=EACH, axis=0),
        "Conv",
        {"pads": [1, 2, 0, 1], "strides": [2, 2], "dilations": [1, 2]},
        True,
    ),
    "pixels of few channels": (
        _converted("x", None, s=SCALE),
        _converted("w", MANY[:4, :2], s=np.float32(0.02)),
        "Conv",
        {"group": 4},
        False,
    ),
    "each channel by itself": (
        _converted("x", None, s=SCALE),
        _converted("w", MANY[:, :1].repeat(2, 0)[:8], s=np.float32(0.02)),
        "Conv",
        {"group": 8},
        False,
    ),
    "a matrix": (
        _converted("x", None, s=SCALE, z=np.int8(-11)),
        _converted("w", MANY.reshape(-1)[:15].reshape(5, 3), s=EACH[:3], axis=1),
        "MatMul",
        {},
        True,
    ),
    "a matrix in rows": (
        _converted("x", None, s=SCALE, z=np.int8(-11)),
        _converted("w", MANY.reshape(-1)[:35].reshape(7, 5), s=np.abs(random(7)), axis=0),
        "Gemm",
        {"transB": 1, "alpha": 0.5},
        True,
    ),
    "a matrix of which rows have scales of their own": (
        _converted("x", None, s=SCALE),
        _converted("w", MANY.reshape(-1)[:15].reshape(5, 3), s=np.abs(random(5)), axis=0),
        "MatMul",
        {},
        False,
    ),
}


@pytest.mark.parametrize("case", CONVERTED)
def test_what_bytes_stand_for_is_multiplied_as_bytes(case: str, tmp_path: Path) -> None:
    """As static quantization writes it: results are as exact as in f32, and so rounded alike."""
    x, w, operator, attributes, in_bytes = CONVERTED[case]
    given = SIGNED[0, 0] if operator == "Gemm" else SIGNED
    if operator == "Conv":
        given = SIGNED[:, : w[1]["w_bytes"].shape[1] * attributes.get("group", 1)]
    nodes = [*x[0], *w[0], helper.make_node(operator, ["x", "w"], ["y"], **attributes)]
    inputs = {"x_bytes": given}
    model = model_of(nodes, inputs, ["y"], {**x[1], **w[1]}, opset=19)
    network = read(model, tmp_path)
    [result], [wanted] = interpreted(network, inputs), expected(model, inputs)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4 * np.abs(wanted).max())
    kinds = ("Filter", "Product")
    sums = {network.values[n.output].dtype for n in network.nodes if n.operator in kinds}
    assert sums == ({"int32"} if in_bytes else {"float32"})


def test_bytes_are_moved_as_bytes(tmp_path: Path) -> None:
    """The largest, transposed, joined and quantized again as they were: nothing else is stored."""
    scales = ("s", "z")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *scales], ["q"]),
        helper.make_node("DequantizeLinear", ["q", *scales], ["d"]),
        helper.make_node("MaxPool", ["d"], ["largest"], kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
        helper.make_node("Transpose", ["largest"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Neg", ["turned"], ["other"]),
        helper.make_node("Concat", ["turned", "other"], ["both"], axis=-1),
        helper.make_node("QuantizeLinear", ["both", *scales], ["y"]),
    ]
    for zero in (np.uint8(117), np.int8(-8)):
        inputs = {"x": IMAGE}
        constants: Arrays = {"s": np.asarray(SCALE), "z": np.asarray(zero)}
        model = model_of(nodes, inputs, ["y"], constants, opset=19)
        network = read(model, tmp_path)
        [result], [wanted] = interpreted(network, inputs), expected(model, inputs)
        np.testing.assert_array_equal(result, wanted)
        moved = [n for n in network.nodes if n.operator in ("Window", "Permute", "Concat")]
        assert {network.values[n.output].dtype for n in moved} == {wanted.dtype.name}


def test_bytes_that_are_stored_are_read(tmp_path: Path) -> None:
    """Not the same numbers in f32 besides, which would be stored for this alone."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "t"], ["v"]),
        helper.make_node("MatMul", ["d", "v"], ["sums"]),
        helper.make_node("Softmax", ["d"], ["shares"]),
    ]
    inputs = {"x": random(5, 12)}
    constants: Arrays = {"w": WEIGHTS, "s": np.asarray(SCALE), "z": np.asarray(ZERO)}
    constants = {**constants, "t": np.asarray(np.float32(0.1))}
    model = model_of(nodes, inputs, ["sums", "shares"], constants, opset=19)
    network = read(model, tmp_path)
    for result, wanted in zip(interpreted(network, inputs), expected(model, inputs), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    computed = [n for n in network.nodes if n.operator == "Elementwise"]
    [narrow] = [n for n in computed if network.values[n.output].dtype == "uint8"]
    assert [n for n in network.nodes if narrow.inputs[0] in n.inputs] == [narrow]
