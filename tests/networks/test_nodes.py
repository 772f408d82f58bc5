"""Every node that is translated computes what ONNX says, whatever becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from .models import expected, interpreted, model_of, random, read

Array = np.ndarray[Any, Any]

X = random(2, 3, 4)
IMAGE = random(1, 4, 9, 7)

NODES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "a sum, broadcast": ("Add", {"x": X, "z": random(3, 1)}, {}, {}),
    "a number from the left": ("Sub", {"x": X}, {"b": np.float32(0.5)}, {}),
    "a negative number": ("Mul", {"x": X}, {"b": np.array([-2.5], np.float32)}, {}),
    "a large whole number": (
        "Add",
        {"x": np.array([1, -5], np.int32)},
        {"b": np.array(16777217, np.int32)},
        {},
    ),
    "the largest of three": ("Max", {"x": X, "z": random(4), "v": random(3, 1)}, {}, {}),
    "the least of one": ("Min", {"x": X}, {}, {}),
    "a choice": ("Clip", {"x": X}, {"a": np.float32(-0.5), "b": np.float32(0.25)}, {}),
    "a lower bound": ("Clip", {"x": X}, {"a": np.float32(0)}, {}),
    "a power": ("Pow", {"x": X}, {"b": np.float32(3)}, {}),
    "softplus": ("Softplus", {"x": X}, {}, {}),
    "sine": ("Sin", {"x": X * 20}, {}, {}),
    "cosine": ("Cos", {"x": X * 20}, {}, {}),
    "tangent": ("Tan", {"x": X}, {}, {}),
    "hyperbolic sine": ("Sinh", {"x": X * np.array([1e-6, 0.1, 4, 20], np.float32)}, {}, {}),
    "hyperbolic cosine": ("Cosh", {"x": X * 4}, {}, {}),
    "a slope for each": ("PRelu", {"x": X}, {"s": random(3, 1)}, {}),
    "elu": ("Elu", {"x": X}, {}, {"alpha": 0.5}),
    "leaky": ("LeakyRelu", {"x": X}, {}, {"alpha": 0.25}),
    "hard sigmoid": ("HardSigmoid", {"x": X * 4}, {}, {"alpha": 0.3}),
    "hard swish": ("HardSwish", {"x": X * 4}, {}, {}),
    "mean": ("ReduceMean", {"x": X}, {}, {"axes": [1]}),
    "mean of all": ("ReduceMean", {"x": X}, {}, {"keepdims": 0}),
    "sum of two dimensions": ("ReduceSum", {"x": X}, {"a": np.array([0, -1])}, {"keepdims": 0}),
    "largest of a row of one": ("ReduceMax", {"x": random(4, 1)}, {}, {"axes": [1]}),
    "norm": ("ReduceL2", {"x": X}, {}, {"axes": [2], "keepdims": 0}),
    "softmax": ("Softmax", {"x": X}, {}, {}),
    "softmax along the first": ("Softmax", {"x": X}, {}, {"axis": 0}),
    "log softmax": ("LogSoftmax", {"x": X}, {}, {"axis": 1}),
    "layer norm": ("LayerNormalization", {"x": X}, {"g": random(4), "b": random(4, seed=1)}, {}),
    "layer norm without bias": ("LayerNormalization", {"x": X}, {"g": random(3, 4)}, {"axis": 1}),
    "a product": ("MatMul", {"x": random(5, 6)}, {"w": random(6, 7)}, {}),
    "a batch times a matrix": ("MatMul", {"x": X}, {"w": random(4, 5)}, {}),
    "batches": ("MatMul", {"x": random(2, 3, 4, 5), "z": random(3, 5, 6)}, {}, {}),
    "one row": ("MatMul", {"x": random(1, 5)}, {"w": random(5, 1)}, {}),
    "gemm": (
        "Gemm",
        {"x": random(5, 6)},
        {"w": random(7, 6), "b": random(7)},
        {"transB": 1, "alpha": 0.5, "beta": 2.0},
    ),
    "gemm, transposed": ("Gemm", {"x": random(6, 5)}, {"w": random(6, 7)}, {"transA": 1}),
    "gemm, scaled": ("Gemm", {"x": random(5, 6)}, {"w": random(6, 7)}, {"alpha": 0.5}),
    "convolution": (
        "Conv",
        {"x": IMAGE},
        {"w": random(5, 4, 3, 3), "b": random(5)},
        {"pads": [1, 0, 1, 2], "strides": [2, 1]},
    ),
    "a convolution of one channel": (
        "Conv",
        {"x": random(2, 1, 9, 7)},
        {"w": random(5, 1, 3, 3), "b": random(5)},
        {"pads": [1, 1, 1, 1]},
    ),
    "a convolution that leaves a rest": (
        "Conv",
        {"x": IMAGE},
        {"w": random(5, 4, 2, 2)},
        {"strides": [2, 2], "dilations": [2, 1]},
    ),
    "pixels": ("Conv", {"x": IMAGE}, {"w": random(5, 4, 1, 1), "b": random(5)}, {}),
    "pixels of two": ("Conv", {"x": random(2, 4, 3, 5)}, {"w": random(5, 4, 1, 1)}, {}),
    "one pixel": ("Conv", {"x": random(2, 4, 1, 1)}, {"w": random(5, 4, 1, 1)}, {}),
    "every second pixel": (
        "Conv",
        {"x": random(1, 4, 8, 6)},
        {"w": random(5, 4, 1, 1)},
        {"strides": [2, 2]},
    ),
    "depthwise": (
        "Conv",
        {"x": IMAGE},
        {"w": random(4, 1, 3, 3), "b": random(4)},
        {"group": 4, "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ),
    "rows": (
        "Conv",
        {"x": random(1, 4, 11)},
        {"w": random(5, 4, 3), "b": random(5)},
        {"pads": [1, 1]},
    ),
    "a column": (
        "Conv",
        {"x": random(1, 4, 11, 1)},
        {"w": random(5, 4, 3, 1)},
        {"pads": [2, 0, 0, 0]},
    ),
    "windows apart": (
        "ConvTranspose",
        {"x": random(1, 4, 5, 3)},
        {"w": random(4, 3, 2, 2), "b": random(3)},
        {"strides": [2, 2]},
    ),
    "largest of windows": (
        "MaxPool",
        {"x": IMAGE - 3},
        {},
        {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]},
    ),
    "windows that leave a rest": (
        "MaxPool",
        {"x": IMAGE},
        {},
        {"kernel_shape": [2, 2], "strides": [2, 2]},
    ),
    "means of windows": (
        "AveragePool",
        {"x": IMAGE},
        {},
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]},
    ),
    "means with padding": (
        "AveragePool",
        {"x": IMAGE},
        {},
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1},
    ),
    "means of windows of which the last is not whole": (
        "AveragePool",
        {"x": IMAGE},
        {},
        {"kernel_shape": [2, 2], "strides": [2, 3], "ceil_mode": 1, "count_include_pad": 1},
    ),
    "windows of rows": (
        "MaxPool",
        {"x": random(1, 4, 9)},
        {},
        {"kernel_shape": [3], "strides": [3]},
    ),
    "mean of images": ("GlobalAveragePool", {"x": IMAGE}, {}, {}),
    "largest of images": ("GlobalMaxPool", {"x": IMAGE}, {}, {}),
    "transpose": ("Transpose", {"x": X}, {}, {"perm": [2, 0, 1]}),
    "transpose of a row": ("Transpose", {"x": random(1, 5)}, {}, {}),
    "a slice": (
        "Slice",
        {"x": X},
        {"s": np.array([1, -3]), "e": np.array([3, 2**31]), "a": np.array([1, 2])},
        {},
    ),
    "every second, backwards": (
        "Slice",
        {"x": X},
        {"s": np.array([-1]), "e": np.array([-(2**31)]), "a": np.array([2]), "t": np.array([-2])},
        {},
    ),
    "every second": (
        "Slice",
        {"x": random(9)},
        {"s": np.array([1]), "e": np.array([8]), "a": np.array([0]), "t": np.array([2])},
        {},
    ),
    "every second, of which there is one": (
        "Slice",
        {"x": random(1, 3)},
        {"s": np.array([0]), "e": np.array([2]), "a": np.array([1]), "t": np.array([2])},
        {},
    ),
    "one of several dimensions": (
        "Slice",
        {"x": X},
        {"s": np.array([1, 2, 1]), "e": np.array([2, 3, 3]), "a": np.array([0, 1, 2])},
        {},
    ),
    "one element": ("Gather", {"x": X}, {"i": np.array(-1)}, {"axis": 1}),
    "several elements": ("Gather", {"x": X}, {"i": np.array([[2, 0], [1, 1]])}, {"axis": 2}),
    "columns by data": ("Gather", {"x": X, "i": np.array([[3, 0], [-1, 2]])}, {}, {"axis": 2}),
    "rows between by data": ("Gather", {"x": X, "i": np.array(1)}, {}, {"axis": 1}),
    "rows by data": ("Gather", {"x": random(9, 4), "i": np.array([[3, 8], [0, 3]])}, {}, {}),
    "a frame": ("Pad", {"x": X}, {"p": np.array([0, 1, 2, 0, 0, 1]), "v": np.float32(3)}, {}),
    "a frame around one place": (
        "Pad",
        {"x": random(2, 1, 3, 1)},
        {"p": np.array([0, 1, 0, 1, 0, 0, 2, 1])},
        {},
    ),
    "a frame around a number": ("Pad", {"x": random(1, 1)}, {"p": np.array([2, 0, 1, 3])}, {}),
    "a mirror": ("Pad", {"x": X}, {"p": np.array([0, 1, 2, 0, 0, 1])}, {"mode": "reflect"}),
    "repeated": ("Expand", {"x": random(3, 1)}, {"s": np.array([2, 3, 4])}, {}),
    "side by side": ("Concat", {"x": X, "z": random(2, 1, 4)}, {}, {"axis": 1}),
    "reshaped": ("Reshape", {"x": X}, {"s": np.array([4, -1])}, {}),
    "flattened": ("Flatten", {"x": X}, {}, {}),
    "a number of another type": ("Cast", {"x": np.array([[3, -4]])}, {}, {"to": 1}),
    "groups of channels": (
        "Conv",
        {"x": IMAGE},
        {"w": random(6, 2, 3, 3), "b": random(6)},
        {"group": 2, "pads": [1, 1, 1, 1]},
    ),
    "groups of two images": (
        "Conv",
        {"x": random(2, 4, 5, 3)},
        {"w": random(6, 2, 1, 1)},
        {"group": 2},
    ),
    "batch norm": (
        "BatchNormalization",
        {"x": IMAGE},
        {"s": random(4), "b": random(4), "m": random(4), "v": random(4) ** 2},
        {"epsilon": 0.1},
    ),
    "tiles": ("Tile", {"x": X}, {"r": np.array([2, 1, 3])}, {}),
    "depth to space": ("DepthToSpace", {"x": random(1, 8, 2, 3)}, {}, {"blocksize": 2}),
    "depth to space, by rows": (
        "DepthToSpace",
        {"x": random(1, 8, 2, 3)},
        {},
        {"blocksize": 2, "mode": "CRD"},
    ),
    "space to depth": ("SpaceToDepth", {"x": random(2, 2, 4, 6)}, {}, {"blocksize": 2}),
    "a sequence": (
        "LSTM",
        {"x": random(3, 2, 4)},
        {"w": random(1, 20, 4), "r": random(1, 20, 5), "b": random(1, 40)},
        {"hidden_size": 5},
    ),
    "a sequence both ways": (
        "LSTM",
        {"x": random(3, 2, 4)},
        {"w": random(2, 20, 4), "r": random(2, 20, 5), "b": random(2, 40)},
        {"hidden_size": 5, "direction": "bidirectional"},
    ),
    "a gated sequence": (
        "GRU",
        {"x": random(3, 2, 4)},
        {"w": random(1, 15, 4), "r": random(1, 15, 5), "b": random(1, 30)},
        {"hidden_size": 5},
    ),
    "a gated sequence, reset last": (
        "GRU",
        {"x": random(3, 2, 4)},
        {"w": random(1, 15, 4), "r": random(1, 15, 5), "b": random(1, 30)},
        {"hidden_size": 5, "linear_before_reset": 1, "activations": ["Sigmoid", "Tanh"]},
    ),
    "a plain sequence": (
        "RNN",
        {"x": random(3, 2, 4)},
        {"w": random(1, 5, 4), "r": random(1, 5, 5), "b": random(1, 10)},
        {"hidden_size": 5},
    ),
    "ceil": ("Ceil", {"x": X * 3}, {}, {}),
    "sign": ("Sign", {"x": np.array([-2, 0, 3], np.float32)}, {}, {}),
    "celu": ("Celu", {"x": X}, {}, {"alpha": 0.5}),
    "selu": ("Selu", {"x": X}, {}, {}),
    "over a threshold": ("ThresholdedRelu", {"x": X}, {}, {"alpha": 0.3}),
    "shrunk": ("Shrink", {"x": X}, {}, {"bias": 0.2, "lambd": 0.4}),
    "mean of three": ("Mean", {"x": X, "z": random(4), "v": random(3, 1)}, {}, {}),
    "a power of a number": ("Pow", {"b": np.abs(X) + 0.1}, {"e": np.float32(2.2)}, {}),
    "a fourth power": ("Pow", {"x": X}, {"e": np.float32(4)}, {}),
    "a negative power": ("Pow", {"x": X}, {"e": np.float32(-2)}, {}),
    "log of a sum": ("ReduceLogSum", {"x": np.abs(X)}, {}, {"axes": [1]}),
    "log of a sum of powers": ("ReduceLogSumExp", {"x": X * 80}, {}, {"axes": [1, 2]}),
    "where the largest is": ("ArgMax", {"x": X}, {}, {"axis": 1}),
    "where the least is": ("ArgMin", {"x": X}, {}, {"axis": -1, "keepdims": 0}),
    "the last of the largest": (
        "ArgMax",
        {"x": np.sign(X)},
        {},
        {"axis": 2, "select_last_index": 1},
    ),
    "one where the largest is": ("Hardmax", {"x": X}, {}, {"axis": 1}),
    "running sums": ("CumSum", {"x": X}, {"a": np.array(1)}, {}),
    "running sums, backwards": (
        "CumSum",
        {"x": X},
        {"a": np.array(-1)},
        {"exclusive": 1, "reverse": 1},
    ),
    "instance norm": ("InstanceNormalization", {"x": IMAGE}, {"s": random(4), "b": random(4)}, {}),
    "norm along rows": ("LpNormalization", {"x": X}, {}, {"axis": 1}),
    "a vector times a matrix": ("MatMul", {"x": random(4)}, {"w": random(4, 5)}, {}),
    "rows times a vector": ("MatMul", {"x": X}, {"w": random(4)}, {}),
    "two vectors": ("MatMul", {"x": random(4)}, {"w": random(4)}, {}),
    "a sum of products": (
        "Einsum",
        {"x": X, "z": random(2, 5, 4)},
        {},
        {"equation": "bij,bkj->kbi"},
    ),
    "an outer product": (
        "Einsum",
        {"x": random(3), "z": random(4)},
        {},
        {"equation": "i,j"},
    ),
    "a sum of what only one has": (
        "Einsum",
        {"x": X, "z": random(4, 5)},
        {},
        {"equation": "bij,jk->bk"},
    ),
    "a sum of products of three": (
        "Einsum",
        {"x": X, "z": random(5, 4), "v": random(3, 5)},
        {},
        {"equation": "bij,kj,ik->kb"},
    ),
    "an outer product of three": (
        "Einsum",
        {"x": random(3), "z": random(4), "v": random(2)},
        {},
        {"equation": "i,j,k->jki"},
    ),
    "a sum of all": ("Einsum", {"x": X}, {}, {"equation": "bij->"}),
    "a product of all": ("Einsum", {"x": X, "z": X + 1}, {}, {"equation": "bij,bij->"}),
    "a diagonal": ("Einsum", {"x": random(4, 3, 4)}, {}, {"equation": "iji->ij"}),
    "a trace": ("Einsum", {"x": random(4, 4)}, {}, {"equation": "ii"}),
    "a cube's diagonal, in a product": (
        "Einsum",
        {"x": random(3, 3, 2, 3), "z": random(2, 3)},
        {},
        {"equation": "iiji,ji->j"},
    ),
    "a product of all that come before": (
        "Einsum",
        {"x": random(2, 1, 3, 4), "z": random(2, 5, 4, 6)},
        {},
        {"equation": "...ij, ...jk -> ...ik"},
    ),
    "a sum of all that come before": (
        "Einsum",
        {"x": random(2, 3, 4), "z": random(3, 4)},
        {},
        {"equation": "i...,...->i"},
    ),
    "dimensions without letters": (
        "Einsum",
        {"x": random(2, 3, 4), "z": random(4, 5)},
        {},
        {"equation": "b...k,km"},
    ),
    "a transpose": ("Einsum", {"x": X}, {}, {"equation": "bij->jb"}),
    "windows that overlap": (
        "ConvTranspose",
        {"x": random(2, 4, 5, 3)},
        {"w": random(4, 3, 3, 4), "b": random(3)},
        {"strides": [2, 2], "pads": [1, 1, 0, 2], "output_padding": [1, 0]},
    ),
    "windows with gaps": (
        "ConvTranspose",
        {"x": random(1, 4, 3, 4)},
        {"w": random(4, 3, 2, 1), "b": random(3)},
        {"strides": [3, 2], "output_padding": [2, 1]},
    ),
    "windows back, side by side": (
        "ConvTranspose",
        {"x": random(1, 4, 5, 3)},
        {"w": random(4, 3, 3, 2)},
        {"dilations": [2, 3]},
    ),
    "windows back, of each channel": (
        "ConvTranspose",
        {"x": IMAGE},
        {"w": random(4, 1, 4, 4)},
        {"strides": [2, 2], "group": 4, "pads": [1, 1, 1, 1]},
    ),
    "several filters of each channel": (
        "Conv",
        {"x": IMAGE},
        {"w": random(8, 1, 3, 3), "b": random(8)},
        {"group": 4, "pads": [1, 1, 1, 1]},
    ),
    "elements by places": (
        "GatherElements",
        {"x": X},
        {"i": np.array([[[0, -1, 1, 2]], [[2, 2, 0, 1]]])},
        {"axis": 1},
    ),
    "rows by places": ("GatherND", {"x": X}, {"i": np.array([[0, 1], [1, -1]])}, {}),
    "rows put in places": (
        "ScatterND",
        {"x": X},
        {"i": np.array([[0, 1], [1, 2]]), "u": random(2, 4)},
        {},
    ),
    "elements put in places": (
        "ScatterElements",
        {"x": X},
        {"i": np.array([[[1, 0, 2, 1]]]), "u": random(1, 1, 4)},
        {"axis": 1},
    ),
    "the upper triangle": ("Trilu", {"x": X}, {"k": np.array(1)}, {}),
    "the lower triangle": ("Trilu", {"x": X}, {}, {"upper": 0}),
    "truth as a number": ("Where", {"x": X > 0, "z": X}, {"v": np.float32(2)}, {}),
}


def test_a_sequence_goes_on_from_its_states(tmp_path: Path) -> None:
    names = ["x", "w", "r", "b", "", "h", "c"]
    inputs = {"x": random(1, 2, 4), "h": random(1, 2, 5), "c": random(1, 2, 5, seed=1)}
    constants = {"w": random(1, 20, 4), "r": random(1, 20, 5), "b": random(1, 40)}
    node = helper.make_node("LSTM", names, ["y", "last", "cell"], hidden_size=5)
    model = model_of([node], inputs, ["y", "last", "cell"], constants)
    results = interpreted(read(model, tmp_path), inputs)
    x, h, c = (inputs[name][0] for name in "xhc")
    w, r, b = (constants[name][0] for name in "wrb")
    gates = np.split(x @ w.T + h @ r.T + b[:20] + b[20:], 4, axis=1)
    i, o, f = (1 / (1 + np.exp(-gate)) for gate in gates[:3])
    cell = f * c + i * np.tanh(gates[3])
    last = o * np.tanh(cell)
    for result, wanted in zip(results, (last, last, cell), strict=True):
        np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-5)


def test_a_softmax_of_older_files_goes_over_all_that_follows(tmp_path: Path) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"])
    model = model_of([node], {"x": X}, ["y"], opset=11)
    [result] = interpreted(read(model, tmp_path), {"x": X})
    powers = np.exp(X - X.max(axis=(1, 2), keepdims=True))
    np.testing.assert_allclose(result, powers / powers.sum(axis=(1, 2), keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("case", NODES)
def test_it_computes_what_onnx_says(case: str, tmp_path: Path) -> None:
    operator, inputs, constants, attributes = NODES[case]
    names = [*inputs, *constants]
    if case == "a number from the left":
        names.reverse()
    nodes = [helper.make_node(operator, names, ["y"], **attributes)]
    if case == "truth as a number":
        inputs = {"x": X, "z": X}
        nodes = [
            helper.make_node("Greater", ["x", "v"], ["t"]),
            helper.make_node("Where", ["t", "z", "v"], ["y"]),
        ]
    if case == "a lower bound":
        nodes = [helper.make_node(operator, ["x", "a", ""], ["y"])]
    model = model_of(nodes, inputs, ["y"], {n: np.asarray(c) for n, c in constants.items()})
    [result] = interpreted(read(model, tmp_path), inputs)
    [wanted] = expected(model, inputs)
    assert result.shape == wanted.shape
    if np.issubdtype(wanted.dtype, np.integer):
        assert (result == wanted).all()
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_what_the_reference_of_onnx_does_not_say(tmp_path: Path) -> None:
    """Where that knows no negative numbers, no groups, or other neighbours than the text says."""

    def found(operator: str, x: Array, constants: dict[str, Array], **attributes: Any) -> Any:
        node = helper.make_node(operator, ["x", *constants], ["y"], **attributes)
        network = read(model_of([node], {"x": x}, ["y"], constants), tmp_path)
        return interpreted(network, {"x": x})[0]

    wanted = X / np.abs(X).sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(found("LpNormalization", X, {}, p=1), wanted, rtol=1e-5)

    padded = np.pad(IMAGE**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    wanted = IMAGE / (1 + 0.1 / 3 * (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:])) ** 0.75
    np.testing.assert_allclose(found("LRN", IMAGE, {}, size=3, alpha=0.1), wanted, rtol=1e-5)

    wanted = np.pad(X[:, 1:, :-1], [(0, 1), (0, 0), (2, 0)])
    assert (found("Pad", X, {"p": np.array([0, -1, 2, 1, 0, -1])}) == wanted).all()

    rows, filters = random(1, 4, 6), random(4, 3, 4)
    full = np.zeros((1, 6, 14), np.float32)
    for channel, place, tap in np.ndindex(4, 6, 4):
        group = slice(channel // 2 * 3, channel // 2 * 3 + 3)
        full[0, group, 2 * place + tap] += rows[0, channel, place] * filters[channel, :, tap]
    back = found("ConvTranspose", rows, {"w": filters}, strides=[2], group=2, pads=[1, 1])
    np.testing.assert_allclose(back, full[..., 1:-1], rtol=1e-4, atol=1e-5)


def test_what_is_moved_of_constants_is_a_constant(tmp_path: Path) -> None:
    node = helper.make_node(
        "LSTM", ["x", "w", "r", "", "", "h", "h"], ["y"], hidden_size=5, direction="bidirectional"
    )
    constants = {"w": random(2, 20, 4), "r": random(2, 20, 5), "h": random(2, 3, 5)}
    network = read(model_of([node], {"x": random(2, 3, 4)}, ["y"], constants), tmp_path)
    moving = [n for n in network.nodes if n.operator in ("Cut", "Permute", "Piece", "View")]
    assert moving
    assert all(network.data(n.inputs[0]) is None for n in moving)
