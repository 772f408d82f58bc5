"""ONNX models without what their constants decide, in operators that are known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from morello.networks.onnx.operators import OPERATORS

if TYPE_CHECKING:
    from onnx import ModelProto


def simplified(model: ModelProto, slim: Callable[[ModelProto], ModelProto]) -> ModelProto:
    """The model without what its constants decide, with all shapes that follow.

    What has no translation, but is defined by other operators, in ONNX or in the file, is written
    out.
    """
    from onnx import helper, inliner, shape_inference  # noqa: PLC0415

    if model.functions:
        model = inliner.inline_local_functions(model)
    while True:
        model = shape_inference.infer_shapes(_folded(slim(model)), data_prop=True)
        known = {info.name for info in model.graph.value_info}
        for data in model.graph.initializer:  # some definitions depend on types
            if data.name not in known:
                info = helper.make_tensor_value_info(data.name, data.data_type, data.dims)
                model.graph.value_info.append(info)
        used = {(node.domain, node.op_type) for node in model.graph.node}
        unknown = sorted(each for each in used if operator_name(*each) not in OPERATORS.rewrites)
        written = inliner.inline_selected_functions(model, unknown, inline_schema_functions=True)
        if [n.op_type for n in written.graph.node] == [n.op_type for n in model.graph.node]:
            return model
        model = written


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
