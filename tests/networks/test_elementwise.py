"""Functions of numbers at their ends, whole numbers of 32 bits, and bounds that are computed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper

import morello
from morello.cli.main import main

from .models import expected, interpreted, model_of, random, read, saved

Array = np.ndarray[Any, Any]

WIDE = np.array(
    [
        *(0, -0.0, 1e-40, -1e-30, 1e-5, -0.3, 0.5, 0.999999, -0.9999999, 1, -1, 1.0000001, 1.5),
        *(-4, 70, 88.9, -89.2, 3e9, -2e10, 3.4e38, -3e38, np.inf, -np.inf, np.nan),
    ],
    np.float32,
)
"""Tiny, huge, at the ends of where functions are defined, and no numbers."""

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cosh": np.cosh,
    "Sign": np.sign,
    "Sinh": np.sinh,
}


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_functions_are_exact_to_a_few_units_everywhere(tmp_path: Path) -> None:
    """In C, in f32: that is where what is huge overflows, and what is tiny is lost."""
    nodes = [helper.make_node(name, ["x"], [f"y{name}"], name) for name in FUNCTIONS]
    model = model_of(nodes, {"x": WIDE}, [node.output[0] for node in nodes])
    directory = str(tmp_path / "out")
    arguments = ["import", str(saved(model, tmp_path)), "-o", directory, "-t", "c.scalar"]
    result = CliRunner().invoke(main, [*arguments, "--no-memo"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    results = morello.load(directory)(WIDE)
    for found, function in zip(results, FUNCTIONS.values(), strict=True):
        wanted = function(WIDE.astype(np.float64)).astype(np.float32)
        np.testing.assert_array_max_ulp(found, wanted, 4)


def whole(*values: int) -> Array:
    return np.array(values, np.int32)


LARGE = whole(16777217, 16777216, -7, 7, -6, -(2**31), 0)
OTHER = whole(16777216, 16777217, 2, -2, 3, 7, 5)
"""Two neighbours are one number in f32."""

BYTES = np.array([0, 1, 255, 128, 127, 85, 200, 3], np.uint8)

POWERS = np.array([0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, 7.25, np.inf], np.float32)

DIVISORS = np.array([0.75, -0.75, 3, -1e-3, 1e30, np.inf], np.float32)

CASES: dict[str, tuple[str, list[Array], dict[str, Any]]] = {
    **{
        f"{name} of whole numbers": (name, [LARGE, OTHER], {})
        for name in ("Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod")
    },
    "Div of bytes": ("Div", [np.array([200, 7], np.uint8), np.array([3, 9], np.uint8)], {}),
    "the remainder with the sign of what is divided": ("Mod", [LARGE, OTHER], {"fmod": 1}),
    "any powers": ("Pow", [np.repeat(POWERS, len(POWERS)), np.tile(POWERS, len(POWERS))], {}),
    "a power for each": ("Pow", [np.abs(POWERS), POWERS[::-1].copy()], {}),
    "a remainder of any numbers": ("Mod", [WIDE[:17, None], DIVISORS], {"fmod": 1}),
    "a remainder with the sign of the divisor": ("Mod", [WIDE[:17, None], DIVISORS], {}),
    **{
        f"{name} of {array.dtype}": (name, [array, array[::-1].copy()], {})
        for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for array in (LARGE, BYTES, BYTES.view(np.int8))
    },
    **{
        f"{name} of {array.dtype}": (name, [array], {})
        for name in ("BitwiseNot",)
        for array in (LARGE, BYTES, BYTES.view(np.int8))
    },
    **{
        f"bits to the {direction}": (
            "BitShift",
            [BYTES, np.arange(len(BYTES), dtype=np.uint8)],
            {"direction": direction.upper()},
        )
        for direction in ("left", "right")
    },
    "a mean of whole numbers": ("ReduceMean", [whole(7, -8, 3, -9)], {}),
    "where the largest whole number is": ("ArgMax", [LARGE[::-1].copy()], {}),
    "what is no number": ("IsNaN", [WIDE], {}),
    "what is infinite": ("IsInf", [WIDE], {}),
    "what is infinite and positive": ("IsInf", [WIDE], {"detect_negative": 0}),
    "what is infinite and negative": ("IsInf", [WIDE], {"detect_positive": 0}),
    "what is infinite and neither": ("IsInf", [WIDE], {"detect_positive": 0, "detect_negative": 0}),
    "bounds that are computed": ("Clip", [WIDE, np.array(-0.4, "f4"), np.array(3, "f4")], {}),
}


APPROXIMATE = ("Mod", "Pow")


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_onnx_says(case: str, tmp_path: Path) -> None:
    operator, arrays, attributes = CASES[case]
    inputs = dict(zip("abc", arrays, strict=False))
    node = helper.make_node(operator, [*inputs], ["t"], **attributes)
    model = model_of([node], inputs, ["t"], opset=18)
    if expected(model, inputs)[0].dtype == np.bool_:
        as_number = helper.make_node("Cast", ["t"], ["y"], to=TensorProto.FLOAT)
        model = model_of([node, as_number], inputs, ["y"])
    [result] = interpreted(read(model, tmp_path), inputs)
    [wanted] = expected(model, inputs)
    if operator in APPROXIMATE and inputs["a"].dtype == np.float32:
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=2e-6)
    else:
        np.testing.assert_array_equal(result, wanted)


def test_bounds_of_whole_numbers_are_whole(tmp_path: Path) -> None:
    bounds = {"low": np.array(-7, np.int32), "high": np.array(16777217, np.int32)}
    node = helper.make_node("Clip", ["x", *bounds], ["y"])
    [result] = interpreted(
        read(model_of([node], {"x": LARGE}, ["y"], bounds), tmp_path), {"x": LARGE}
    )
    assert result.tolist() == np.clip(LARGE, -7, 16777217).tolist()


def test_a_constant_may_be_no_number(tmp_path: Path) -> None:
    node = helper.make_node("Where", ["t", "x", "c"], ["y"])
    inputs = {"t": np.array([True, False]), "x": random(2)}
    network = read(model_of([node], inputs, ["y"], {"c": np.array(np.nan, np.float32)}), tmp_path)
    [result] = interpreted(network, {**inputs, "t": inputs["t"].view(np.uint8)})
    np.testing.assert_array_equal(result, [inputs["x"][0], np.nan])
