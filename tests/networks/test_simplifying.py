"""What a file leaves to be found: shapes, defaults, results that nothing computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from morello.errors import MorelloError

from .models import Arrays, expected, interpreted, model_of, random, read

X = random(2, 3, 4)


def found(operator: str, inputs: Arrays, constants: Arrays, path: Path, **options: Any) -> Any:
    """What an operator computes here, and what it should."""
    names, opset = [*inputs, *constants], options.pop("opset", 17)
    outputs = options.pop("outputs", ["y"])
    node = helper.make_node(operator, names, outputs, "it", **options)
    model = model_of([node], inputs, list(filter(None, outputs)), constants, opset=opset)
    return interpreted(read(model, path), inputs), expected(model, inputs)


def test_what_is_written_out_has_the_attributes_that_a_file_leaves_out(tmp_path: Path) -> None:
    results, wanted = found("MeanVarianceNormalization", {"x": random(2, 3, 4, 5)}, {}, tmp_path)
    np.testing.assert_allclose(results[0], wanted[0], rtol=1e-5, atol=1e-6)


def test_what_is_written_out_may_leave_out_inputs(tmp_path: Path) -> None:
    """Attention that goes on from what it has seen, without a mask."""
    names = ["q", "k", "v", "", "past_k", "past_v"]
    inputs = {name: random(1, 2, 3, 8, seed=own) for own, name in enumerate(names) if name}
    outputs = ["y", "present_k", "present_v"]
    node = helper.make_node("Attention", names, outputs, is_causal=1)
    model = model_of([node], inputs, outputs, opset=23)
    results = interpreted(read(model, tmp_path), inputs)
    for result, wanted in zip(results, expected(model, inputs), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_what_is_defined_by_a_loop_has_its_own_name(tmp_path: Path) -> None:
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], "counted")
    inputs = {name: np.array(1, np.float32) for name in "abc"}
    with pytest.raises(MorelloError, match="cannot import Range 'counted'"):
        read(model_of([node], inputs, ["y"]), tmp_path)


def test_parts_may_leave_a_rest(tmp_path: Path) -> None:
    outputs = ["a", "b", "c"]
    results, wanted = found(
        "Split", {"x": random(7)}, {}, tmp_path, outputs=outputs, num_outputs=3, opset=18
    )
    for result, own in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result, own)


def test_sizes_of_parts_have_to_be_known(tmp_path: Path) -> None:
    inputs = {"x": random(6), "sizes": np.array([2, 4])}
    with pytest.raises(MorelloError, match="Split 'it': its split is computed"):
        found("Split", inputs, {}, tmp_path, outputs=["a", "b"])


def test_a_sum_over_no_axes_is_one_over_all(tmp_path: Path) -> None:
    axes = {"axes": np.array([], np.int64)}
    results, wanted = found("ReduceSum", {"x": X}, axes, tmp_path)
    np.testing.assert_allclose(results[0], wanted[0], rtol=1e-5)
    results, wanted = found("ReduceSum", {"x": X}, axes, tmp_path, noop_with_empty_axes=1)
    np.testing.assert_array_equal(results[0], wanted[0])


def test_dropout_keeps_all(tmp_path: Path) -> None:
    [kept, mask], _ = found("Dropout", {"x": X}, {}, tmp_path, outputs=["y", "mask"])
    np.testing.assert_array_equal(kept, X)
    assert mask.dtype == np.uint8
    assert mask.all()
    training = {"ratio": np.array(0.5, np.float32), "training": np.array(True)}
    with pytest.raises(MorelloError, match="Dropout 'it': it is in training"):
        found("Dropout", {"x": X}, training, tmp_path)


def test_a_sequence_of_which_only_the_last_state_is_wanted(tmp_path: Path) -> None:
    weights = {"w": random(1, 20, 4), "r": random(1, 20, 5)}
    results, wanted = found(
        "LSTM", {"x": random(3, 2, 4)}, weights, tmp_path, outputs=["", "last"], hidden_size=5
    )
    np.testing.assert_allclose(results[0], wanted[0], rtol=1e-4, atol=1e-5)


def test_a_result_that_nothing_computes_is_refused(tmp_path: Path) -> None:
    constants = {"s": random(4), "b": random(4), "m": random(4), "v": random(4) ** 2}
    outputs = ["y", "mean", "variance"]
    with pytest.raises(MorelloError, match="'it': its result 'mean' has no translation"):
        found(
            "BatchNormalization",
            {"x": random(1, 4, 3)},
            constants,
            tmp_path,
            outputs=outputs,
            opset=9,
        )


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_the_largest_of_windows_of_bytes(dtype: type, tmp_path: Path) -> None:
    """Padding is none of them."""
    image: Any = (random(1, 2, 3, 4) * 9 - 60).astype(np.int8).view(dtype)
    sizes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 3]}
    node = helper.make_node("MaxPool", ["x"], ["y"], **sizes)
    [result] = interpreted(read(model_of([node], {"x": image}, ["y"]), tmp_path), {"x": image})
    halves = [(slice(0, 2), slice(0, 2)), (slice(0, 2), slice(2, 4))]
    halves += [(slice(1, 3), slice(0, 2)), (slice(1, 3), slice(2, 4))]
    wanted = [[channel[half].max() for half in halves] for channel in image[0]]
    assert result.reshape(2, 4).tolist() == np.array(wanted).tolist()


def test_a_frame_of_a_large_whole_number(tmp_path: Path) -> None:
    constants = {"p": np.array([1, 2]), "v": np.array(16777217, np.int32)}
    results, wanted = found("Pad", {"x": np.array([5, -7], np.int32)}, constants, tmp_path)
    assert results[0].tolist() == wanted[0].tolist() == [16777217, 5, -7, 16777217, 16777217]


def test_what_is_double_on_the_way_is_not(tmp_path: Path) -> None:
    """As where numbers are replaced that are none, or infinite."""
    nodes = [
        helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE),
        helper.make_node("IsInf", ["d"], ["infinite"]),
        helper.make_node("Mul", ["d", "two"], ["twice"]),
        helper.make_node("Where", ["infinite", "two", "twice"], ["e"]),
        helper.make_node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ]
    inputs = {"x": np.array([1, -np.inf, np.nan, 3e38, -5], np.float32)}
    constants = {"two": np.array([0.1], np.float64)}
    model = model_of(nodes, inputs, ["y", "twice"], constants)
    results = interpreted(read(model, tmp_path), inputs)
    for result, wanted in zip(results, expected(model, inputs), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-6)


def test_what_is_given_as_double_is_refused(tmp_path: Path) -> None:
    node = helper.make_node("Neg", ["x"], ["y"])
    network = read(model_of([node], {"x": np.ones(3)}, ["y"]), tmp_path)
    with pytest.raises(MorelloError, match="'x' is of float64"):
        interpreted(network, {"x": np.ones(3)})
