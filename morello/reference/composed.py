"""The meaning of any operation: of one statement, or of a graph, node by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from morello.ir.dtypes import DType
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.graph import Node
from morello.ir.operators import Operation
from morello.ir.sizes import with_hidden
from morello.language.evaluate import Value
from morello.reference.arithmetic import Arithmetic, Numbers
from morello.reference.graph import Nodes
from morello.reference.meaning import Meaning, Tensor


class Executable(Protocol):
    """An operation made ready to be executed many times."""

    def execute(
        self, sizes: Sequence[int], inputs: Sequence[Tensor], old_output: Tensor | None = None
    ) -> Value:
        """Its result, see `morello.reference.meaning.Meaning.execute`."""


def executable(
    operation: Operation, dtype: DType, arithmetic: Callable[[DType], Arithmetic] = Numbers
) -> Executable:
    """The meaning of an operation whose output has this element type, on numbers unless told."""
    composition = composition_of(operation.operator)
    if operation.operator.composite or (composition is not None and composition.mixed):
        return _Composed(operation, dtype, arithmetic)
    return Meaning(operation, dtype, arithmetic(dtype))


class _Composed:
    """A graph, of one element type or of several."""

    def __init__(
        self, operation: Operation, dtype: DType, arithmetic: Callable[[DType], Arithmetic]
    ) -> None:
        composition = composition_of(operation.operator)
        assert composition is not None
        graph = composition.graph
        *before, last = graph.nodes
        form = last.operation
        final = Operation(form.operator, form.group_rank, operation.accumulating, form.scalars)
        nodes = (*before, Node(final, last.tensors))
        self._operation, self._composition = operation, composition
        self._nodes = Nodes(nodes, {**dict(graph.dtypes), graph.output: dtype}, arithmetic)

    def execute(
        self, sizes: Sequence[int], inputs: Sequence[Tensor], old_output: Tensor | None = None
    ) -> Value:
        """See `Executable`."""
        graph = self._composition.graph
        own = dict(zip(self._operation.dims, sizes, strict=True))
        size = with_hidden(self._operation, own)
        tensors = dict(zip(graph.inputs, inputs, strict=True))
        if old_output is not None:
            tensors[graph.output] = old_output
        accesses = {**self._composition.locals, graph.output: self._operation.operands[-1]}
        shapes = {t: [i.extent(size) for i in access] for t, access in accesses.items()}
        return self._nodes.run(tensors, [graph.output], shapes)[graph.output]
