"""Where a network permutes: what it is given, or what it computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from .models import expected, interpreted, model_of, random, read

BYTES = np.random.default_rng(3).integers(0, 256, (1, 5, 4, 3)).astype(np.uint8)
MEANS, SCALES = random(3, seed=1), random(3, seed=2) + 4


def picture(*, other: bool = False, plus: bool = False) -> list[onnx.NodeProto]:
    """Bytes to numbers, less the means of channels, and channels first."""
    nodes = [
        helper.make_node("Cast", ["x"], ["numbers"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Sub", ["numbers", "means"], ["middle"]),
        helper.make_node("Div", ["middle", "scales"], ["scaled"]),
        helper.make_node("Transpose", ["scaled"], ["y"], perm=[0, 3, 1, 2]),
    ]
    if plus:
        nodes[1:1] = [helper.make_node("Add", ["numbers", "z"], ["more"])]
        nodes[2].input[0] = "more"
    return [*nodes, helper.make_node("Neg", ["middle"], ["other"])] if other else nodes


def of_picture(nodes: list[onnx.NodeProto], x: np.ndarray[Any, Any], *, outputs: str) -> Any:
    given = {"x": x, "z": random(*x.shape)} if any("z" in n.input for n in nodes) else {"x": x}
    constants = {"means": MEANS, "scales": SCALES}
    return model_of(nodes, given, outputs.split(), constants), given


@pytest.mark.parametrize(
    ("nodes", "x", "outputs", "wanted"),
    [
        pytest.param(picture(), BYTES, "y", "Permute x", id="bytes"),
        pytest.param(picture(plus=True), BYTES, "y", "Permute x z", id="two inputs"),
        pytest.param(picture(other=True), BYTES, "y other", "", id="read by others"),
        pytest.param(picture()[1:], random(1, 5, 4, 3), "y", "Permute x", id="as wide"),
    ],
)
def test_the_narrower_is_permuted(
    nodes: list[onnx.NodeProto],
    x: np.ndarray[Any, Any],
    outputs: str,
    wanted: str,
    tmp_path: Path,
) -> None:
    if nodes[0].op_type != "Cast":
        nodes[0].input[0] = "x"
    model, given = of_picture(nodes, x, outputs=outputs)
    network = read(model, tmp_path)
    permuted = [node.inputs[0] for node in network.nodes if node.operator == "Permute"]
    inputs = [name for name in permuted if name in network.inputs]
    assert inputs == wanted.split()[1:]
    assert len(permuted) == max(1, len(inputs))
    results = interpreted(network, given)
    for result, right in zip(results, expected(model, given), strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-6)


def test_numbers_that_become_bytes_are_permuted_as_bytes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 2, 3, 1]),
        helper.make_node("Clip", ["turned", "low", "high"], ["clipped"]),
        helper.make_node("Cast", ["clipped"], ["y"], to=onnx.TensorProto.UINT8),
    ]
    given = {"x": 100 + 90 * random(1, 3, 5, 4)}
    ends = {"low": np.array(0, np.float32), "high": np.array(255, np.float32)}
    model = model_of(nodes, given, ["y"], ends)
    network = read(model, tmp_path)
    [permuted] = [node.inputs[0] for node in network.nodes if node.operator == "Permute"]
    assert network.values[permuted].dtype == "uint8"
    [result] = interpreted(network, given)
    np.testing.assert_array_equal(result, expected(model, given)[0])
