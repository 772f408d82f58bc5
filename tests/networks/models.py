"""Small models, and what runs a network without a C compiler: specs by their reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from morello.checking.specs import check_spec
from morello.definitions import Definitions, load_definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.networks.memory import bytes_of, plan
from morello.networks.network import Network, Node
from morello.networks.onnx.file import read_onnx
from morello.networks.onnx.operators import OPERATORS
from morello.networks.partition import SEEN, Part, partition
from morello.networks.saying import spec_of
from morello.networks.translate import translate
from morello.reference.goals import goal_reference

Arrays = Mapping[str, np.ndarray[Any, Any]]

OPSET = 17


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Numbers around 0."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


def model_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Arrays,
    outputs: Sequence[str],
    constants: Arrays | None = None,
    *,
    opset: int = OPSET,
    named: Mapping[str, Sequence[str | int]] | None = None,
) -> onnx.ModelProto:
    """A model whose inputs have the shapes and types of arrays, or shapes with ``named`` sizes."""

    def info(name: str, array: np.ndarray[Any, Any]) -> onnx.ValueInfoProto:
        type_ = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, type_, (named or {}).get(name, array.shape))

    graph = helper.make_graph(
        nodes,
        "small",
        [info(name, array) for name, array in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def saved(model: onnx.ModelProto, directory: Path, name: str = "little") -> Path:
    """The file of a model."""
    path = directory / f"{name}.onnx"
    onnx.save(model, str(path))
    return path


def expected(model: onnx.ModelProto, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """What the model computes, by ONNX's own reference."""
    return list(ReferenceEvaluator(model).run(None, dict(inputs)))


def read(model: onnx.ModelProto, directory: Path, **options: Any) -> Network:
    """The network of a model, its nodes in few kinds."""
    network = read_onnx(saved(model, directory), **options)
    translate(network, OPERATORS)
    return network


def interpreted(network: Network, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """What the parts of a network compute by their reference, and numpy between them."""
    known: dict[str, Any] = {n: v.data for n, v in network.values.items() if v.data is not None}
    known |= inputs
    _look(network, known)
    for step in partition(network):
        if isinstance(step, Part):
            _run_part(network, step, known)
        elif step.operator not in SEEN:
            value = network.values[step.output]
            result = _between(step, [known[name] for name in step.inputs])
            if step.operator == "Convert":
                result = result.astype(value.dtype)
            known[step.output] = result.reshape(value.shape)
        _look(network, known)
    return [known[name] for name in network.outputs]


class _Seen(dict[str, Any]):
    """Values as they lie in memory now."""

    def __init__(self, seen: Callable[[str], Any]) -> None:
        super().__init__()
        self._seen = seen

    def __missing__(self, name: str) -> Any:
        return self._seen(name)


def in_an_arena(network: Network, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """The same, with all that is computed where it lies: what is overwritten is lost."""
    steps = [s for s in partition(network) if isinstance(s, Part) or s.operator not in SEEN]
    arena = plan(network, steps, [64] * len(steps))
    memory = {"": np.zeros(arena.bytes, np.uint8)}
    for name in network.outputs:
        memory[name] = np.zeros(bytes_of(network, name), np.uint8)
    for name, value in network.values.items():
        if name in inputs or value.data is not None:
            given = inputs.get(name, value.data)
            memory[name] = np.asarray(given, order="C").reshape(-1).view(np.uint8).copy()

    def seen(name: str) -> np.ndarray[Any, Any]:
        place, value = arena.places[name], network.values[name]
        dtype = "float32" if value.dtype == "bool" else value.dtype
        whole = memory[place.argument or place.constant]
        size = bytes_of(network, name)
        return whole[place.offset : place.offset + size].view(dtype).reshape(value.shape)

    for step, scratch in zip(steps, arena.scratch, strict=True):
        if isinstance(step, Part):
            known = _Seen(seen)
            _run_part(network, step, known)
            assert scratch is not None
            memory[""][scratch : scratch + 64] = 255
            seen(step.output)[...] = known[step.output]
        else:
            result = _between(step, [seen(name) for name in step.inputs])
            seen(step.output)[...] = result.reshape(network.shape(step.output))
    return [seen(name) for name in network.outputs]


def _look(network: Network, known: dict[str, Any]) -> None:
    """Add the views of what is known."""
    for node in network.nodes:
        if node.operator in SEEN and node.inputs[0] in known:
            value = network.values[node.output]
            start = node.attributes.get("start", 0)
            seen = known[node.inputs[0]].reshape(-1)[start : start + value.elements]
            known[node.output] = seen.reshape(value.shape)


@cache
def _definitions() -> Definitions:
    return load_definitions()


def _run_part(network: Network, part: Part, known: dict[str, Any]) -> None:
    spec = spec_of(part, network)
    text = spec.text("part")
    file, collector = parse_spec(Source("<part>", text)), Collector()
    goal = check_spec(file, None, {}, _definitions().operators, collector)
    collector.raise_if_any()
    arguments = [t for t in goal.tensors if t.role in ("input", "weight")]
    passed = {
        tensor.name: np.ascontiguousarray(known[name])
        .astype(tensor.dtype.numpy)
        .reshape(tensor.shape)
        for tensor, name in zip(arguments, spec.arguments, strict=False)
    }
    [result] = goal_reference(goal, passed)
    known[part.output] = result.values.reshape(network.shape(part.output))


def _between(node: Node, inputs: Sequence[Any]) -> Any:
    match node.operator:
        case "Convert":
            return np.asarray(inputs[0])
        case "Concat":
            return np.concatenate(inputs, axis=node.attributes["axis"])
        case "Move":
            return inputs[0].reshape(-1)[inputs[1]]
        case "Lookup":
            nearest = np.clip(inputs[1], 0, len(inputs[0]) - 1)
            return inputs[0][nearest if node.attributes["nearest"] else inputs[1]]
    raise AssertionError(node.operator)
