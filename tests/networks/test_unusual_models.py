"""Models that cannot be imported, and what is said of them; types and views at the edge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import morello
from morello.errors import MorelloError, UsageError

from .models import expected, model_of, random, saved
from .test_networks import TARGET, imported, node, text_model


def test_sizes_must_be_known(tmp_path: Path) -> None:
    path = str(saved(text_model()[0], tmp_path))
    for arguments, message in (
        ([], "the size of dimension 'batch' of input 'ids' is not known"),
        ([], "give -D batch=1, or its whole shape, such as --shape ids="),
        (["-D", "batch=1", "-D", "lenght=5"], "the model has no dimension 'lenght'"),
        (["--shape", "ids=1,5", "--shape", "id=3"], "the model has no input 'id'"),
        (["--shape", "ids=1,5,3"], "input 'ids' has 2 dimensions, not 3"),
        (["--shape", "ids"], "'ids' is not of the form NAME=SIZES"),
        (["--name", "a b"], "'a b' cannot be a network's name"),
    ):
        result = imported([path, "-o", str(tmp_path / "out"), *arguments])
        assert result.exit_code == 2, result.output
        assert message in result.output
    assert not (tmp_path / "out").exists()


def test_all_nodes_that_cannot_be_said_are_named(tmp_path: Path) -> None:
    nodes = [
        node("RandomUniformLike", "x", "a"),
        node("LpNormalization", "a", "b", p=3),
        node("Relu", "b", "c"),
        helper.make_node("Resize", ["c", "", "s"], ["y"], name="to_y", mode="linear", antialias=1),
    ]
    constants = {"s": np.array([1, 0.5], np.float32)}
    model = model_of(nodes, {"x": random(3, 4)}, ["y"], constants, opset=18)
    result = imported([str(saved(model, tmp_path)), "-o", str(tmp_path / "out"), "-t", TARGET])
    assert result.exit_code == 1
    assert "cannot import 3 nodes:" in result.output
    assert "RandomUniformLike 'to_a': there is no translation of this operator" in result.output
    assert "LpNormalization 'to_b': it is the norm of exponent 3" in result.output
    assert "Resize 'to_y': it smooths what it makes smaller" in result.output
    assert not (tmp_path / "out").exists()


def test_nodes_are_named_where_shapes_are_not_known(tmp_path: Path) -> None:
    """What follows from such a node is not; another one may be left to a function, but not that."""
    nodes = [
        node("NonZero", "x", "a"),
        node("Cast", "a", "b", to=1),
        node("Relu", "b", "y"),
        node("Reshape", "x s", "z"),
        node("LpNormalization", "x", "v", p=3),
    ]
    inputs = {"x": random(3, 4), "s": np.array([4, 3])}
    path = str(saved(model_of(nodes, inputs, ["y", "z", "v"]), tmp_path))
    arguments = [path, "-o", str(tmp_path / "out"), "-t", TARGET]
    result = imported(arguments)
    assert result.exit_code == 1
    assert "cannot import 3 nodes:" in result.output
    assert "NonZero 'to_a': there is no translation of this operator" in result.output
    assert "Reshape 'to_z': the shape of its result 'z' is not known" in result.output
    assert "LpNormalization 'to_v': it is the norm of exponent 3" in result.output
    result = imported([*arguments, "--allow-callbacks"])
    assert result.exit_code == 1
    assert "NonZero 'to_a': the shape of its result 'a' is not known" in result.output


def test_what_cannot_be_said_can_be_left_to_functions(tmp_path: Path) -> None:
    nodes = [
        node("Relu", "x", "a"),
        helper.make_node("TopK", ["a", "k"], ["values", "places"], name="largest"),
        node("LpNormalization", "values", "s", p=3),
        node("Neg", "s", "y"),
    ]
    inputs = {"x": random(3, 2050)}
    model = model_of(nodes, inputs, ["y", "places"], {"k": np.array([2])})
    out = tmp_path / "out"
    arguments = [str(saved(model, tmp_path)), "-o", str(out), "-t", TARGET]
    arguments += ["--memo", str(tmp_path / "memo")]
    assert "cannot import 2 nodes" in imported(arguments).output
    done = imported([*arguments, "--allow-callbacks"])
    assert done.exit_code == 0, done.output

    def largest(x: np.ndarray[Any, Any], k: np.ndarray[Any, Any]) -> Any:
        places = np.argsort(-x, axis=1, kind="stable")[:, : int(k[0])]
        return np.take_along_axis(x, places, axis=1), places

    def normed(x: np.ndarray[Any, Any]) -> Any:
        return x / np.cbrt((x**3).sum(axis=-1, keepdims=True))

    functions: dict[str, Callable[..., Any]] = {"largest": largest, "to_s": normed}
    results = morello.load(out, callbacks=functions)(**inputs)
    for result, wanted in zip(results, expected(model, inputs), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)

    with pytest.raises(UsageError, match="LpNormalization 'to_s' is left to a function of yours"):
        morello.load(out, callbacks={"largest": largest})
    with pytest.raises(UsageError, match="no node 'to_t' is left to a function"):
        morello.load(out, callbacks={**functions, "to_t": normed})
    with pytest.raises(ZeroDivisionError):
        morello.load(out, callbacks={**functions, "to_s": lambda *_: 1 / 0})(**inputs)
    with pytest.raises(UsageError, match=r"gives an array of \[3\]"):
        morello.load(out, callbacks={**functions, "to_s": lambda x: x[:, 0]})(**inputs)
    header = (out / "little.h").read_text()
    assert "0: TopK largest, (float32[3, 2050], int64[1]) -> (float32[3, 2], int64[3, 2])" in header


def test_halves_are_computed_in_f32_and_weights_stay_as_they_are(tmp_path: Path) -> None:
    """What is given and wanted is of the type that the file says, and rounded once."""

    def halves(*shape: int) -> np.ndarray[Any, Any]:
        return random(*shape).astype(np.float16)

    nodes = [
        node("Reshape", "x flat", "rows"),
        node("MatMul", "rows w", "a"),
        node("Add", "a b", "c"),
        node("Relu", "c", "d"),
        node("Gemm", "d v", "e", transB=1),
        node("Softmax", "e", "y"),
        node("Transpose", "y", "z", perm=[1, 0]),
        node("Mul", "w w", "squares"),
        node("MatMul", "rows squares", "s"),
    ]
    constants = {
        "w": halves(16, 24),
        "b": halves(24),
        "v": halves(7, 24),
        "flat": np.array([5, 16]),
    }
    inputs = {"x": halves(5, 4, 4)}
    model = model_of(nodes, inputs, ["y", "z", "s", "b"], constants)
    path = str(saved(model, tmp_path))
    done = imported([path, "-o", str(tmp_path / "out"), "-t", TARGET, "--verify", "--json"])
    assert done.exit_code == 0, done.output
    results = morello.load(tmp_path / "out")(**inputs)
    for result, right in zip(results, expected(model, inputs), strict=True):
        assert result.dtype == right.dtype == np.float16
        np.testing.assert_allclose(result, right, rtol=1e-2, atol=1e-2)
    said = "".join(p.read_text() for p in (tmp_path / "out").rglob("*.mspec"))
    assert "f16[7, 24]" in said
    with pytest.raises(UsageError, match="is float32"):
        morello.load(tmp_path / "out")(x=inputs["x"].astype(np.float32))


def test_types_that_cannot_be_said_are_found_before_any_search(tmp_path: Path) -> None:
    for dtype, message, advice in (
        (np.uint16, "'x' is of uint16", "arguments are of float32, float64"),
        (
            np.float64,
            "cannot import Add 'to_y': 'x' is of float64",
            "kernels have: float32, float16",
        ),
    ):
        nodes = [node("Add", "x x", "y")]
        model = model_of(nodes, {"x": np.zeros(4, dtype)}, ["y"])
        path = str(saved(model, tmp_path))
        result = imported([path, "-o", str(tmp_path / "out"), "-t", TARGET])
        assert result.exit_code == 1
        assert message in result.output
        assert advice in result.output
    assert not (tmp_path / "out").exists()


def test_what_no_node_computes_is_named(tmp_path: Path) -> None:
    model = model_of([node("Relu", "x", "a"), node("Add", "a q", "y")], {"x": random(4)}, ["y"])
    result = imported([str(saved(model, tmp_path)), "-o", str(tmp_path / "out"), "-t", TARGET])
    assert result.exit_code == 1
    assert "'q', which Add 'to_y' reads, is computed by no node" in result.output


def test_truth_is_passed_as_bytes(tmp_path: Path) -> None:
    nodes = [node("Where", "t x z", "y"), node("Not", "t", "n"), node("Identity", "t", "same")]
    given = {"t": np.arange(12) % 3 == 0, "x": random(12), "z": random(12, seed=1)}
    model = model_of(nodes, given, ["y", "n"])
    result = imported([str(saved(model, tmp_path)), "-o", str(tmp_path / "out"), "-t", TARGET])
    assert result.exit_code == 0, result.output
    network = morello.load(tmp_path / "out")
    for own, wanted in zip(network(**given), expected(model, given), strict=True):
        np.testing.assert_array_equal(own, wanted)
    with pytest.raises(UsageError, match="is float32"):
        network(**given | {"t": given["x"]})


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"\x00\x01 no model")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name, message in (
        ("a.onnx", "is no ONNX model"),
        ("empty.onnx", "is no ONNX model"),
        ("none.onnx", "no such file or directory"),
    ):
        result = imported([str(tmp_path / name)])
        assert result.exit_code == 1
        assert message in result.output
    with pytest.raises(MorelloError, match="has no network"):
        morello.load(tmp_path)


def test_foreign_files_stay(tmp_path: Path) -> None:
    model = model_of([node("Relu", "x", "y")], {"x": random(4)}, ["y"])
    path, out = saved(model, tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "little.c").write_text("mine")
    arguments = [str(path), "-o", str(out), "-t", TARGET, "--memo", str(tmp_path / "memo")]
    result = imported(arguments)
    assert result.exit_code == 1
    assert "was not generated" in result.output
    assert [p.name for p in out.iterdir()] == ["little.c"]
    forced = imported([*arguments, "--force", "--verify"])
    assert forced.exit_code == 0
    assert "verified: each kernel is equal to the reference" in forced.output
    x = random(4)
    assert (morello.load(out)(x) == np.maximum(x, 0)).all()
    (out / "kernels" / "little_9.c").write_text("/* generated by morello 0.0.1 */")
    (out / "kernels" / "mine.c").write_text("mine")
    assert imported([*arguments]).exit_code == 0  # files of its own are written anew, or removed
    assert {path.stem for path in (out / "kernels").iterdir()} == {"mine", "little_0"}


def test_an_output_may_be_a_view_or_an_input(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "a"), node("Reshape", "a s", "b"), node("Identity", "x", "c")]
    inputs = {"x": random(2, 6)}
    model = model_of(nodes, inputs, ["a", "b", "c", "x"], {"s": np.array([3, 4])})
    out = tmp_path / "out"
    memo = str(tmp_path / "memo")
    result = imported([str(saved(model, tmp_path)), "-o", str(out), "-t", TARGET, "--memo", memo])
    assert result.exit_code == 0, result.output
    for got, want in zip(morello.load(out)(**inputs), expected(model, inputs), strict=True):
        assert got.shape == want.shape
        assert (got == want).all()
