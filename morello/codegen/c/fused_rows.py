"""Stores past the caches beside arithmetic: calls of kernels for rows that share a loop.

Where a row is stored past the caches, the processor waits for memory, and where the next one is
computed, memory waits for the processor. Both take place at once if vectors of one and of the other
follow each other. So what is stored waits for the last calls that stand behind it in a block, and
goes along with them vector by vector, if nothing in between could tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from morello.ir.programs.tree import Block, KernelCall, Node, Resident, View, walk
from morello.ir.vector_axis import ROW_KINDS, Rows, rows_of

LEAST_VECTORS = 16
"""Of a row: shorter ones are written out, or are hardly more than their ends."""


class FusedRows(Struct, frozen=True):
    """Steps in order. The calls at the positions ``rows`` share a loop, where the last of them is.

    The first of them stores past the caches.
    """

    steps: tuple[Node, ...]
    rows: tuple[int, ...]


class _Row(Struct, frozen=True):
    """A call of a kernel for rows of so many elements, in vectors of so many bytes.

    ``along`` are operands that lie along them, ``single`` the others: inputs, and the output at the
    end of one of them.
    """

    call: KernelCall
    size: int
    vector: int
    along: tuple[View, ...]
    single: tuple[View, ...]

    @property
    def output(self) -> View:
        return self.call.operands[-1]

    @property
    def writes_along(self) -> bool:
        return any(view is self.output for view in self.along)


def beside(block: Block) -> FusedRows | None:
    """Calls of a block that can share a loop with one that stores past the caches."""
    steps = tuple(_steps(block))
    for first, step in enumerate(steps):
        streams = isinstance(step, KernelCall) and step.kernel.streamed
        streamed = _row(step) if streams else None
        group = [] if streamed is None else _together(streamed, first, steps)
        if group:
            return FusedRows(steps, (first, *group))
    return None


def _steps(node: Node) -> Iterator[Node]:
    """What a block does, without notes of where tensors are."""
    match node:
        case Block(steps=steps):
            for step in steps:
                yield from _steps(step)
        case Resident(body=body):
            yield from _steps(body)
        case _:
            yield node


def _row(step: Node) -> _Row | None:
    """A step as a call for rows that are long, and in memory as the output's type is."""
    if not isinstance(step, KernelCall) or step.kernel.match.kind not in ROW_KINDS or step.kept:
        return None
    rows = _rows(step)
    if rows is None or rows.strided:
        return None
    size = rows.length(dict(zip(step.operation.dims, step.sizes, strict=True)))
    views = list(zip(step.operands, rows.along, strict=True))
    along = tuple(view for view, is_along in views if is_along)
    element = step.operands[-1].tensor.dtype.bytes
    vector = step.kernel.match.operands[0].width(element) or 0
    plain = all(v.tensor.dtype.bytes == element and not v.tensor.vector for v in along)
    if not plain or size * element < LEAST_VECTORS * vector:
        return None
    return _Row(step, size, vector, along, tuple(view for view, is_along in views if not is_along))


def _rows(call: KernelCall) -> Rows | None:
    orders = tuple(view.order for view in call.operands)
    return rows_of(call.kernel.match.kind, call.operation, orders)


def _together(streamed: _Row, first: int, steps: Sequence[Node]) -> list[int]:
    """Positions of the calls that what is streamed may wait for, the last that there are."""
    group: dict[int, _Row] = {}
    for position in range(first + 1, len(steps)):
        row = _row(steps[position])
        # The loop stands where the last call does. So what comes before a call that cannot share
        # it, or that needs all of an earlier one, stays where it is.
        if row is None or not _fits(streamed, row):
            group = {}
        elif any(_needs(row, before) for before in group.values()):
            group = {position: row}
        else:
            group[position] = row
    last = max(group, default=first)
    between = [s for p, s in enumerate(steps[:last]) if p > first and p not in group]
    return list(group) if not any(_meets(streamed, step) for step in between) else []


def _fits(streamed: _Row, row: _Row) -> bool:
    """Whether a later call may do each vector right after that is streamed.

    What one of them writes and the other one uses, they use at the same places.
    """
    alike = (streamed.size, streamed.output.tensor.dtype, streamed.vector) == (
        row.size,
        row.output.tensor.dtype,
        row.vector,
    )
    return alike and not row.call.kernel.streamed and _in_step(streamed, row)


def _needs(later: _Row, earlier: _Row) -> bool:
    """Whether a call cannot begin before all of an earlier one is done, or disturbs it."""
    written = earlier.output
    if not earlier.writes_along and any(v.tensor == written.tensor for v in later.call.operands):
        return True
    return not _in_step(earlier, later)


def _in_step(earlier: _Row, later: _Row) -> bool:
    """Whether both use what one of them writes along the row at the same places.

    No tensor lies along the row for the one and is a single element for the other.
    """
    for mine in earlier.along:
        for other in later.along:
            written = mine is earlier.output or other is later.output
            if mine.tensor == other.tensor and written and not _same(mine, other):
                return False
    whole = {v.tensor for v in earlier.along} & {v.tensor for v in later.single}
    return not whole and not ({v.tensor for v in earlier.single} & {v.tensor for v in later.along})


def _same(one: View, other: View) -> bool:
    places = [(v.tensor, v.offsets, v.sizes, v.every_axis) for v in (one, other)]
    return places[0] == places[1]


def _meets(streamed: _Row, step: Node) -> bool:
    """Whether a step in between would find something else, or change what is stored later."""
    along = {view.tensor for view in streamed.along}
    for call in walk(step):
        if isinstance(call, KernelCall):
            written = call.operands[-1].tensor
            used = {view.tensor for view in call.operands}
            if written in along or streamed.output.tensor in used:
                return True
    return False
