"""Elements of tensors over an iteration space: ``A[m, k]`` or ``X[h + r]`` as numpy views.

A view has one axis for each iteration dimension that the element uses, in the operation's order.
An index such as ``h + r`` becomes two axes that step along the same axis of the array, so that
windows cost no copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.ir.operators import OperandIndex, Operation
from morello.language import ast


class ElementView(Struct, frozen=True):
    """How an element of the operand at ``position`` is read.

    ``dims`` are those that it uses; ``order`` is that of their axes in the operand, if each of
    those is a dimension alone.
    """

    position: int
    indices: tuple[OperandIndex, ...]
    dims: tuple[str, ...]
    order: tuple[int, ...] | None

    def of(self, array: Array, size: Mapping[str, int]) -> Array:
        """View of shape (size of each of ``dims``); it shares the array's memory.

        Raises:
            MorelloError: An index would leave the array.
        """
        shape = [size[d] for d in self.dims]
        if self.order is not None and [array.shape[axis] for axis in self.order] == shape:
            return array.transpose(self.order)
        for axis, index in enumerate(self.indices):
            _check_inside(index, size, axis, array.shape)
        strides = dict.fromkeys(self.dims, 0)
        for index, stride in zip(self.indices, array.strides, strict=True):
            for dim, factor in index.terms:
                strides[dim] += factor * stride
        steps = [strides[d] for d in self.dims]
        reached = part(array, (slice(index.low, None) for index in self.indices))
        return np.lib.stride_tricks.as_strided(reached, shape, steps)


def part(array: Array, slices: Iterable[slice]) -> Array:
    """A rectangular part of an array, as a view even at rank 0."""
    index: tuple[slice | EllipsisType, ...] = (*slices, ...)
    view: Array = array[index]
    return view


def _check_inside(
    index: OperandIndex, size: Mapping[str, int], axis: int, shape: Sequence[int]
) -> None:
    ends = [factor * (size[dim] - 1) for dim, factor in index.terms]
    lowest = index.low + sum(min(e, 0) for e in ends)
    highest = index.low + sum(max(e, 0) for e in ends)
    if lowest < 0 or highest >= shape[axis]:
        text = " + ".join(d if f == 1 else f"{f} * {d}" for d, f in index.terms)
        raise MorelloError(
            f"index '{text}' runs from {lowest} to {highest}, outside of axis {axis} "
            f"of an array of shape {tuple(shape)}",
            help="check the operator's declaration: every element must use indices in bounds",
        )


def element_view(operation: Operation, element: ast.Element) -> ElementView:
    """The view that an element of the operation's meaning stands for."""
    position = operation.names.index(element.tensor)
    indices = operation.expand(element.indices)
    used = {dim for index in indices for dim, _ in index.terms}
    dims = tuple(d for d in operation.dims if d in used)
    alone = [index.alone for index in indices]
    once = None not in alone and len(alone) == len(dims)
    return ElementView(position, indices, dims, tuple(map(alone.index, dims)) if once else None)


def extents(operation: Operation, sizes: Sequence[int], position: int) -> tuple[int, ...]:
    """Shape of the operand at this position where the dimensions have these sizes."""
    size = dict(zip(operation.dims, sizes, strict=True))
    return tuple(index.extent(size) for index in operation.operands[position])
