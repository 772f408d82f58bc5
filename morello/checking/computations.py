"""From the calls of a spec, all of them right, to the computations of its goal."""

from __future__ import annotations

from collections.abc import Sequence

from morello.checking.use import Checked
from morello.ir.goal import Computation, GoalTensor
from morello.ir.graphs.composition import Part
from morello.ir.graphs.graph import Node, expanded
from morello.ir.graphs.multi_output import parts_for
from morello.ir.layout import row_major
from morello.ir.sizes import sizes_from, with_hidden


def computations(calls: Sequence[Checked], outputs: Sequence[str]) -> tuple[Computation, ...]:
    """What computes the outputs, in an order in which each tensor is computed before it is read.

    Args:
        calls: Each after those whose results it reads.
        outputs: Names of the outputs; each is the result of a call.
    """
    tensors = {tensor.name: tensor for call in calls for tensor in call.tensors}
    nodes: list[Node] = []
    for call in calls:
        for node in expanded(Node(call.operation, tuple(t.name for t in call.tensors))):
            nodes.append(node)
            if node.output not in tensors:
                tensors[node.output] = _inside(call, node, [tensors[name] for name in node.inputs])
    dtypes = {name: tensor.dtype for name, tensor in tensors.items()}
    elements = {name: tensor.elements for name, tensor in tensors.items()}
    parts = parts_for(nodes, outputs, dtypes, elements, _written_first(calls))
    return tuple(_computation(part, [tensors[name] for name in part.tensors]) for part in parts)


def _written_first(calls: Sequence[Checked]) -> dict[str, list[str]]:
    """What has to be computed before what is seen in a tensor, or computed in parts, is read."""
    parts: dict[str, list[str]] = {}
    for call in calls:
        result = call.tensors[-1]
        if result.whole is not None:
            parts.setdefault(result.whole.name, []).append(result.name)
    found = dict(parts)
    for tensor in (tensor for call in calls for tensor in call.tensors[:-1]):
        if tensor.whole is not None:
            found[tensor.name] = parts.get(tensor.whole.name, [tensor.whole.name])
    return found


def _inside(call: Checked, node: Node, inputs: Sequence[GoalTensor]) -> GoalTensor:
    """What a statement of an operator computes for the statements after it."""
    sizes = sizes_from(call.operation, [tensor.shape for tensor in call.tensors])
    sizes |= sizes_from(node.operation, [tensor.shape for tensor in inputs])
    shape = tuple(index.extent(sizes) for index in node.operation.operands[-1])
    declared = [p.dtype for p in call.operation.operator.parameters]
    types = dict(zip(declared, (tensor.dtype for tensor in call.tensors), strict=True))
    dtype = types[node.operation.operator.output.dtype]
    return GoalTensor(node.output, "local", dtype, shape, row_major(len(shape)))


def _computation(part: Part, operands: Sequence[GoalTensor]) -> Computation:
    told = sizes_from(part.operation, [tensor.shape for tensor in operands])
    sizes = with_hidden(part.operation, told)
    return Computation(
        part.operation, tuple(operands), tuple(sizes[d] for d in part.operation.dims)
    )
