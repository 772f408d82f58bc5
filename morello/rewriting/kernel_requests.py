"""What kernels request of an operand: the layouts and vectors that are worth a try.

A kernel for an operator that rules make of the matched one, such as a product of a convolution,
requests something of views of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from morello.ir.dtypes import DType
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.graph import Graph, Node
from morello.ir.layout import Axis, row_major
from morello.ir.spec import Family, Operand
from morello.ir.target import Target
from morello.rewriting.functions import takes_directly
from morello.rewriting.layout_requests import LayoutRequest
from morello.rewriting.patterns import wanted_patterns
from morello.rewriting.references import SpecRef, TensorRef, spec_ref
from morello.rewriting.steps import Leaf

Applied = Callable[[SpecRef], Iterator[Leaf]]
"""What rules apply to views of an operation's operands, whatever the sizes are."""


def requests(
    target: Target, applied: Applied, f: SpecRef, tensor: TensorRef, dtype: DType
) -> Iterator[LayoutRequest]:
    """What kernels request of one tensor of an operation, in this element type.

    These are kernels that may still match (`wanted_patterns`), and those for operators that rules
    make of this one, which request something of views. In a graph, each operation that has the
    tensor as an operand may come to be computed by a kernel.
    """
    axes = tuple(map(Axis, range(len(tensor.indices))))
    for use, position in _uses(target, f, tensor):
        own = use is f
        yield from _requests(target, applied, use, position, dtype, axes, own=own)


def _uses(target: Target, f: SpecRef, tensor: TensorRef) -> Iterator[tuple[SpecRef, int]]:
    """Operations that a tensor is an operand of, at which position: this one, a graph's nodes."""
    own = next((p for p, operand in enumerate(f.tensors) if operand.key == tensor.key), None)
    if own is not None:
        yield f, own
    composition = composition_of(f.family.operation.operator)
    if composition is not None and composition.intermediates:
        for node, position in composition.graph.occurrences(tensor.name):
            yield _alone(target, composition.graph, node), position


def _alone(target: Target, graph: Graph, node: Node) -> SpecRef:
    """An operation of a graph by itself, whose operands may still come to be anywhere."""
    operands = (
        Operand(graph.dtype(tensor), target.farthest, row_major(len(indices)).order)
        for tensor, indices in zip(node.tensors, node.operation.operands, strict=True)
    )
    return spec_ref(Family(node.operation, tuple(operands)))


def _requests(
    target: Target,
    applied: Applied,
    f: SpecRef,
    position: int,
    dtype: DType,
    axes: tuple[Axis, ...],
    *,
    own: bool,
) -> Iterator[LayoutRequest]:
    name, key = f.family.operation.names[position], f.tensors[position].key
    convertible = not takes_directly(target, f)
    read = f.family.operation.reads(position)
    for kernel, pattern in wanted_patterns(target, f, position, dtype, convertible=convertible):
        if not pattern.already:
            yield LayoutRequest(kernel, name, pattern, axes, read, own)
    # This ends: an operator on views is another one, of a lower rank (`progress`).
    for leaf in applied(f):
        below = spec_ref(leaf.family)
        for place, tensor in enumerate(leaf.tensors):
            if tensor.key == key:
                along = axes if tensor.view is None else _along(axes, tensor.view.view_map.axes)
                yield from _requests(target, applied, below, place, dtype, along, own=False)


def _along(axes: Sequence[Axis], inner: Sequence[Axis]) -> tuple[Axis, ...]:
    """Axes of a view of a view."""
    return tuple(axis.of(axes[axis.dimension]) for axis in inner)
