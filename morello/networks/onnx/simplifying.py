"""ONNX models without what their constants decide, in operators that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from morello.networks.onnx.operators import OPERATORS

if TYPE_CHECKING:
    from onnx import ModelProto, ValueInfoProto


def simplified(model: ModelProto, slim: Callable[[ModelProto], ModelProto]) -> ModelProto:
    """The model without what its constants decide, with all shapes that follow.

    What has no translation, but is defined by other operators, in ONNX or in the file, is written
    out.
    """
    from onnx import inliner  # noqa: PLC0415

    if model.functions:
        model = inliner.inline_local_functions(model)
    while True:
        _write_defaults(model)
        model = _with_shapes(_folded(slim(model)))
        used = {(node.domain, node.op_type) for node in model.graph.node}
        unknown = sorted(each for each in used if operator_name(*each) not in OPERATORS.rewrites)
        written = _written_out(model, unknown)
        if [n.op_type for n in written.graph.node] == [n.op_type for n in model.graph.node]:
            return model
        model = written


def _written_out(model: ModelProto, operators: Sequence[tuple[str, str]]) -> ModelProto:
    """The model with operators as ONNX defines them, where it does, by others."""
    from onnx import TensorProto, helper, inliner  # noqa: PLC0415

    if not operators:
        return model
    written = deepcopy(model)
    # Some definitions depend on types: also on those of constants, and of inputs that are left out.
    infos = written.graph.value_info
    known = {info.name for info in infos}
    for data in written.graph.initializer:
        if data.name not in known:
            infos.append(helper.make_tensor_value_info(data.name, data.data_type, data.dims))
    infos.append(helper.make_tensor_value_info("", TensorProto.UNDEFINED, None))
    for operator in operators:
        # It does not know the types of what is in branches.
        with suppress(RuntimeError):
            tried = inliner.inline_selected_functions(
                written, [operator], inline_schema_functions=True
            )
            # What is defined by a loop is better known by its own name.
            written = tried if _loops(tried) == _loops(written) else written
    return written


def _loops(model: ModelProto) -> int:
    """How many nodes repeat others."""
    return sum(node.op_type in ("Loop", "Scan") for node in model.graph.node)


def _with_shapes(model: ModelProto) -> ModelProto:
    """The model with all shapes that follow, as ONNX says; else as the simplifier has found them.

    That has others of some nodes, such as of a `Split` that leaves a rest.
    """
    from onnx import shape_inference  # noqa: PLC0415

    found = [*map(deepcopy, _infos(model))]
    del model.graph.value_info[:]
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    model = shape_inference.infer_shapes(model, data_prop=True)
    said = {info.name: info for info in _infos(model)}
    rest = [info for info in found if _is_whole(info) and not _is_whole(said.get(info.name))]
    for info in rest:
        said.setdefault(info.name, model.graph.value_info.add()).CopyFrom(info)
    return shape_inference.infer_shapes(model, data_prop=True) if rest else model


def _infos(model: ModelProto) -> list[ValueInfoProto]:
    """What is said of all that is computed."""
    return [*model.graph.value_info, *model.graph.output]


def _is_whole(info: ValueInfoProto | None) -> bool:
    """Whether a tensor's sizes are all said."""
    if info is None or not info.type.tensor_type.HasField("shape"):
        return False
    return all(dim.HasField("dim_value") for dim in info.type.tensor_type.shape.dim)


def _write_defaults(model: ModelProto) -> None:
    """Give nodes the attributes that they leave out.

    Not all that reads them knows what they are then: the inliner, and the shape of an `STFT`.
    """
    from onnx import defs  # noqa: PLC0415

    opsets = {used.domain: used.version for used in model.opset_import}
    for node in model.graph.node:
        version = opsets.get(node.domain, 0)
        if not version or not defs.has(node.op_type, version, node.domain):
            continue
        own = {attribute.name for attribute in node.attribute}
        schema = defs.get_schema(node.op_type, version, node.domain)
        left = (a for name, a in schema.attributes.items() if name not in own)
        node.attribute.extend(a.default_value for a in left if a.default_value.name)


MOST_FOLDED = 4096
"""Elements of what is read to compute ahead, and of what comes out, unless it has no translation.
Sizes and scales have few."""

STAYS = frozenset(
    ("DequantizeLinear", "Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike")
)
"""What is not computed ahead: weights in bytes stay bytes, and chance is not known."""


def _folded(model: ModelProto) -> ModelProto:
    """The model with results in the place of nodes that only read constants.

    Sizes are computed so, and what has no translation. `onnxslim` leaves some where ONNX Runtime is
    not installed.
    """
    from onnx import AttributeProto, numpy_helper  # noqa: PLC0415
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415

    graph = model.graph
    small = (data for data in graph.initializer if prod(data.dims) <= MOST_FOLDED)
    known = {data.name: numpy_helper.to_array(data) for data in small}
    opsets = {used.domain: used.version for used in model.opset_import}
    left = []
    for node in graph.node:
        inputs = {name: known[name] for name in node.input if name in known}
        reads = len(inputs) == len({*filter(None, node.input)}) > 0
        bodies = any(attribute.type == AttributeProto.GRAPH for attribute in node.attribute)
        if not reads or bodies or node.op_type in STAYS:
            left.append(node)
            continue
        translated = operator_name(node.domain, node.op_type) in OPERATORS.rewrites
        try:
            computed = ReferenceEvaluator(node, opsets=opsets).run(None, inputs)
        except Exception:  # it cannot compute them: each operator has errors of its own
            computed = []
        results = [np.asarray(result) for result in computed]
        if not results or (translated and max(r.size for r in results) > MOST_FOLDED):
            left.append(node)
            continue
        found = {n: r for n, r in zip(node.output, results, strict=False) if n}
        known |= {name: r for name, r in found.items() if r.size <= MOST_FOLDED}
        graph.initializer.extend(numpy_helper.from_array(r, n) for n, r in found.items())
    del graph.node[:]
    graph.node.extend(left)
    return model


def operator_name(domain: str, name: str) -> str:
    """What an operator is called here."""
    return name if domain in ("", "ai.onnx") else f"{domain}.{name}"
