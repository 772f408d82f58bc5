"""Networks as StableHLO: what they compute is what StableHLO's own interpreter says."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import morello
from morello.cli.main import main
from morello.errors import MorelloError, UsageError
from morello.networks.formats import read_network
from morello.networks.network import Network
from morello.networks.partition import Part, partition
from morello.networks.stablehlo.file import context

from .models import interpreted, random

Array = np.ndarray[Any, Any]

FILES = Path(__file__).parent / "stablehlo"

TYPES = {"float32": "f32", "int32": "i32", "bool": "i1"}


def module_of(inputs: Sequence[Array], body: str, result: str) -> str:
    """The text of a module: arguments are ``%0``, ``%1``, ..., what is returned is ``%y``."""
    types = ["x".join([*map(str, own.shape), TYPES[own.dtype.name]]) for own in inputs]
    given = ", ".join(f"%{place}: tensor<{own}>" for place, own in enumerate(types))
    return (
        f"func.func @main({given}) -> tensor<{result}> {{\n{body}\nreturn %y : tensor<{result}>\n}}"
    )


def expected(text: str, inputs: Sequence[Array]) -> list[Array]:
    """What a module computes."""
    with context():
        arguments = [ir.DenseElementsAttr.get(np.ascontiguousarray(own)) for own in inputs]
        return [np.array(own) for own in stablehlo.eval_module(ir.Module.parse(text), arguments)]


def read(text: str, directory: Path, **options: Any) -> Network:
    """The network of a module."""
    path = directory / "little.mlir"
    path.write_text(text)
    return read_network(path, **options)


def compared(network: Network, text: str, inputs: Sequence[Array]) -> None:
    """Demand that all results are as they should be."""
    results = interpreted(network, dict(zip(network.inputs, inputs, strict=True)))
    for result, wanted in zip(results, expected(text, inputs), strict=True):
        assert result.shape == wanted.shape
        largest = float(np.abs(wanted).max())
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5 * max(1, largest))


X, Z = random(2, 3, 4), random(2, 3, 4, seed=1)
POSITIVE = np.abs(X) + np.float32(0.1)
SAME = "2x3x4xf32"
T = f"tensor<{SAME}>"
ROWS = random(1, 9, 7, 4)
WINDOWS = """
%y = "stablehlo.reduce_window"(%0, %c) <{{{0}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.{1} %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
}}) : ({2}, tensor<f32>) -> {3}
"""


ONE = [
    "abs",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "logistic",
    "negate",
    "round_nearest_even",
    "sign",
    "sine",
    "tanh",
]


def one(operation: str, result: str = SAME) -> str:
    """A body of one operation on the first argument."""
    return f"%y = {operation} %0 : ({T}) -> tensor<{result}>"


OPERATIONS: dict[str, tuple[list[Array], str, str]] = {
    **{name: ([X], f"%y = stablehlo.{name} %0 : {T}", SAME) for name in ONE},
    **{
        name: ([POSITIVE], f"%y = stablehlo.{name} %0 : {T}", SAME)
        for name in ("log", "log_plus_one", "rsqrt", "sqrt")
    },
    **{
        name: ([X, Z], f"%y = stablehlo.{name} %0, %1 : {T}", SAME)
        for name in ("add", "divide", "maximum", "minimum", "multiply", "subtract")
    },
    **{
        f"comparison {name}": (
            [np.round(X), np.round(Z)],
            f"%t = stablehlo.compare {name}, %0, %1 : ({T}, {T}) -> tensor<2x3x4xi1>\n"
            f"%y = stablehlo.select %t, %0, %1 : tensor<2x3x4xi1>, {T}",
            SAME,
        )
        for name in ("EQ", "NE", "GE", "GT", "LE", "LT")
    },
    **{
        f"logic {name}": (
            [X, Z],
            f"%a = stablehlo.compare GT, %0, %1 : ({T}, {T}) -> tensor<2x3x4xi1>\n"
            f"%b = stablehlo.compare GT, %0, %0 : ({T}, {T}) -> tensor<2x3x4xi1>\n"
            f"%n = stablehlo.not %b : tensor<2x3x4xi1>\n"
            f"%t = stablehlo.{name} %a, %n : tensor<2x3x4xi1>\n"
            f"%y = stablehlo.convert %t : (tensor<2x3x4xi1>) -> {T}",
            SAME,
        )
        for name in ("and", "or", "xor")
    },
    **{
        f"power {value}": (
            [POSITIVE],
            f"%c = stablehlo.constant dense<{value}> : {T}\n%y = stablehlo.power %0, %c : {T}",
            SAME,
        )
        for value in ("2.0", "-0.5", "3.0")
    },
    "a mask that is given": (
        [np.arange(24).reshape(2, 3, 4) % 5 > 1, X],
        f"%n = stablehlo.negate %1 : {T}\n%y = stablehlo.select %0, %1, %n : tensor<2x3x4xi1>, {T}",
        SAME,
    ),
    "truth as a result": (
        [X, Z],
        f"%y = stablehlo.compare LT, %0, %1 : ({T}, {T}) -> tensor<2x3x4xi1>",
        "2x3x4xi1",
    ),
    "clamp": (
        [X],
        "%a = stablehlo.constant dense<-0.5> : tensor<f32>\n"
        "%b = stablehlo.constant dense<0.25> : tensor<f32>\n"
        f"%y = stablehlo.clamp %a, %0, %b : (tensor<f32>, {T}, tensor<f32>) -> {T}",
        SAME,
    ),
    "whole numbers": (
        [np.array([1, -5, 7], np.int32)],
        "%c = stablehlo.constant dense<[3, 2, 1]> : tensor<3xi32>\n"
        "%m = stablehlo.multiply %0, %c : tensor<3xi32>\n%y = stablehlo.add %m, %0 : tensor<3xi32>",
        "3xi32",
    ),
    "quotients of whole numbers": (
        [np.array([7, -7, 7, -7], np.int32)],
        "%c = stablehlo.constant dense<[2, 2, -2, -2]> : tensor<4xi32>\n"
        "%y = stablehlo.divide %0, %c : tensor<4xi32>",
        "4xi32",
    ),
    "transpose": (
        [X],
        f"%y = stablehlo.transpose %0, dims = [2, 0, 1] : ({T}) -> tensor<4x2x3xf32>",
        "4x2x3xf32",
    ),
    "reshape": ([X], one("stablehlo.reshape", "6x4xf32"), "6x4xf32"),
    "reverse": ([X], f"%y = stablehlo.reverse %0, dims = [0, 2] : {T}", SAME),
    "slice": (
        [X],
        f"%y = stablehlo.slice %0 [0:2, 1:3, 0:4:2] : ({T}) -> tensor<2x2x2xf32>",
        "2x2x2xf32",
    ),
    "dynamic slice, cut to what is there": (
        [X],
        "%c = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%y = stablehlo.dynamic_slice %0, %c, %c, %c, sizes = [1, 2, 4]"
        f" : ({T}, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x4xf32>",
        "1x2x4xf32",
    ),
    "concatenate": (
        [X, Z],
        f"%y = stablehlo.concatenate %0, %1, dim = 1 : ({T}, {T}) -> tensor<2x6x4xf32>",
        "2x6x4xf32",
    ),
    "pad, and cut": (
        [X],
        "%c = stablehlo.constant dense<1.5> : tensor<f32>\n"
        "%y = stablehlo.pad %0, %c, low = [1, -1, 0], high = [0, 2, -1], interior = [0, 0, 0]"
        f" : ({T}, tensor<f32>) -> tensor<3x4x3xf32>",
        "3x4x3xf32",
    ),
    "broadcast of rows": (
        [random(3, 1)],
        "%y = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<3x1xf32>)"
        " -> tensor<2x3x4xf32>",
        SAME,
    ),
    "broadcast in another order": (
        [random(4, 3)],
        "%y = stablehlo.broadcast_in_dim %0, dims = [2, 1] : (tensor<4x3xf32>)"
        " -> tensor<2x3x4xf32>",
        SAME,
    ),
    "broadcast, and then moved": (
        [random(4)],
        f"%a = stablehlo.broadcast_in_dim %0, dims = [2] : (tensor<4xf32>) -> {T}\n"
        f"%b = stablehlo.transpose %a, dims = [2, 0, 1] : ({T}) -> tensor<4x2x3xf32>\n"
        "%y = stablehlo.add %b, %b : tensor<4x2x3xf32>",
        "4x2x3xf32",
    ),
    "what follows from constants": (
        [X],
        "%i = stablehlo.iota dim = 1 : tensor<2x3x4xi32>\n"
        "%j = stablehlo.iota dim = 2 : tensor<2x3x4xi32>\n"
        "%t = stablehlo.compare GE, %i, %j : (tensor<2x3x4xi32>, tensor<2x3x4xi32>)"
        " -> tensor<2x3x4xi1>\n"
        f"%f = stablehlo.convert %j : (tensor<2x3x4xi32>) -> {T}\n"
        f"%s = stablehlo.sine %f : {T}\n"
        f"%y = stablehlo.select %t, %0, %s : tensor<2x3x4xi1>, {T}",
        SAME,
    ),
    **{
        f"reduce by {name}": (
            [X],
            f"%c = stablehlo.constant dense<{begin}> : tensor<f32>\n"
            f"%y = stablehlo.reduce(%0 init: %c) applies stablehlo.{name}"
            f" across dimensions = [0, 2] : ({T}, tensor<f32>) -> tensor<3xf32>",
            "3xf32",
        )
        for name, begin in (
            ("add", "0.0"),
            ("add", "0.5"),
            ("maximum", "0xFF800000"),
            ("maximum", "0.25"),
            ("minimum", "0x7F800000"),
        )
    },
    "a product": (
        [random(5, 6), random(6, 7)],
        "%y = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0]"
        " : (tensor<5x6xf32>, tensor<6x7xf32>) -> tensor<5x7xf32>",
        "5x7xf32",
    ),
    "a product of vectors": (
        [random(6), random(6, seed=1)],
        "%y = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0]"
        " : (tensor<6xf32>, tensor<6xf32>) -> tensor<f32>",
        "f32",
    ),
    "an outer product": (
        [random(6), random(5)],
        "%y = stablehlo.dot_general %0, %1, contracting_dims = [] x []"
        " : (tensor<6xf32>, tensor<5xf32>) -> tensor<6x5xf32>",
        "6x5xf32",
    ),
    "a product over two dimensions, in batches": (
        [random(3, 4, 2, 5), random(5, 2, 6, 4)],
        "%y = stablehlo.dot_general %0, %1, batching_dims = [2] x [1],"
        " contracting_dims = [1, 3] x [3, 0]"
        " : (tensor<3x4x2x5xf32>, tensor<5x2x6x4xf32>) -> tensor<2x3x6xf32>",
        "2x3x6xf32",
    ),
    "a convolution in steps": (
        [random(2, 7, 9, 3)],
        "%w = stablehlo.constant dense<0.5> : tensor<3x2x3x4xf32>\n"
        "%y = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],"
        " window = {stride = [2, 1], pad = [[1, 1], [0, 1]], rhs_dilate = [1, 2]}"
        " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        " : (tensor<2x7x9x3xf32>, tensor<3x2x3x4xf32>) -> tensor<2x4x8x4xf32>",
        "2x4x8x4xf32",
    ),
    "a convolution in groups": (
        [random(1, 4, 6, 5)],
        "%w = stablehlo.constant dense<0.5> : tensor<6x2x3x1xf32>\n"
        "%y = stablehlo.convolution(%0, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],"
        " window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64}"
        " : (tensor<1x4x6x5xf32>, tensor<6x2x3x1xf32>) -> tensor<1x6x4x5xf32>",
        "1x6x4x5xf32",
    ),
    "a convolution along rows": (
        [random(2, 9, 3)],
        "%w = stablehlo.constant dense<0.5> : tensor<3x3x4xf32>\n"
        "%y = stablehlo.convolution(%0, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],"
        " window = {stride = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
        " : (tensor<2x9x3xf32>, tensor<3x3x4xf32>) -> tensor<2x4x4xf32>",
        "2x4x4xf32",
    ),
    "windows, channels last": (
        [ROWS],
        "%c = stablehlo.constant dense<0xFF800000> : tensor<f32>"
        + WINDOWS.format(
            "window_dimensions = array<i64: 1, 3, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>,"
            " padding = dense<[[0, 0], [1, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>",
            "maximum",
            "tensor<1x9x7x4xf32>",
            "tensor<1x5x4x4xf32>",
        ),
        "1x5x4x4xf32",
    ),
    "windows along one dimension": (
        [ROWS],
        "%c = stablehlo.constant dense<0.0> : tensor<f32>"
        + WINDOWS.format(
            "window_dimensions = array<i64: 1, 1, 3, 1>",
            "add",
            "tensor<1x9x7x4xf32>",
            "tensor<1x9x5x4xf32>",
        ),
        "1x9x5x4xf32",
    ),
    "rows of a table": (
        [random(5, 3), np.array([[4], [-1], [9], [0]], np.int32)],
        '%y = "stablehlo.gather"(%0, %1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],'
        " collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,"
        " slice_sizes = array<i64: 1, 3>}>"
        " : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>",
        "4x3xf32",
    ),
}


@pytest.mark.parametrize("case", OPERATIONS)
def test_an_operation_computes_what_the_interpreter_says(case: str, tmp_path: Path) -> None:
    inputs, body, result = OPERATIONS[case]
    text = module_of(inputs, body, result)
    compared(read(text, tmp_path), text, inputs)


def inputs_of(network: Network, rng: np.random.Generator) -> list[Array]:
    """Numbers for all arguments; whole ones are indices, some of them outside of a table."""
    return [
        rng.integers(-2, 5, network.shape(name)).astype(np.int32)
        if network.values[name].dtype == "int32"
        else rng.standard_normal(network.shape(name)).astype(network.values[name].dtype)
        for name in network.inputs
    ]


@pytest.mark.parametrize("name", ["attention", "block", "classify", "gradient", "image", "mlp"])
def test_a_function_computes_what_the_interpreter_says(name: str) -> None:
    path = FILES / f"{name}.mlir"
    network = read_network(path)
    compared(network, path.read_text(), inputs_of(network, np.random.default_rng(0)))


def test_bf16_is_computed_in_f32() -> None:
    network = read_network(FILES / "bf16.mlir")
    [x] = network.inputs
    assert network.values[x].dtype == network.values[network.outputs[0]].dtype == "bfloat16"
    weights = [v.data for v in network.values.values() if v.data is not None and v.data.size == 48]
    given = random(3, 6).astype("bfloat16")
    [result] = interpreted(network, {x: given})
    layer = given.astype(np.float64) @ weights[0].astype(np.float64)
    wanted = [[0.5 * v * (1 + math.erf(v / 2**0.5)) for v in row] for row in layer]
    np.testing.assert_allclose(result.astype(np.float64), wanted, rtol=2**-7)


def operators(network: Network) -> list[list[str]]:
    """The nodes of each kernel."""
    return [
        [node.operator for node in step.nodes]
        for step in partition(network)
        if isinstance(step, Part)
    ]


def test_attention_is_one_kernel() -> None:
    [nodes] = operators(read_network(FILES / "attention.mlir"))
    assert nodes.count("Product") == 2
    assert "SoftmaxAlong" in nodes


def test_channels_last_are_moved_at_the_ends_only() -> None:
    moved = [nodes for nodes in operators(read_network(FILES / "image.mlir")) if "Permute" in nodes]
    assert moved == [["Permute"], ["Permute"]]


def test_arguments_and_results_have_the_names_that_the_file_says(tmp_path: Path) -> None:
    text = """func.func @main(%0: tensor<2xf32> loc("weights['a']"),
                           %1: tensor<2xf32> loc("a.py":1:2))
      -> (tensor<2xf32> {jax.result_info = "result['sum']"}, tensor<2xf32>) {
      %2 = stablehlo.add %0, %1 : tensor<2xf32>
      return %2, %2 : tensor<2xf32>, tensor<2xf32>
    }"""
    network = read(text, tmp_path)
    assert (network.inputs, network.outputs) == (["weights_a", "arg1"], ["result_sum", "result1"])
    compared(network, text, [random(2), random(2, seed=1)])


def test_portable_artifacts_are_read(tmp_path: Path) -> None:
    with context():
        module = ir.Module.parse((FILES / "mlp.mlir").read_text())
        version = stablehlo.get_minimum_version()
        written = stablehlo.serialize_portable_artifact(module, version)
    path = tmp_path / "mlp.mlirbc"
    path.write_bytes(written)
    read_again, network = read_network(path), read_network(FILES / "mlp.mlir")
    assert operators(read_again) == operators(network)


# --------------------------------------------------------------------------- errors

WRONG: dict[str, tuple[str, str]] = {
    "is no StableHLO module": ("func.func @main( {", "expected"),
    "has no function 'main'": ("func.func @other() { return }", "it has: other"),
    "of one block": ("func.func private @main(tensor<4xf32>) -> tensor<4xf32>", "it has: main"),
    "function 'main' calls itself": (
        "func.func @main(%0: tensor<f32>) -> tensor<f32> {\n"
        "%1 = call @main(%0) : (tensor<f32>) -> tensor<f32>\nreturn %1 : tensor<f32> }",
        "",
    ),
    "the shape of 'arg0'": (
        "func.func @main(%0: tensor<?xf32>) -> tensor<?xf32> { return %0 : tensor<?xf32> }",
        "fixed shapes",
    ),
    "cannot import cbrt": (
        module_of([X], f"%y = stablehlo.cbrt %0 : {T}", SAME),
        "no translation",
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_read_is_said(message: str, tmp_path: Path) -> None:
    text, advice = WRONG[message]
    with pytest.raises(MorelloError) as caught:
        read(text, tmp_path)
    assert message in str(caught.value)
    assert advice in f"{caught.value} {caught.value.help}"


def test_what_is_no_artifact_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.mlirbc").write_bytes(b"ML\xefR no module")
    with pytest.raises(MorelloError, match="is no StableHLO module"):
        read_network(tmp_path / "a.mlirbc")


def test_sizes_cannot_be_given(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fixed"):
        read("", tmp_path, sizes={"batch": 1})


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jaxlib.mlir", None)
    with pytest.raises(MorelloError) as caught:
        read("", tmp_path)
    assert "morello[jax]" in (caught.value.help or "")


# --------------------------------------------------------------------------- as a library


def imported(model: Path, directory: Path) -> Result:
    arguments = ["import", str(model), "-o", str(directory), "-t", "c.scalar", "--no-memo"]
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.mark.parametrize("name", ["classify", "image", "gradient"])
def test_a_library_computes_what_the_interpreter_says(name: str, tmp_path: Path) -> None:
    path = FILES / f"{name}.mlir"
    result = imported(path, tmp_path / "library")
    assert result.exit_code == 0, result.output
    library = morello.load(tmp_path / "library")
    given = inputs_of(read_network(path), np.random.default_rng(1))
    results = library(*given)
    outputs = results if isinstance(results, tuple) else (results,)
    for own, wanted in zip(outputs, expected(path.read_text(), given), strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5)
