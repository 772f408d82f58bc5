"""The meaning of an operation that stands for a graph: its nodes, executed one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from morello.reference.meaning import Meaning
from morello.spec.conversion import Array
from morello.spec.dtypes import DType
from morello.spec.graph import sizes_from
from morello.spec.operators import Operation


class Executable(Protocol):
    """An operation made ready to be executed many times."""

    def execute(
        self, sizes: Sequence[int], inputs: Sequence[Array], old_output: Array | None = None
    ) -> Array:
        """Its result, see `morello.reference.meaning.execute`."""


def executable(operation: Operation, dtype: DType) -> Executable:
    """The meaning of an operation whose output has this element type."""
    if operation.operator.composite:
        return _Composed(operation, dtype)
    return Meaning(operation, dtype)


class _Composed:
    """Every tensor on the way is rounded to its element type."""

    def __init__(self, operation: Operation, dtype: DType) -> None:
        composition = operation.operator.composition
        assert composition is not None
        self._operation = operation
        self._graph = composition.graph
        *before, last = self._graph.nodes
        form = last.operation
        final = Operation(form.operator, form.group_rank, operation.accumulating, form.scalars)
        self._steps = [
            (node, Meaning(node.operation, self._graph.dtype(node.output))) for node in before
        ]
        self._steps.append((last, Meaning(final, dtype)))

    def execute(
        self, sizes: Sequence[int], inputs: Sequence[Array], old_output: Array | None = None
    ) -> Array:
        """The result; ``sizes`` follow from the inputs."""
        del sizes
        arrays = dict(zip(self._graph.inputs, inputs, strict=True))
        for node, meaning in self._steps:
            operands = [arrays[name] for name in node.inputs]
            found = sizes_from(node.operation, [array.shape for array in operands])
            old = old_output if node.output == self._graph.output else None
            own = [found[d] for d in node.operation.dims]
            arrays[node.output] = meaning.execute(own, operands, old)
        return arrays[self._graph.output]
