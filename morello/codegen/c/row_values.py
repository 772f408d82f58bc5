"""What operands of a kernel for rows are at one place of the row: vectors, as C expressions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from morello.codegen.c.operands import COperand, view_fastest
from morello.codegen.c.semantics import MeaningWriter
from morello.ir.primitives import EVERY_SECOND, IN_ORDER, LOAD, LOAD_FIRST
from morello.ir.programs.tree import KernelCall
from morello.ir.target import Target
from morello.ir.vector_axis import Rows
from morello.language import ast


class Place(Struct, frozen=True):
    """A vector of the row: ``start`` is its first element, beyond ``variable`` if that is given.

    ``lanes`` of it are in the row, a number or a C expression.
    """

    start: int
    lanes: int | str
    variable: str = ""


class RowValues(MeaningWriter):
    """Writes the values of one kernel call at a place of its row, which whoever writes it moves."""

    def __init__(
        self,
        target: Target,
        call: KernelCall,
        operands: Sequence[COperand],
        rows: Rows,
        lanes: int,
    ) -> None:
        super().__init__(target, call, operands, lanes)
        self._rows = rows
        self._steps_along = dict(zip(call.operation.names, rows.along, strict=True))
        self._broadcast: dict[str, str] = {}
        self._loaded: dict[str, str] = {}
        self._place = Place(0, lanes)
        self._base = ""

    def _element(self, tensor: str) -> str:
        """The vector of an operand at this place of the row."""
        if not self._is_along(tensor):
            return self._broadcast[tensor]
        if tensor in self._loaded:
            return self._loaded[tensor]
        operand = self._operands[tensor]
        if operand.lanes > 1:
            return self._register(operand)
        dtype = operand.view.tensor.dtype.name
        if self._steps_along[tensor] == 1:
            value = self._load(self._pointer(operand), self._place.lanes, dtype)
        else:
            value = self._every_second(self._pointer(operand, 2), dtype)
        if self._written_times(tensor) > 1:
            value = self._loaded[tensor] = self._local(value, dtype=dtype)
        return value

    def _load(self, pointer: str, lanes: int | str, dtype: str) -> str:
        if lanes == self._lanes:
            return self._apply(LOAD, (pointer,), dtype)
        return self._apply(LOAD_FIRST, (pointer, str(lanes)), dtype)

    def _every_second(self, pointer: str, dtype: str) -> str:
        """Every second element from a pointer on, as many as this place has; none is behind."""
        lanes, wanted = self._lanes, self._place.lanes
        if lanes == 1:
            return self._load(pointer, wanted, dtype)
        assert isinstance(wanted, int)
        extent = 2 * wanted - 1
        first = self._load(pointer, min(extent, lanes), dtype)
        second = first = self._local(first, dtype=dtype)
        if extent > lanes:
            second = self._load(f"{pointer} + {lanes - 1}", extent - lanes + 1, dtype)
        return self._apply(IN_ORDER, (self._apply(EVERY_SECOND, (first, second), dtype),), dtype)

    def _is_along(self, tensor: str) -> bool:
        return self._steps_along[tensor] > 0

    def _written_times(self, tensor: str) -> int:
        return sum(
            uses
            for step, uses in zip(self._steps, self._uses, strict=True)
            if isinstance(step.leaf, ast.Element) and step.leaf.tensor == tensor
        )

    def _register(self, operand: COperand) -> str:
        return operand[self._index(operand, self._place.start)]

    def _pointer(self, operand: COperand, step: int = 1) -> str:
        """C pointer to the first element of an operand at this place, its elements so far apart."""
        place, start = self._place, step * self._place.start
        moving = [part for part in (self._base, place.variable) if part]
        if not moving:
            return operand.pointer(*self._index(operand, start))
        moving = [part if step == 1 else f"{step} * {part}" for part in moving]
        moving += [str(start)] if start else []
        return " + ".join((operand.pointer(*self._index(operand, 0)), *moving))

    def _index(self, operand: COperand, position: int) -> tuple[int, ...]:
        """Where an element of the row is: in the row itself, or in one of those that are joined."""
        view, index = operand.view, [0] * len(operand.view.sizes)
        if (fastest := view_fastest(view)) is None:
            return tuple(index)
        for slower in view.order[::-1][1 : 1 + len(self._rows.joined)]:
            position, index[fastest] = divmod(position, view.sizes[fastest])
            fastest = slower
        index[fastest] = position
        return tuple(index)
