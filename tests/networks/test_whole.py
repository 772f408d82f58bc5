"""Whole networks against another runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from morello.definitions import load_definitions
from morello.errors import MorelloError
from morello.networks.build import Library, build_library
from morello.networks.formats import read_network
from morello.networks.network import Network
from morello.networks.onnx.running import run_onnx
from morello.networks.whole import compared_whole, largest_error
from morello.records import replace
from morello.toolchain.machine import Machine

from .models import expected, model_of, random, saved
from .test_networks import TARGET, imported, node

Arrays = dict[str, np.ndarray[Any, Any]]


def path_of_model(directory: Path) -> Path:
    """A table that is looked up, a layer, and an output of integers."""
    nodes = [
        node("Gather", "E ids", "rows"),
        node("Mul", "rows scale", "scaled"),
        node("MatMul", "scaled w", "y"),
        node("Relu", "y", "z"),
        node("Cast", "z", "n", to=TensorProto.INT32),
    ]
    inputs: Arrays = {"ids": np.zeros((2, 3), np.int64), "scale": random(4)}
    constants = {"E": random(7, 4), "w": random(4, 5)}
    return saved(model_of(nodes, inputs, ["y", "n"], constants), directory)


def built(path: Path, *, callbacks: bool = False) -> tuple[Library, Network]:
    network = read_network(path, callbacks=callbacks)
    library = build_library(network, target=TARGET, mark="test", definitions=load_definitions())
    return library, network


def test_verification_runs_the_whole(tmp_path: Path) -> None:
    done = imported(
        [
            str(path_of_model(tmp_path)),
            *("-o", str(tmp_path / "out"), "-t", TARGET, "--verify", "--json"),
        ]
    )
    assert done.exit_code == 0, done.output
    whole = json.loads(done.stdout)["whole"]
    assert whole["runtime"]
    assert whole["error"] < 1e-5
    assert not whole["reason"]


def test_a_wrong_network_is_not_written(tmp_path: Path) -> None:
    """Its kernels are right, some weights are not: nothing else notices."""
    library, network = built(path := path_of_model(tmp_path))
    assert compared_whole(library, network, path, None).error < 1e-5
    weights = library.contents["little.weights"]
    assert isinstance(weights, bytes)
    numbers = np.frombuffer(weights, np.float32).copy()
    numbers[-16:] *= 2
    wrong = replace(library, contents={**library.contents, "little.weights": numbers.tobytes()})
    with pytest.raises(MorelloError, match=r"output 'y' differs from that of .* on random inputs"):
        compared_whole(wrong, network, path, None)


def test_why_a_whole_is_not_run(tmp_path: Path) -> None:
    library, network = built(path := path_of_model(tmp_path))
    elsewhere = Machine(runner="true")
    assert "only kernels" in compared_whole(library, network, path, elsewhere).reason
    assert "ONNX" in compared_whole(library, network, "layers.mlir", None).reason
    (tmp_path / "other.onnx").write_bytes(b"no model")
    assert "other.onnx" in compared_whole(library, network, tmp_path / "other.onnx", None).reason
    nodes = [node("RandomUniformLike", "x", "a"), node("Relu", "a", "y")]
    path = saved(model_of(nodes, {"x": random(3, 4)}, ["y"]), tmp_path)
    library, network = built(path, callbacks=True)
    assert "functions of yours" in compared_whole(library, network, path, None).reason


def test_what_runs_elsewhere(tmp_path: Path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": random(3)}, ["y"])
    given = {"x": random(3)}
    runtime, results = run_onnx(saved(model, tmp_path), given)
    assert runtime
    np.testing.assert_array_equal(results, expected(model, given))


def test_how_far_results_are_off() -> None:
    wanted = np.array([4.0, np.nan, np.inf, 0.0])
    assert largest_error(wanted, wanted) == 0
    assert largest_error(np.array([4.0, np.nan, np.inf, 1.0]), wanted) == 0.25
    for other in ([4.0, 0.0, np.inf, 0.0], [4.0, np.nan, -np.inf, 0.0], [4.0, np.nan, 9.0, 0.0]):
        assert largest_error(np.array(other), wanted) == np.inf
    assert largest_error(np.zeros(3), wanted) == np.inf
    assert largest_error(np.array([5, 8]), np.array([4, 8])) == 0
    assert largest_error(np.array([6, 8]), np.array([4, 8])) == 0.125
