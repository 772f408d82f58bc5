"""MiniLM as an ONNX model, as exporters take it apart: from the weights that a package brings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TOKENS, HEADS, WIDTH, LAYERS = 128, 12, 32, 6


def tensors(path: Path) -> Mapping[str, np.ndarray[Any, Any]]:
    """The tensors of a file of safetensors, by name, in f32."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    types = {"F32": np.float32, "F16": np.float16}
    found = {}
    for name, entry in head.items():
        if entry.get("dtype") in types:
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            flat = np.frombuffer(content[begin:end], types[entry["dtype"]])
            found[name] = flat.reshape(entry["shape"]).astype(np.float32)
    return found


@dataclass
class _Writer:
    """Adds nodes to a graph."""

    weights: Mapping[str, np.ndarray[Any, Any]]
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node; its result is named."""
        from onnx import helper  # noqa: PLC0415

        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def number(self, value: float) -> str:
        """A constant of one number."""
        return self.constant(f"number_{value}", np.array(value, np.float32))

    def constant(self, name: str, data: np.ndarray[Any, Any]) -> str:
        """A constant."""
        self.constants[name] = np.ascontiguousarray(data)
        return name

    def weight(self, name: str, *, turned: bool = False) -> str:
        """A weight of the package."""
        data = self.weights[name]
        return self.constant(name, data.T if turned else data)

    def linear(self, x: str, name: str) -> str:
        """A product with a bias."""
        product = self.add("MatMul", x, self.weight(f"{name}.weight", turned=True))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        """A layer norm."""
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        square = self.add("Pow", centred, self.number(2))
        variance = self.add("ReduceMean", square, axes=[-1])
        deviation = self.add("Sqrt", self.add("Add", variance, self.number(1e-12)))
        scaled = self.add("Div", centred, deviation)
        gained = self.add("Mul", scaled, self.weight(f"{name}.weight"))
        return self.add("Add", gained, self.weight(f"{name}.bias"))

    def heads(self, x: str, *order: int) -> str:
        """Rows divided into heads."""
        shape = self.constant("heads", np.array([1, TOKENS, HEADS, WIDTH]))
        return self.add("Transpose", self.add("Reshape", x, shape), perm=order)

    def layer(self, x: str, mask: str, name: str) -> str:
        """One layer."""
        own = f"{name}.attention.self"
        q = self.heads(self.linear(x, f"{own}.query"), 0, 2, 1, 3)
        k = self.heads(self.linear(x, f"{own}.key"), 0, 2, 3, 1)
        v = self.heads(self.linear(x, f"{own}.value"), 0, 2, 1, 3)
        scores = self.add("Div", self.add("MatMul", q, k), self.number(WIDTH**0.5))
        weights = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        attended = self.add("Transpose", self.add("MatMul", weights, v), perm=[0, 2, 1, 3])
        rows = self.constant("rows", np.array([1, TOKENS, HEADS * WIDTH]))
        joined = self.linear(self.add("Reshape", attended, rows), f"{name}.attention.output.dense")
        x = self.norm(self.add("Add", joined, x), f"{name}.attention.output.LayerNorm")
        wide = self.linear(x, f"{name}.intermediate.dense")
        error = self.add("Erf", self.add("Div", wide, self.number(2**0.5)))
        both = self.add("Mul", wide, self.add("Add", error, self.number(1)))
        narrow = self.linear(self.add("Mul", both, self.number(0.5)), f"{name}.output.dense")
        return self.norm(self.add("Add", narrow, x), f"{name}.output.LayerNorm")


def write(weights: Path, path: Path) -> None:
    """Write the model: ids and mask of one text to its embedding, of length 1."""
    import onnx  # noqa: PLC0415
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    w = _Writer(tensors(weights))
    embedded = w.add("Gather", w.weight("embeddings.word_embeddings.weight"), "input_ids")
    kinds = w.add("Gather", w.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    positions = w.weights["embeddings.position_embeddings.weight"][:TOKENS]
    x = w.add("Add", w.add("Add", embedded, kinds), w.constant("positions", positions))
    x = w.norm(x, "embeddings.LayerNorm")
    given = w.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    missing = w.add("Sub", w.number(1), given)
    wide = w.add("Unsqueeze", missing, w.constant("axes", np.array([1, 2])))
    mask = w.add("Mul", wide, w.number(float(np.finfo(np.float32).min)))
    for layer in range(LAYERS):
        x = w.layer(x, mask, f"encoder.layer.{layer}")
    column = w.add("Unsqueeze", given, w.constant("last", np.array([2])))
    summed = w.add(
        "ReduceSum", w.add("Mul", x, column), w.constant("of_rows", np.array([1])), keepdims=0
    )
    count = w.add("ReduceSum", given, w.constant("of_row", np.array([1])), keepdims=1)
    mean = w.add("Div", summed, w.add("Clip", count, w.number(1e-9)))
    length = w.add("Clip", w.add("ReduceL2", mean, axes=[-1]), w.number(1e-12))
    result = w.add("Div", mean, length)
    inputs = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        w.nodes,
        "minilm",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", TOKENS]) for n in inputs],
        [helper.make_tensor_value_info(result, TensorProto.FLOAT, ["batch", HEADS * WIDTH])],
        [numpy_helper.from_array(data, name) for name, data in w.constants.items()],
    )
    opset = helper.make_opsetid("", 14)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
