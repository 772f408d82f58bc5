"""Executes a program, whole or partial, with numpy: every leaf means its operation.

Layouts, levels and registers do not change what a program means, so that every tensor is a numpy
array of its logical shape. What would hide a mistake is made to show: a new buffer is full of NaN
or a poison integer, and the iterations of a parallel loop run in a shuffled order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import EllipsisType

import numpy as np
from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.conversion import convert_number
from morello.ir.dtypes import DType
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.ir.programs import tree
from morello.reference.composed import Executable, executable
from morello.reference.views import part

POISON = -0x5EADBEEF
"""What a new buffer of integers holds, modulo 2^bits."""


Meanings = dict[tuple[Operation, DType], Executable]
"""Operations of one set of definitions, ready to be executed."""


def run(
    node: tree.Node,
    arrays: Mapping[str, Array],
    *,
    seed: int = 0,
    meanings: Meanings | None = None,
) -> None:
    """Execute a node on arrays by tensor name; outputs are written in place.

    Args:
        node: A node of a program or of a rule's result.
        arrays: For every tensor that the node does not allocate itself, an array of its shape and
            element type, of any strides.
        seed: Seed of the order in which iterations of parallel loops run.
        meanings: Those that earlier runs have left; to these are added what this one executes.

    Raises:
        MorelloError: A tensor is missing or of another shape or dtype, or a view leaves its tensor.
    """
    _Machine(arrays, seed, {} if meanings is None else meanings).run(node)


def run_program(
    program: tree.Program, inputs: Sequence[Array], *, seed: int = 0
) -> tuple[Array, ...]:
    """Outputs of a program, in order, for its inputs and weights in order.

    Raises:
        MorelloError: The number of inputs is wrong, or see `run`.
    """
    arguments = program.arguments
    read = [t for t in arguments if t.role != "output"]
    if len(inputs) != len(read):
        raise MorelloError(
            f"'{program.name}' was given {len(inputs)} arrays; expected {len(read)}: "
            + ", ".join(t.name for t in read)
        )
    arrays = {t.name: poisoned(t.shape, t.dtype) for t in arguments if t.role == "output"}
    outputs = tuple(arrays.values())
    arrays.update((t.name, array) for t, array in zip(read, inputs, strict=True))
    arrays.update((t.name, positions(t.shape, t.dtype)) for t in program.positions)
    for packing in program.packings:
        arrays[packing.packed.name] = poisoned(packing.packed.shape, packing.packed.dtype)
        run(packing.body, arrays, seed=seed)
    run(program.body, arrays, seed=seed)
    return outputs


def poisoned(shape: Sequence[int], dtype: DType) -> Array:
    """A new array in which a read before a write shows: NaN, or `POISON`."""
    value = np.nan if dtype.floating else convert_number(POISON, dtype)
    return np.full(shape, value, dtype.numpy)


def positions(shape: Sequence[int], dtype: DType) -> Array:
    """A row of the whole numbers from 0 on."""
    return np.arange(prod(shape)).astype(dtype.numpy)


def looked_up(table: Array, indices: Array, axis: int) -> Array:
    """Parts of a table along an axis; an index outside is the nearest one inside."""
    return np.take(table, indices.astype(np.int64), axis, mode="clip")


class _Machine:
    """The state of a run: arrays in scope, values of loop variables."""

    def __init__(self, arrays: Mapping[str, Array], seed: int, meanings: Meanings) -> None:
        self._arrays = dict(arrays)
        self._variables: dict[str, int] = {}
        self._random = np.random.default_rng(seed)
        self._meanings = meanings
        self._sights: dict[int, _ViewMap] = {}

    def run(self, node: tree.Node) -> None:
        match node:
            case tree.Block(steps=steps):
                for step in steps:
                    self.run(step)
            case tree.Loop(variable=variable, count=count, step=step, body=body):
                for iteration in range(count):
                    self._iterate(variable, iteration * step, body)
            case tree.ParallelLoop():
                self._parallel(node)
            case tree.Allocate(tensor=tensor, body=body):
                self._allocate(tensor, body)
            case tree.Prepack(body=body) | tree.Ordered(body=body):
                self.run(body)
            case tree.Resident(view=view, body=body):
                self._part(view)  # must lie inside its tensor, though nothing is read
                self.run(body)
            case tree.KernelCall(operation=operation, sizes=sizes, operands=operands, kept=kept):
                if kept is not None and not any(self._variables[name] for name in kept.first):
                    self._part(operands[kept.position])[...] = self._part(kept.source)
                self._apply(operation, sizes, operands)
            case tree.Lookup(output=output, table=table, indices=indices, axis=axis):
                rows = self._part(indices)
                self._part(output)[...] = looked_up(self._part(table), rows, axis)
            case tree.Apply(operation=operation, sizes=sizes, operands=operands):
                self._apply(operation, sizes, operands)

    def _iterate(self, variable: str, value: int, body: tree.Node) -> None:
        self._variables[variable] = value
        self.run(body)
        del self._variables[variable]

    def _parallel(self, loop: tree.ParallelLoop) -> None:
        tail = [] if loop.tail is None else [loop.tail]
        for iteration in self._random.permutation(loop.count + len(tail)).tolist():
            if iteration < loop.count:
                self._iterate(loop.variable, iteration * loop.step, loop.body)
            else:
                self.run(tail[0])

    def _allocate(self, tensor: tree.Tensor, body: tree.Node) -> None:
        outer = self._arrays
        self._arrays = {**outer, tensor.name: poisoned(tensor.shape, tensor.dtype)}
        self.run(body)
        self._arrays = outer

    def _apply(
        self, operation: Operation, sizes: Sequence[int], operands: Sequence[tree.View]
    ) -> None:
        *inputs, output = [self._part(view) for view in operands]
        dtype = operands[-1].tensor.dtype
        meaning = self._meanings.get((operation, dtype))
        if meaning is None:
            meaning = self._meanings[operation, dtype] = executable(operation, dtype)
        result = meaning.execute(sizes, inputs, output if operation.accumulating else None)
        if result.shape != output.shape:
            raise MorelloError(
                f"'{operation}' of sizes {tuple(sizes)} writes {result.shape} elements "
                f"to a view of {output.shape} of '{operands[-1].tensor.name}'"
            )
        output[...] = result
        if self._sight(operands[-1]).gathered:
            self._arrays[operands[-1].tensor.name][self._places(operands[-1])] = result

    def _part(self, view: tree.View) -> Array:
        """The part of an array that a view stands for; a copy where no slices say what that is."""
        tensor = view.tensor
        array = self._arrays.get(tensor.name)
        if array is None:
            known = ", ".join(sorted(self._arrays))
            raise MorelloError(f"there is no array for tensor '{tensor.name}'; known: {known}")
        if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
            raise MorelloError(
                f"the array for tensor '{tensor.name}' is {array.dtype} of shape {array.shape}; "
                f"expected {tensor.dtype.numpy} of shape {tensor.shape}"
            )
        view_map = self._sight(view)
        if view_map.gathered:
            gathered: Array = array[self._places(view)]
            return gathered
        starts = [self._offset(offset) for offset in view.offsets]
        slices = []
        for start, reach, step, extent in zip(
            starts, view_map.reach, view_map.steps, tensor.shape, strict=True
        ):
            if start < 0 or start + reach > extent:
                raise _out_of_bounds(view, starts)
            slices.append(slice(start, start + reach, step))
        seen: Array = part(array, slices).transpose(view_map.order)[view_map.first]
        return seen

    def _sight(self, view: tree.View) -> _ViewMap:
        """What is the same of a view in all iterations; views are those of the tree."""
        found = self._sights.get(id(view))
        if found is None:
            found = self._sights[id(view)] = _sight_of(view)
        return found

    def _places(self, view: tree.View) -> tuple[Array, ...]:
        """Where each element of a view is, along every dimension of its tensor.

        What runs on goes from the end of a row to the row that follows it in memory.
        """
        tensor, order = view.tensor, view.tensor.layout.order
        starts = [self._offset(offset) for offset in view.offsets]
        places = [np.full(view.sizes, start) for start in starts]
        steps = np.indices(view.sizes)
        for position, axis in enumerate(view.every_axis):
            places[axis.dimension] += axis.step * steps[position]
        if view.runs_on:
            shape = [tensor.shape[d] for d in order]
            strides = [prod(shape[n + 1 :]) for n in range(len(shape))]
            linear = sum(places[d] * stride for d, stride in zip(order, strides, strict=True))
            if np.min(linear) < 0 or np.max(linear) >= prod(shape):
                raise _out_of_bounds(view, starts)
            within = dict(zip(order, np.unravel_index(linear, shape), strict=True))
            places = [within[d] for d in range(len(shape))]
        for place, extent in zip(places, tensor.shape, strict=True):
            if np.min(place) < 0 or np.max(place) >= extent:
                raise _out_of_bounds(view, starts)
        return tuple(places)

    def _offset(self, offset: tree.Affine) -> int:
        try:
            return offset.constant + sum(c * self._variables[v] for v, c in offset.terms)
        except KeyError as error:
            raise MorelloError(f"loop variable {error} is used outside of its loop") from None


class _ViewMap(Struct, frozen=True):
    """Of a view what does not depend on loops.

    ``gathered``: no slices say what it is. Otherwise ``reach`` and ``steps`` are those of the
    slices, ``order`` the axes that its dimensions run along and then the others, of which
    ``first`` takes the first elements.
    """

    view: tree.View
    gathered: bool
    reach: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    first: tuple[int | EllipsisType, ...] = ()


def _sight_of(view: tree.View) -> _ViewMap:
    if _is_gathered(view):
        return _ViewMap(view, gathered=True)
    rank = len(view.tensor.shape)
    reach, steps = [1] * rank, [1] * rank
    for axis, size in zip(view.every_axis, view.sizes, strict=True):
        reach[axis.dimension] = axis.step * (size - 1) + 1
        steps[axis.dimension] = axis.step
    along = [axis.dimension for axis in view.every_axis]
    others = [d for d in range(rank) if d not in along]
    first: tuple[int | EllipsisType, ...] = (..., *(0 for _ in others))
    return _ViewMap(view, False, tuple(reach), tuple(steps), (*along, *others), first)


def _is_gathered(view: tree.View) -> bool:
    """Whether it is no part with steps: two of its dimensions run along one, or one along two.

    Or none, where elements are repeated.
    """
    axes = view.every_axis
    several = len({axis.dimension for axis in axes}) < len(axes)
    return several or view.runs_on or any(not axis.step for axis in axes)


def _out_of_bounds(view: tree.View, starts: Sequence[int]) -> MorelloError:
    return MorelloError(
        f"out of bounds: a view of {tuple(view.sizes)} elements at {tuple(starts)} "
        f"leaves tensor '{view.tensor.name}' of shape {view.tensor.shape}"
    )
