"""A goal as single statements, each on tensors by name, with all shapes known.

What `morello.reference.composed` executes as a graph is several steps here; what it executes as one
statement is one. So a step can be executed for some elements of its output alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from morello.ir.dtypes import DType
from morello.ir.goal import Computation, Goal, GoalTensor
from morello.ir.graphs.composition import composition_of
from morello.ir.layout import Layout
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.ir.sizes import sizes_from, with_hidden
from morello.language import ast
from morello.language.traverse import subexpressions
from morello.reference.expressions import factors
from morello.reference.interpreter import looked_up, positions

Shape = tuple[int, ...]

PRODUCTS_AT_ONCE = 128
"""So many products are summed, by numpy's contractions, in the time of one other operation."""


@dataclass(frozen=True)
class Step:
    """A statement.

    Attributes:
        operation: What is computed.
        dtype: Element type of the output.
        tensors: Names of the operands, inputs first, the output last.
        size: Size of each dimension of the operation.
    """

    operation: Operation
    dtype: DType
    tensors: tuple[str, ...]
    size: Mapping[str, int]

    @property
    def output(self) -> str:
        """The tensor that it computes."""
        return self.tensors[-1]

    @cached_property
    def operations(self) -> float:
        """How many operations an iteration takes, roughly: a step in memory is one."""
        value = self.operation.operator.statement.value
        multiplied = sum(isinstance(factor, ast.Element) for factor in factors(value))
        if self.operation.operator.reduction == "+" and multiplied > 1:
            return 1 / PRODUCTS_AT_ONCE
        steps = (ast.Unary, ast.Binary, ast.Call, ast.Conditional)
        return 1.0 + sum(isinstance(e, steps) for e in subexpressions(value))

    def work(self, size: Mapping[str, int]) -> float:
        """Operations where the dimensions have these sizes."""
        return self.operations * prod(size[d] for d in self.operation.dims)


@dataclass(frozen=True)
class Steps:
    """All steps of a goal, in order.

    Attributes:
        steps: The steps.
        shapes: Those of all tensors, by name.
        parts: The tensors that are parts of others, by name.
        views: What is read of others, by name.
        goal: What is computed; positions and lookups are in it.
    """

    steps: tuple[Step, ...]
    shapes: Mapping[str, Shape]
    parts: Mapping[str, GoalTensor]
    views: Mapping[str, GoalTensor]
    goal: Goal

    def parts_of(self, name: str) -> list[GoalTensor]:
        """What computes parts of a tensor; none where one step computes all of it."""
        return [part for part in self.parts.values() if part.whole and part.whole.name == name]

    @staticmethod
    def of(goal: Goal) -> Steps:
        """What computes the outputs of a goal."""
        shapes = {tensor.name: tensor.shape for tensor in goal.tensors}
        found: list[Step] = []
        results = (computation.output for computation in goal.computations)
        parts = {tensor.name: tensor for tensor in results if tensor.whole is not None}
        read = (tensor for computation in goal.computations for tensor in computation.inputs)
        views = {tensor.name: tensor for tensor in read if tensor.whole is not None}
        shapes |= {tensor.name: tensor.shape for tensor in views.values()}
        for computation in goal.computations:
            shapes.setdefault(computation.output.name, computation.output.shape)
            found += _steps(computation, shapes)
        return Steps(tuple(found), shapes, parts, views, goal)

    def given(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs, and what is there before anything is computed."""
        return {**inputs, **positions_in(self.goal), **lookups_in(self.goal, inputs)}

    @property
    def work(self) -> float:
        """Operations of all steps."""
        return sum(step.work(step.size) for step in self.steps)


def positions_in(goal: Goal) -> dict[str, Array]:
    """The rows of whole numbers that a goal reads, and nobody passes, by name."""
    return {t.name: positions(t.shape, t.dtype) for t in goal.tensors if t.role == "positions"}


def lookups_in(goal: Goal, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """What a goal looks up in inputs, by name."""
    return {
        lookup.output.name: looked_up(
            inputs[lookup.table.name], inputs[lookup.indices.name], lookup.axis
        )
        for lookup in goal.lookups
    }


def place_of(tensor: GoalTensor, chosen: Sequence[Array] | None = None) -> tuple[Array, ...]:
    """Where elements of a part or a view are in its whole.

    Args:
        tensor: The part or view.
        chosen: The indices of elements along each of its dimensions; by default all.

    Returns:
        Indices along each dimension of the whole, which together have the shape of what is chosen.
    """
    assert tensor.whole is not None
    rank = len(tensor.shape)
    own = chosen or tuple(map(np.arange, tensor.shape))
    places: list[Array] = [np.full((1,) * rank, low) for low in tensor.lows]
    for position, (axis, indices) in enumerate(zip(tensor.axes, own, strict=True)):
        along = indices.reshape(tuple(-1 if p == position else 1 for p in range(rank)))
        places[axis.dimension] = places[axis.dimension] + axis.step * along
    if not any(axis.runs_on for axis in tensor.axes):
        return tuple(places)
    # What runs on goes from the end of a row to the row that follows it in memory.
    order, shape = tensor.whole.layout.order, tensor.whole.shape
    strides = Layout(order).strides(shape)
    linear = sum(place * stride for place, stride in zip(places, strides, strict=True))
    within = dict(zip(order, np.unravel_index(linear, [shape[d] for d in order]), strict=True))
    return tuple(within[d] for d in range(len(shape)))


def _steps(computation: Computation, shapes: dict[str, Shape]) -> Iterator[Step]:
    """The steps of a computation; shapes of what is computed on the way are added."""
    operation, output = computation.operation, computation.output
    composition = composition_of(operation.operator)
    sizes = dict(zip(operation.dims, computation.sizes, strict=True))
    names = tuple(tensor.name for tensor in computation.operands)
    if composition is None or (composition.complete and not composition.mixed):
        yield Step(operation, output.dtype, names, sizes)
        return
    graph, size = composition.graph, with_hidden(operation, sizes)
    own = dict(zip((*graph.inputs, graph.output), names, strict=True))
    for tensor in graph.locals:
        own[tensor] = f"{output.name}.{tensor}"
        shapes[own[tensor]] = tuple(i.extent(size) for i in composition.locals[tensor])
    for node in graph.nodes:
        tensors = tuple(own[tensor] for tensor in node.tensors)
        found = sizes_from(node.operation, [shapes[tensor] for tensor in tensors])
        dtype = output.dtype if node.output == graph.output else graph.dtype(node.output)
        yield Step(node.operation, dtype, tensors, found)
