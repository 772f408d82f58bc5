"""ONNX files, by the packages ``onnx`` and ``onnxslim`` of the extra of the same name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from morello.codegen.c.names import identifier
from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import suggestion
from morello.networks.network import UNKNOWN_SHAPE, Network, Node, Value
from morello.networks.onnx.simplifying import operator_name, simplified
from morello.records import replace

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

EXTRA = "install it with: pip install 'morello[onnx]'"


def read_onnx(
    path: str | Path,
    *,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    name: str | None = None,
) -> Network:
    """Read a model whose sizes are then all known, without what its constants decide.

    Args:
        path: The file.
        sizes: Values of the dimensions that the file only names, such as ``batch``.
        shapes: Whole shapes of inputs, by name.
        name: Of the network; by default the file's.

    Raises:
        MorelloError: The file cannot be read or is no model, the packages are not installed, or a
            shape depends on values.
        UsageError: A size is not known, or there is nothing of that name.
    """
    try:
        import onnx  # noqa: PLC0415
        import onnxslim  # noqa: PLC0415
    except ImportError as error:
        raise MorelloError(f"reading ONNX needs the package '{error.name}'", help=EXTRA) from None
    path = Path(path)
    try:
        model = onnx.load(str(path))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MorelloError(f"cannot read '{path}': {reason}") from error
    except Exception as error:  # protobuf has an error of its own for each way of parsing
        raise MorelloError(f"'{path}' is no ONNX model") from error
    if not model.HasField("graph") or not model.graph.node:
        raise MorelloError(f"'{path}' is no ONNX model", help="it has no nodes")
    _demand_computed(model.graph)
    _fix_sizes(model.graph, dict(sizes or {}), dict(shapes or {}))
    try:
        model = simplified(model, onnxslim.slim)
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise MorelloError(f"'{path}' cannot be simplified: {text}") from error
    return _network(model, name or identifier(path.stem))


def _demand_computed(graph: GraphProto) -> None:
    """Raise an error for a node that reads what is neither given nor computed."""
    known = {"", *(value.name for value in graph.input)}
    known.update(tensor.name for tensor in graph.initializer)
    known.update(tensor.values.name for tensor in graph.sparse_initializer)
    known.update(name for node in graph.node for name in node.output)
    for number, node in enumerate(graph.node):
        for name in node.input:
            if name not in known:
                reader = f"{node.op_type} '{_label(node, number)}'"
                raise MorelloError(
                    f"'{name}', which {reader} reads, is computed by no node",
                    help="it is no input and no constant of the model either",
                )


def _label(node: NodeProto, number: int) -> str:
    """What a node is called: its name, or one that follows from its place."""
    return node.name or f"{node.op_type}_{number}"


def _fix_sizes(graph: GraphProto, sizes: dict[str, int], shapes: dict[str, Sequence[int]]) -> None:
    """Give all dimensions of inputs a size."""
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    named = {d.dim_param for v in inputs for d in v.type.tensor_type.shape.dim if d.dim_param}
    for given, known, what in (
        (shapes, {value.name for value in inputs}, "input"),
        (sizes, named, "dimension"),
    ):
        for wrong in sorted(given.keys() - known):
            raise UsageError(
                f"the model has no {what} '{wrong}'", help=suggestion(wrong, sorted(known))
            )
    for value in inputs:
        _fix_input(value, sizes, shapes.get(value.name))
    for value in graph.output:  # what follows from the inputs is not known better by the file
        value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]


def _fix_input(
    value: ValueInfoProto, sizes: Mapping[str, int], shape: Sequence[int] | None
) -> None:
    dims = value.type.tensor_type.shape.dim
    if shape is not None and len(shape) != len(dims):
        message = f"input '{value.name}' has {len(dims)} dimensions, not {len(shape)}"
        raise UsageError(message, help="give a size for each")
    for place, dim in enumerate(dims):
        size = shape[place] if shape is not None else sizes.get(dim.dim_param, dim.dim_value)
        if size < 1:
            called = f"'{dim.dim_param}'" if dim.dim_param else f"number {place + 1}"
            example = ",".join("1" if d.dim_value < 1 else str(d.dim_value) for d in dims)
            named = f"-D {quote(f'{dim.dim_param}=1')}, or " if dim.dim_param else ""
            raise UsageError(
                f"the size of dimension {called} of input '{value.name}' is not known",
                help=f"give {named}its whole shape, such as --shape {value.name}={example}",
            )
        dim.Clear()
        dim.dim_value = size


def _network(model: ModelProto, name: str) -> Network:
    from onnx import numpy_helper  # noqa: PLC0415

    graph = model.graph
    values: dict[str, Value] = {}
    for tensor in graph.initializer:
        data = numpy_helper.to_array(tensor)
        values[tensor.name] = Value(tensor.name, data.dtype.name, data.shape, data)
    for info in (*graph.input, *graph.value_info, *graph.output):
        if info.name not in values:
            values[info.name] = _value(info)
    nodes = []
    for number, proto in enumerate(graph.node):
        attributes = {a.name: _attribute(a) for a in proto.attribute}
        node = Node(
            operator_name(proto.domain, proto.op_type),
            _label(proto, number),
            tuple(proto.input),
            tuple(proto.output),
            attributes,
        )
        if node.operator == "Constant" and "value" in attributes:
            data = attributes["value"]
            values[node.output] = Value(node.output, data.dtype.name, data.shape, data)
            continue
        nodes.append(node)
        for output in node.results:
            values.setdefault(output, Value(output, "?", UNKNOWN_SHAPE))
    inputs = [value.name for value in graph.input if values[value.name].data is None]
    outputs = [value.name for value in graph.output]
    _refuse_empty(values, nodes, outputs)
    for place, output in enumerate(outputs):
        if output in inputs:  # one name cannot be both arguments'
            copied = f"{output}_out"
            while copied in values:
                copied += "_"
            values[copied] = replace(values[output], name=copied)
            nodes.append(Node("Identity", f"output_{output}", (output,), (copied,), {}))
            outputs[place] = copied
    versions = [used.version for used in model.opset_import if used.domain in ("", "ai.onnx")]
    return Network(name, values, nodes, inputs, outputs, max(versions, default=0))


def _refuse_empty(
    values: Mapping[str, Value], nodes: Sequence[Node], outputs: Sequence[str]
) -> None:
    """Raise an error for what is computed of no elements, unless it is only joined to others."""
    empty = [name for node in nodes for name in node.outputs if name and 0 in values[name].shape]
    reading = [node for node in nodes if node.operator != "Concat"]
    for name in empty:
        reader = next((str(node) for node in reading if name in node.inputs), "")
        if reader or name in outputs:
            use = f"read by {reader}" if reader else "wanted"
            message = f"'{name}' has no elements, and is {use}"
            raise MorelloError(message, help="what is empty can only be joined to other tensors")


def _value(info: ValueInfoProto) -> Value:
    from onnx import helper  # noqa: PLC0415

    tensor = info.type.tensor_type
    dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type).name if tensor.elem_type else "?"
    known = tensor.HasField("shape")
    sizes = (d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim)
    shape = tuple(sizes) if known else UNKNOWN_SHAPE
    return Value(info.name, dtype, UNKNOWN_SHAPE if min(shape, default=1) < 0 else shape)


def _attribute(attribute: AttributeProto) -> Any:
    from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.strings:
        return tuple(own.decode(errors="replace") for own in value)
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return tuple(value) if isinstance(value, list) else value
