"""Whole networks, from the file to C and back to numpy arrays: against ONNX's own reference."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import NodeProto, helper

import morello
from morello.cli.main import main
from morello.errors import MorelloError, UsageError
from morello.networks.loading import LoadedNetwork

from .models import Arrays, expected, model_of, random, saved

TARGET = "x86.scalar"


def node(operator: str, inputs: str, output: str, **attributes: Any) -> NodeProto:
    return helper.make_node(operator, inputs.split(), [output], name=f"to_{output}", **attributes)


def text_model() -> tuple[onnx.ModelProto, Arrays]:
    """Rows are looked up, and attend to each other."""
    nodes = [
        node("Gather", "table ids", "e"),
        node("MatMul", "e w", "a"),
        node("Reshape", "a heads", "h"),
        node("Transpose", "h", "q", perm=[0, 2, 1, 3]),
        node("Transpose", "h", "k", perm=[0, 2, 3, 1]),
        node("MatMul", "q k", "s"),
        node("Cast", "mask", "m", to=1),
        node("Sub", "m one", "m1"),
        node("Mul", "m1 big", "m2"),
        node("Add", "s m2", "t"),
        node("Softmax", "t", "p", axis=-1),
        node("MatMul", "p q", "o"),
        node("Transpose", "o", "o2", perm=[0, 2, 1, 3]),
        node("Reshape", "o2 flat", "y"),
        node("Add", "y e", "sum"),
        node("ReduceMean", "sum", "mean", axes=[-1]),
        node("Sub", "sum mean", "centred"),
    ]
    constants = {
        "table": random(9, 6),
        "w": random(6, 6),
        "heads": np.array([1, 5, 2, 3]),
        "flat": np.array([1, 5, 6]),
        "one": np.array(1, np.float32),
        "big": np.array(10000, np.float32),
    }
    inputs = {"ids": np.array([[3, -1, 0, 8, 3]]), "mask": np.array([1, 1, 1, 1, 0])}
    named = {"ids": ["batch", "length"], "mask": ["length"]}
    return model_of(nodes, inputs, ["sum", "centred"], constants, named=named), inputs


def image_model() -> tuple[onnx.ModelProto, Arrays]:
    """Filters, windows, and parts that are put side by side."""
    nodes = [
        node("Conv", "x w b", "a", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("HardSigmoid", "a", "a1"),
        node("Mul", "a a1", "a2"),
        node("Conv", "a2 v", "d"),
        node("Relu", "d", "d1"),
        node("GlobalAveragePool", "d1", "g"),
        node("Mul", "d1 g", "d2"),
        node(
            "Resize",
            "d2  scales",
            "r",
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
        node("MaxPool", "x", "x1", kernel_shape=[1, 1]),
        node("Concat", "r x1", "c", axis=1),
        node("Flatten", "g", "f"),
        node("Gemm", "f u", "l", transB=1),
        node("Softmax", "l", "p"),
    ]
    nodes[7] = helper.make_node(
        "Resize",
        ["d2", "", "scales"],
        ["r"],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    constants = {
        "w": random(4, 2, 3, 3),
        "b": random(4),
        "v": random(3, 4, 1, 1),
        "scales": np.array([1, 1, 2, 2], np.float32),
        "u": random(5, 3),
    }
    inputs = {"x": random(1, 2, 6, 4)}
    return model_of(nodes, inputs, ["c", "p"], constants), inputs


MODELS = {"text": text_model, "image": image_model}


@dataclass(frozen=True)
class Imported:
    """A network that was imported by the command."""

    directory: Path
    result: Result
    model: onnx.ModelProto
    inputs: Arrays
    network: LoadedNetwork


def imported(arguments: list[str]) -> Result:
    return CliRunner().invoke(main, ["import", "--jobs", "1", *arguments])


@pytest.fixture(scope="module", params=MODELS)
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Imported:
    model, inputs = MODELS[request.param]()
    place = tmp_path_factory.mktemp(request.param)
    arguments = [str(saved(model, place, request.param)), "-o", str(place / "out"), "-t", TARGET]
    sizes = ["-D", "batch=1", "-D", "length=5"] if request.param == "text" else []
    result = imported([*arguments, *sizes, "--memo", str(place / "memo"), "--json"])
    assert result.exit_code == 0, result.output
    directory = place / "out"
    return Imported(directory, result, model, inputs, morello.load(directory))


def test_it_computes_what_onnx_says(network: Imported) -> None:
    results = network.network(**network.inputs)
    wanted = expected(network.model, network.inputs)
    assert [r.shape for r in results] == [w.shape for w in wanted]
    for result, right in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-5)


def test_threads_may_call_it_at_once(network: Imported) -> None:
    [first, second] = network.network(*network.inputs.values())
    with ThreadPoolExecutor(4) as pool:
        for results in pool.map(lambda _: network.network(**network.inputs), range(32)):
            assert (results[0] == first).all()
            assert (results[1] == second).all()


def test_memory_of_outputs_is_used_again_once_nobody_holds_it(network: Imported) -> None:
    loaded = network.network
    first = loaded(**network.inputs)
    held = [np.asarray(each)[..., :1] for each in (first if isinstance(first, tuple) else (first,))]
    seen = [each.copy() for each in held]
    places = {each.ctypes.data for each in held}
    del first
    other = loaded(**{n: np.zeros_like(a) for n, a in network.inputs.items()})
    others = other if isinstance(other, tuple) else (other,)
    assert not places & {each.ctypes.data for each in others}, "a view holds it"
    assert all((a == b).all() for a, b in zip(held, seen, strict=True))
    places = {each.ctypes.data for each in others}
    del other, others
    again = loaded(**network.inputs)
    again = again if isinstance(again, tuple) else (again,)
    assert {each.ctypes.data for each in again} == places


def test_what_was_written_is_said(network: Imported) -> None:
    document = json.loads(network.result.stdout)
    there = {
        str(p.relative_to(network.directory)) for p in network.directory.rglob("*") if p.is_file()
    }
    assert set(document["files"]) == there
    assert document["weights"] == (network.directory / f"{document['name']}.weights").stat().st_size
    called = {name.split(" ")[1] for kernel in document["kernels"] for name in kernel["nodes"]}
    assert {"to_p", "to_a"} <= called


def test_every_kernel_can_be_compiled_by_itself(network: Imported) -> None:
    for path in network.directory.glob("kernels/*.mspec"):
        assert CliRunner().invoke(main, ["check", str(path)]).exit_code == 0


PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"
int main(int count, char **arguments) {{
  struct {name} model;
  if (count != 2 || {name}_open(&model, arguments[1]) != 0) return 2;
  void *arena = aligned_alloc(64, {name}_arena_size() + 64);
  {inputs}
  {outputs}
  if (fread(in_0, 1, sizeof in_0, stdin) != sizeof in_0) return 3;
  {more}
  const int status = {name}_run(&model, {passed}, arena);
  fwrite(out_0, 1, sizeof out_0, stdout);
  {name}_close(&model);
  free(arena);
  return status == 0 ? 0 : 4;
}}
"""


def test_c_programs_run_it_under_sanitizers(network: Imported, tmp_path: Path) -> None:
    own, name = network.network, network.network.name
    c_type = {"float32": "float", "int64": "int64_t"}

    def declared(role: str, rows: Any) -> str:
        return " ".join(
            f"static {c_type[a.dtype]} {role}_{i}[{int(np.prod(a.shape))}];"
            for i, a in enumerate(rows)
        )

    ins, outs = range(len(own.inputs)), range(len(own.outputs))
    text = PROGRAM.format(
        name=name,
        inputs=declared("in", own.inputs),
        outputs=declared("out", own.outputs),
        more=" ".join(
            f"if (fread(in_{i}, 1, sizeof in_{i}, stdin) != sizeof in_{i}) return 3;"
            for i in ins[1:]
        ),
        passed=", ".join([*(f"in_{i}" for i in ins), *(f"out_{i}" for i in outs)]),
    )
    (tmp_path / "main.c").write_text(text)
    sources = [
        str(p) for p in (network.directory / f"{name}.c", *network.directory.glob("kernels/*.c"))
    ]
    flags = [
        "-std=c11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsanitize=address,undefined",
    ]
    flags += [f"-I{network.directory}", f"-I{network.directory / 'kernels'}"]
    program = tmp_path / "main"
    subprocess.run(
        ["cc", *flags, "main.c", *sources, "-lm", "-o", str(program)], cwd=tmp_path, check=True
    )
    given = b"".join(np.ascontiguousarray(network.inputs[a.name]).tobytes() for a in own.inputs)
    weights = network.directory / f"{name}.weights"
    done = subprocess.run(
        [str(program), str(weights)], input=given, capture_output=True, check=True
    )
    first = np.frombuffer(done.stdout, np.float32).reshape(own.outputs[0].shape)
    np.testing.assert_allclose(first, own(**network.inputs)[0], rtol=1e-5, atol=1e-5)
    weights_of_another = tmp_path / "weights"
    weights_of_another.write_bytes(b"x" * weights.stat().st_size)
    assert (
        subprocess.run([str(program), str(weights_of_another)], input=given, check=False).returncode
        == 2
    )


def test_wrong_arrays_are_refused(network: Imported) -> None:
    arrays = [*network.inputs.values()]
    name = network.network.inputs[0].name
    with pytest.raises(UsageError, match=f"input '{name}' is missing"):
        network.network()
    with pytest.raises(UsageError, match=f"input '{name}' is float64"):
        network.network(arrays[0].astype(np.float64), *arrays[1:])
    with pytest.raises(UsageError, match="takes other arrays") as error:
        network.network(*arrays, arrays[0])
    assert str(network.network.inputs[0]) in str(error.value.help)


def test_weights_of_another_network_are_refused(network: Imported, tmp_path: Path) -> None:
    name = network.network.name
    for path in network.directory.rglob("*.*"):
        place = tmp_path / path.relative_to(network.directory)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(path.read_bytes())
    weights = tmp_path / f"{name}.weights"
    weights.write_bytes(weights.read_bytes()[:-64])
    with pytest.raises(MorelloError, match="has not the weights of this network"):
        morello.load(tmp_path)


@pytest.mark.parametrize("network", ["text"], indirect=True)
def test_an_index_outside_its_table_is_an_error(network: Imported) -> None:
    inputs = {**network.inputs, "ids": network.inputs["ids"] + 1}
    with pytest.raises(MorelloError, match="an index that 'text' looks up lies outside"):
        network.network(**inputs)


# --------------------------------------------------------------------------- wrong uses


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
