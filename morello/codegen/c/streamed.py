"""Which writer a kernel for rows has, and rows that are stored past the caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from morello.codegen.c.operands import COperand
from morello.codegen.c.semantics import PrimitiveTable
from morello.codegen.c.vector_rows import HEAD, UNROLLED, RowWriter
from morello.errors import MorelloError
from morello.ir.primitives import FENCE, PREFETCH, STREAM
from morello.ir.programs.tree import KernelCall, Node, walk
from morello.ir.target import Target
from morello.ir.vector_axis import rows_of


def row_writer(target: Target, call: KernelCall, operands: Sequence[COperand]) -> RowWriter:
    """What writes the statements of a kernel call for rows.

    Raises:
        MorelloError: The operands are no rows, or the target lacks a primitive.
    """
    orders = tuple(operand.view.order for operand in operands)
    rows = rows_of(call.kernel.match.kind, call.operation, orders)
    vector = call.kernel.match.operands[0].width(operands[-1].view.tensor.dtype.bytes)
    if rows is None or vector is None:
        raise MorelloError(
            f"'{call.operation}' cannot be written in vectors along a dimension",
            help="the program tree is malformed; report the kernel that was called",
        )
    writer = StreamedWriter if call.kernel.streamed else RowWriter
    return writer(target, call, operands, rows, vector)


def fence(target: Target, node: Node) -> list[str]:
    """A statement that waits until what a node stores past the caches can be seen, if it does."""
    for call in walk(node):
        if isinstance(call, KernelCall) and call.kernel.streamed:
            dtype = call.operands[-1].tensor.dtype
            vector = call.kernel.match.operands[0].width(dtype.bytes) or 0
            return [f"{PrimitiveTable(target, dtype, vector // dtype.bytes).text(FENCE)};"]
    return []


class StreamedWriter(RowWriter):
    """Writes one kernel call along a row whose output is stored past the caches.

    Such stores are of whole vectors that are aligned in memory. Where that begins is known when the
    row is there; what comes before, and after the last whole vector, is stored as usual. Other
    threads see them after a `fence`.
    """

    def _whole_row(self) -> None:
        if self._size < self._lanes:
            super()._whole_row()
        else:
            self._stream(self.vector)

    def with_others(self, others: Sequence[RowWriter]) -> list[str]:
        """All vectors of the row, each followed by the same vector of others."""

        def every(number: int) -> None:
            self.vector(number)
            for other in others:
                other.at_place_of(self, number)

        self._stream(every)
        lines, self._lines = self._lines, []
        return lines

    def _stream(self, body: Callable[[int], None]) -> None:
        self._store = STREAM
        self._aligned(self._operands[self._output], UNROLLED, body)

    def _pointwise(self, number: int) -> None:
        if self._place.lanes == HEAD:
            self._fetch_end()
        super()._pointwise(number)

    def _fetch_end(self) -> None:
        """Fetch the line in which the row ends: stores in it would wait, and all after them."""
        if PREFETCH in self._of(self._dtype.name):
            operand, last = self._operands[self._output], self._length - 1
            address = f"(uintptr_t)({operand.pointer(*self._index(operand, last))})"
            self._lines.append(f"{self._apply(PREFETCH, (address,))};")
