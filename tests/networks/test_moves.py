"""What is moved by indices that are known, what is known ahead, and products along dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import morello
from morello.errors import MorelloError

from .models import expected, interpreted, model_of, random, read, saved
from .test_networks import TARGET, imported

X = random(2, 3, 5)
ROWS = np.array([[[0], [2]], [[1], [1]]])
ELSEWHERE = np.array([[1, 3, -1], [7, -5, -6]])

Case = tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]

CASES: dict[str, Case] = {
    **{
        f"one of several, by {dtype}": (
            "OneHot",
            {"i": ELSEWHERE.astype(dtype)},
            {"n": np.array(5), "v": np.array([-1, 2.5], np.float32)},
            {"axis": 1},
        )
        for dtype in ("int64", "int32", "float32")
    },
    "one of several, as whole numbers": (
        "OneHot",
        {"i": ELSEWHERE},
        {"n": np.array(5), "v": np.array([0, 1], np.int32)},
        {},
    ),
    "one of several, in front": (
        "OneHot",
        {"i": ELSEWHERE.astype(np.int32)},
        {"n": np.array(5), "v": np.array([0, 1])},
        {"axis": 0},
    ),
    "rows in the reverse order": (
        "ReverseSequence",
        {"x": X},
        {"n": np.array([3, 1])},
        {"time_axis": 1, "batch_axis": 0},
    ),
    "columns in the reverse order": (
        "ReverseSequence",
        {"x": random(4, 3)},
        {"n": np.array([1, 4, 2])},
        {"time_axis": 0, "batch_axis": 1},
    ),
    "rows of a batch by places": ("GatherND", {"x": X}, {"i": ROWS}, {"batch_dims": 1}),
    **{
        f"by data {where}": (operator, {"x": X, "i": np.array(indices)}, {}, attributes)
        for where, operator, indices, attributes in (
            (
                "along columns",
                "GatherElements",
                [[[0, -1, 2, 1, 0]], [[1, 1, -3, 2, 0]]],
                {"axis": 1},
            ),
            ("along rows", "GatherElements", [[[0, -5], [4, 2], [1, 1]]] * 2, {"axis": 2}),
            ("of rows", "GatherND", [[0, 1], [-1, 2], [1, -3]], {}),
            ("of tables", "GatherND", [[1]], {}),
            ("of elements", "GatherND", [[[0, 1, 4]], [[1, -1, 0]]], {}),
            ("of rows of a batch", "GatherND", [[[2], [0]], [[1], [-1]]], {"batch_dims": 1}),
        )
    },
    **{
        f"rows combined by {reduction}": (
            "ScatterND",
            {"x": X},
            {"i": np.array([[0, 2], [1, -3]]), "u": random(2, 5)},
            {"reduction": reduction},
        )
        for reduction in ("add", "mul", "max", "min")
    },
    **{
        f"several combined by {reduction}": (
            "ScatterElements",
            {"x": x, "u": (random(2, 4, 5) * 9).astype(x.dtype)},
            {"i": np.random.default_rng(3).integers(-3, 3, (2, 4, 5))},
            {"axis": 1, "reduction": reduction},
        )
        for reduction, x in (("add", X), ("max", X), ("min", (X * 9).astype(np.int32)))
    },
    "elements that are added": (
        "ScatterElements",
        {"x": X, "u": random(1, 2, 5)},
        {"i": np.array([[[0, 1, 2, -1, 0], [1, 2, 1, 0, 1]]])},
        {"axis": 1, "reduction": "add"},
    ),
    "a diagonal": ("EyeLike", {"x": random(3, 5)}, {}, {"k": -1}),
    "a diagonal of whole numbers": ("EyeLike", {"x": random(3, 5)}, {}, {"dtype": 6}),
    "sizes": ("Shape", {"x": X}, {}, {"start": -2}),
    "a number of elements": ("Size", {"x": X}, {}, {}),
    "a product of all": ("ReduceProd", {"x": X}, {}, {"keepdims": 0}),
    "products of columns": ("ReduceProd", {"x": random(7, 4)}, {}, {"axes": [0]}),
    "products of rows of whole numbers": (
        "ReduceProd",
        {"x": np.array([[3, -2, 5], [-(2**20), 7, 2**15]], np.int32)},
        {"a": np.array([-1])},
        {},
    ),
    "products over no axes": (
        "ReduceProd",
        {"x": X},
        {"a": np.array([], np.int64)},
        {"noop_with_empty_axes": 1},
    ),
    "roots of squares of windows": (
        "LpPool",
        {"x": random(1, 2, 5, 6)},
        {},
        {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]},
    ),
    "magnitudes of windows": ("LpPool", {"x": random(1, 2, 7)}, {}, {"kernel_shape": [3], "p": 1}),
}


def network_of(case: Case, path: Path, opset: int = 18) -> Any:
    """The network of one node, and its model."""
    operator, inputs, constants, attributes = case
    if "axes" in attributes:
        opset = 17
    names = sorted([*inputs, *constants], key=["x", "i", "n", "v", "a", "u"].index)
    node = helper.make_node(operator, names, ["y"], "it", **attributes)
    model = model_of([node], inputs, ["y"], constants, opset=opset)
    return read(model, path), model


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_onnx_says(case: str, tmp_path: Path) -> None:
    network, model = network_of(CASES[case], tmp_path)
    [result] = interpreted(network, CASES[case][1])
    [wanted] = expected(model, CASES[case][1])
    assert result.shape == wanted.shape
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_an_index_outside_of_its_dimension_is_an_error(tmp_path: Path) -> None:
    """Even if there is an element of another row."""
    node = helper.make_node("GatherElements", ["x", "i"], ["y"], axis=1)
    inputs = {"x": random(2, 3), "i": np.array([[0, 2], [-3, 1]])}
    model = model_of([node], inputs, ["y"])
    out = tmp_path / "out"
    path = str(saved(model, tmp_path))
    assert imported([path, "-o", str(out), "-t", TARGET, "--no-memo"]).exit_code == 0
    network = morello.load(out)
    np.testing.assert_array_equal(network(**inputs), expected(model, inputs)[0])
    for wrong in (3, -4):
        indices = np.array([[wrong, 2], [0, 1]])
        with pytest.raises(MorelloError, match="lies outside"):
            network(inputs["x"], indices)


REFUSED: dict[str, Case] = {
    "it multiplies several elements that it writes to one place": (
        "ScatterND",
        {"x": X},
        {"i": np.array([[0, 2], [0, -1]]), "u": random(2, 5)},
        {"reduction": "mul"},
    ),
    "it is the norm of exponent 3, not of 1 or 2": (
        "LpPool",
        {"x": random(1, 2, 7)},
        {},
        {"kernel_shape": [3], "p": 3},
    ),
    "its lengths is computed": (
        "ReverseSequence",
        {"x": X, "n": np.array([3, 1, 2])},
        {},
        {},
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_said_is_refused(reason: str, tmp_path: Path) -> None:
    with pytest.raises(MorelloError, match=f"'it': {reason}"):
        network_of(REFUSED[reason], tmp_path)


def test_roots_of_squares_of_images(tmp_path: Path) -> None:
    """Of which the reference of ONNX knows none."""
    image = random(2, 3, 4, 5)
    network, _ = network_of(("GlobalLpPool", {"x": image}, {}, {}), tmp_path)
    wanted = np.sqrt((image**2).sum(axis=(2, 3), keepdims=True))
    np.testing.assert_allclose(interpreted(network, {"x": image})[0], wanted, rtol=1e-5)


def test_depth_may_have_blocks_last(tmp_path: Path) -> None:
    image = random(1, 2, 4, 6)
    attributes = {"blocksize": 2, "mode": "CRD"}
    network, _ = network_of(("SpaceToDepth", {"x": image}, {}, attributes), tmp_path, opset=28)
    back = image.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3)
    np.testing.assert_array_equal(interpreted(network, {"x": image})[0], back)
