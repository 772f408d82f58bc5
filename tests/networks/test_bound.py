"""A loaded network: bound to arrays, told where to write, and timed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper

import morello
from morello.cli.main import main
from morello.errors import UsageError
from morello.networks.loading import LoadedNetwork

from .models import Arrays, model_of, random, saved

TARGET = "c.scalar"
INPUTS: Arrays = {"ids": np.array([2, 0, 3], np.int64), "x": random(3, 4)}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of a table by index, which are added, and a softmax."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Add", ["rows", "x"], ["sums"]),
        helper.make_node("Softmax", ["x"], ["shares"]),
    ]
    model = model_of(nodes, INPUTS, ["sums", "shares"], {"table": random(5, 4)})
    place = tmp_path_factory.mktemp("bound")
    arguments = ["--jobs", "1", "-o", str(place / "out"), "-t", TARGET]
    result = CliRunner().invoke(main, ["import", str(saved(model, place, "rows")), *arguments])
    assert result.exit_code == 0, result.output
    return place / "out"


@pytest.fixture
def network(directory: Path) -> LoadedNetwork:
    return morello.load(directory)


def test_a_bound_call_computes_from_what_its_inputs_hold(network: LoadedNetwork) -> None:
    arrays = [array.copy() for array in INPUTS.values()]
    call = network.bind(*arrays)
    first = [result.copy() for result in call()]
    for result, right in zip(first, network(*arrays), strict=True):
        np.testing.assert_array_equal(result, right)
    for array in arrays:
        if array.dtype == np.float32:
            np.multiply(array, 2, out=array)
    second = network(*arrays)
    for result, right in zip(call(), second, strict=True):
        np.testing.assert_array_equal(result, right)
    out = tuple(map(np.empty_like, second))
    assert network.bind(*arrays, out=out)()[0] is out[0]
    assert network(*arrays, out=out)[1] is out[1]
    for result, right in zip(out, second, strict=True):
        np.testing.assert_array_equal(result, right)


def test_a_wrong_bound_call_is_refused(network: LoadedNetwork) -> None:
    arrays = list(INPUTS.values())
    name = network.inputs[0].name
    out = [np.empty(each.shape, each.dtype) for each in network.outputs]
    with pytest.raises(UsageError, match=f"input '{name}' cannot be bound"):
        network.bind(arrays[0].tolist(), *arrays[1:])
    with pytest.raises(UsageError, match="was given 1 array"):
        network.bind(*arrays, out=out[0])
    with pytest.raises(UsageError, match=r"output '\w+' is float64"):
        network(*arrays, out=[array.astype(np.float64) for array in out])
    out[1].flags.writeable = False
    with pytest.raises(UsageError, match="or cannot be written"):
        network(*arrays, out=out)


def test_it_is_timed(network: LoadedNetwork, directory: Path) -> None:
    """From Python, and by the command; which takes no options of what to compile."""
    timing = network.time(repeats=3, warmup=0, min_seconds=0)
    assert len(timing.runs) == 3
    assert timing.median > 0
    result = CliRunner().invoke(main, ["bench", str(directory), "--json"])
    document = json.loads(result.stdout)
    assert (document["name"], document["target"]) == (network.name, TARGET)
    assert document["seconds"] > 0
    assert document["predicted_cycles"] == pytest.approx(network.cost)
    text = CliRunner().invoke(main, ["bench", str(directory)]).stdout.splitlines()
    assert text[0].startswith("measured: ")
    assert text[1] == f"predicted: {network.cost:,.0f} cycles in kernels"
    wrong = CliRunner().invoke(main, ["bench", str(directory), "-t", TARGET])
    assert wrong.exit_code == 2
    assert "is a network, which is compiled already" in wrong.stderr


def test_an_output_has_memory_of_its_own(network: LoadedNetwork) -> None:
    """It is written before all inputs are read."""
    sums = np.empty((3, 4), np.float32)
    for out in ((INPUTS["x"], sums), (sums, sums)):
        with pytest.raises(UsageError, match=r"output '\w+' shares memory with another array"):
            network(*INPUTS.values(), out=out)
