"""What ONNX or a file defines by other operators, and what is empty on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from morello.errors import MorelloError

from .models import expected, interpreted, model_of, random, read

X = random(2, 3, 4)

DEFINED: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "norms": ("MeanVarianceNormalization", {"x": random(2, 3, 4, 5)}, {"axes": [0, 2, 3]}, 13),
    "attention": (
        "Attention",
        {name: random(1, 2, 5, 4, seed=n) for n, name in enumerate("qkv")},
        {"is_causal": 1},
        23,
    ),
    "rotations": (
        "RotaryEmbedding",
        {"x": random(1, 2, 5, 8), "c": random(1, 5, 4), "s": random(1, 5, 4, seed=1)},
        {},
        23,
    ),
}


@pytest.mark.parametrize("case", DEFINED)
def test_what_onnx_defines_by_other_operators(case: str, tmp_path: Path) -> None:
    """It has no translation of its own."""
    operator, inputs, attributes, opset = DEFINED[case]
    node = helper.make_node(operator, list(inputs), ["y"], **attributes)
    model = model_of([node], inputs, ["y"], opset=opset)
    [result] = interpreted(read(model, tmp_path), inputs)
    np.testing.assert_allclose(result, expected(model, inputs)[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reader", ["", "ReduceSum 'sum'"])
def test_what_is_empty_is_refused(reader: str, tmp_path: Path) -> None:
    """Unless it is only joined to other tensors, as in rotations of whole rows."""
    nodes = [helper.make_node("Slice", ["x", "a", "a", "b"], ["e"])]
    if reader:
        nodes.append(helper.make_node("ReduceSum", ["e", "b"], ["y"], name="sum"))
    constants = {"a": np.array([0]), "b": np.array([1])}
    model = model_of(nodes, {"x": X}, ["y" if reader else "e"], constants)
    with pytest.raises(MorelloError, match=f"'e' has no elements, and is .*{reader}"):
        read(model, tmp_path)


def test_what_the_file_defines(tmp_path: Path) -> None:
    """A function of two nodes, called twice."""
    nodes = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Sub", ["a", "b"], ["c"])]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("mine", "below", ["a"], ["c"], nodes, opsets)
    calls = [
        helper.make_node("below", ["x"], ["t"], domain="mine"),
        helper.make_node("below", ["t"], ["y"], domain="mine"),
    ]
    model = model_of(calls, {"x": X}, ["y"])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    [result] = interpreted(read(model, tmp_path), {"x": X})
    assert (result == np.minimum(X, 0)).all()
