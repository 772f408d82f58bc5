"""Whole networks, from the file to C and back to numpy arrays: against ONNX's own reference."""

from __future__ import annotations

import json
import subprocess
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
