"""Whole numbers of 64 bits: computed in 32, and as they are in arguments and for functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper

import morello
from morello.errors import MorelloError
from morello.networks.kinds import TYPES

from .models import Arrays, expected, interpreted, model_of, random, read, saved
from .test_networks import TARGET, imported

IDS = np.array([[1, 3, 2, 0, 1], [0, 2, 4, 1, 1]])
LONG = TensorProto.INT64


def node(operator: str, inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(operator, inputs.split(), [output], f"to_{output}", **attributes)


CASES: dict[str, tuple[list[NodeProto], dict[str, Any], dict[str, Any]]] = {
    "arithmetic": (
        [node("Mul", "x two", "a"), node("Sub", "a x", "b"), node("Div", "b three", "y")],
        {"x": IDS - 3},
        {"two": np.array(2), "three": np.array([3, 2, 1, 3, -2])},
    ),
    "what is padding": (
        [node("Equal", "x one", "t"), node("Where", "t low z", "y")],
        {"x": IDS, "z": random(2, 5)},
        {"one": np.array(1), "low": np.array(-1e9, np.float32)},
    ),
    "positions of what is no padding": (
        [
            node("Equal", "x one", "t"),
            node("Not", "t", "n"),
            node("Cast", "n", "m", to=LONG),
            node("CumSum", "m axis", "c"),
            node("Mul", "c m", "d"),
            node("Add", "d one", "p"),
            node("Gather", "table p", "y"),
        ],
        {"x": IDS},
        {"one": np.array(1), "axis": np.array(1), "table": random(7, 4)},
    ),
    "whether any is": (
        [
            node("Greater", "x z", "t"),
            node("Cast", "t", "i", to=LONG),
            node("ReduceSum", "i axis", "s"),
            node("Greater", "s zero", "b"),
            node("Cast", "b", "y", to=TensorProto.FLOAT),
        ],
        {"x": random(3, 5), "z": random(3, 5, seed=3)},
        {"axis": np.array([1]), "zero": np.array(0)},
    ),
    "the largest and where it is": (
        [
            node("ReduceMax", "x", "m", axes=[1]),
            node("ArgMax", "x", "p", axis=1),
            node("Add", "m p", "y"),
        ],
        {"x": IDS},
        {},
    ),
    "truncated": (
        [node("Cast", "x", "a", to=LONG), node("Cast", "a", "y", to=TensorProto.FLOAT)],
        {"x": random(4, 5) * 4},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_onnx_says(case: str, tmp_path: Path) -> None:
    nodes, inputs, constants = CASES[case]
    model = model_of(nodes, inputs, ["y"], constants)
    network = read(model, tmp_path)
    computed = {n.output for n in network.nodes if n.operator in ("Elementwise", "Reduce")}
    assert {network.values[name].dtype for name in computed} <= TYPES.keys()
    [result] = interpreted(network, inputs)
    [wanted] = expected(model, inputs)
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_what_is_looked_up_by_an_input_reads_it_as_it_is(tmp_path: Path) -> None:
    inputs: Arrays = {"x": IDS}
    model = model_of([node("Gather", "t x", "y")], inputs, ["y"], {"t": random(5, 3)})
    assert [n.operator for n in read(model, tmp_path).nodes] == ["Lookup", "View"]


def test_a_number_of_more_bits_is_refused(tmp_path: Path) -> None:
    model = model_of([node("Min", "x most", "y")], {"x": IDS}, ["y"], {"most": np.array(2**40)})
    arguments = [str(saved(model, tmp_path)), "-o", str(tmp_path / "out"), "-t", TARGET]
    result = imported(arguments)
    assert result.exit_code == 1
    assert "it computes with 1099511627776, which has more than 32 bits" in result.output


def test_an_argument_of_more_bits_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    model = model_of([node("Add", "x x", "y")], {"x": np.arange(5)}, ["y"])
    arguments = [str(saved(model, tmp_path)), "-o", str(out), "-t", TARGET, "--no-memo"]
    assert imported(arguments).exit_code == 0
    network = morello.load(out)
    least, largest = -(2**31), 2**31 - 1
    assert network(np.array([least, 0, 1, 7, largest])).tolist() == [0, 0, 2, 14, -2]
    for number in (least - 1, largest + 1, 2**32, -(2**63)):
        with pytest.raises(MorelloError, match="computes with 32 bits"):
            network(np.array([0, number, 0, 0, 0]))
    assert "-3 if a whole number of 64 bits has more than 32" in (out / "little.h").read_text()


def test_functions_of_the_user_have_what_the_file_has(tmp_path: Path) -> None:
    """Between nodes that compute in 32 bits."""
    nodes = [
        node("Add", "x x", "a"),
        helper.make_node("TopK", ["a", "k"], ["values", "b"], "largest"),
        node("Neg", "b", "y"),
    ]
    inputs: Arrays = {"x": np.arange(2050) * 7 % 2050}
    model = model_of(nodes, inputs, ["y", "values"], {"k": np.array([2])})
    out = tmp_path / "out"
    with pytest.raises(MorelloError, match="TopK 'largest': it orders 2050 elements"):
        read(model, tmp_path)
    arguments = [str(saved(model, tmp_path)), "-o", str(out), "-t", TARGET, "--allow-callbacks"]
    assert imported([*arguments, "--no-memo"]).exit_code == 0

    def largest(x: Any, k: Any) -> tuple[Any, Any]:
        assert (x.dtype, k.dtype) == (np.int64, np.int64)
        places = np.argsort(-x, kind="stable")[: int(k[0])]
        return x[places], places

    results = morello.load(out, callbacks={"largest": largest})(**inputs)
    for result, wanted in zip(results, expected(model, inputs), strict=True):
        assert result.dtype == wanted.dtype == np.int64
        np.testing.assert_array_equal(result, wanted)
