"""``emit definition`` for rows: any operator in vectors along one dimension, all others being 1.

An operand along the row is in registers, or in memory, where it is loaded and stored; of any other
one element is in all lanes. A row with an operand in registers is written out vector by vector; one
that is all in memory is a loop at run time. What the last vector has beyond the end of the row is
neither loaded from memory nor stored there. A reduction keeps several partial results, so that they
do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct

from morello.codegen.c.operands import COperand
from morello.codegen.c.row_values import Place, RowValues
from morello.codegen.c.semantics import PrimitiveTable, without_parentheses
from morello.ir.primitives import (
    ADD,
    CONSTANT,
    FIRST_LANE,
    FUNCTION_ULPS,
    PREFETCH,
    SELECT_FIRST,
    STORE,
    STORE_FIRST,
    TYPE,
    exchanges,
)
from morello.ir.programs.tree import KernelCall
from morello.ir.target import Target
from morello.ir.vector_axis import REDUCTION, Rows
from morello.records import replace

UNROLLED = 4
"""Vectors of one iteration of a loop along a row."""

PARTIAL_BYTES = 256
"""Of partial results: four vectors of 64 bytes, one a cycle, or eight of 32, two a cycle.

A sum was measured to be ready after 3.9 cycles.
"""

MOST_RESULTS = 8
"""Of partial results, however narrow vectors are: enough that none waits for the one before."""

BLOCK_STEPS = 128
"""So many steps of a loop are added up by themselves, as are so many blocks of them, and so on.

The error of a sum then grows with the number of levels: a row 128 times as long has one more. A
step begins no more than 8 vectors, so that a block of 128 hides what its end takes.
"""

WRAPPING = (ADD, "mul")
"""Updates whose result has the same bits whether numbers are taken as signed or as unsigned."""

VARIABLE = "j_"
HEAD = "head_"
REST = "rest_"

STREAMS = 4
STREAMED_BYTES = 64 * 1024
"""A row of so many bytes is read in parts side by side: more of it is on its way at once.

Measured: sums from memory 1.3 to 1.45 times as fast in 4 parts, 1.2 times from one part to another
in L3, no slower in L2.
"""

AHEAD_BYTES = 12 * 1024
"""How far ahead of a part of a row what comes next is fetched, at least: whole parts.

Measured on a Zen 5: softmax of rows of 2 MiB in parts of 4 KiB is 1.1 to 1.2 times as fast with 8
to 12 KiB as with 4; more is no faster.
"""

SKEW_BYTES = 512
"""By how much parts are less than whole pages apart: so they are in other sets of the caches."""


class _Range(Struct, frozen=True):
    """What a loop goes over, in elements: C expressions of its ends, and at most how many."""

    begin: str
    end: str
    most: int
    step: int

    def head(self, variable: str) -> str:
        """The head of the loop."""
        return (
            f"for (ptrdiff_t {variable} = {self.begin}; {variable} < {self.end}; "
            f"{variable} += {self.step}) {{"
        )


class RowWriter(RowValues):
    """Writes one kernel call along a row."""

    def __init__(
        self,
        target: Target,
        call: KernelCall,
        operands: Sequence[COperand],
        rows: Rows,
        vector: int,
    ) -> None:
        lanes = vector // operands[-1].view.tensor.dtype.bytes
        super().__init__(target, call, operands, rows, lanes)
        self._partial_results = min(PARTIAL_BYTES // vector, MOST_RESULTS)
        self._one_lane = PrimitiveTable(target, self._dtype, 1)
        self._output = call.operation.names[-1]
        self._in_memory = all(
            operand.lanes == 1 for name, operand in self._operands.items() if self._is_along(name)
        )
        self._length = self._size = rows.length(self._sizes)
        self._store = STORE
        self._begun: list[str] = []

    def lines(self) -> list[str]:
        """All of the row."""
        self.begin()
        self._whole_row()
        self.end()
        return self._lines

    def begin(self) -> None:
        """What stands before the first vector."""
        for name, operand in self._operands.items():
            if not self._is_along(name) and name != self._output:
                dtype = operand.view.tensor.dtype.name
                value = self._apply(CONSTANT, (operand[()],), dtype)
                self._broadcast[name] = self._local(value, dtype=dtype)
        if self._rows.kind == REDUCTION:
            identity, looped = self._identity, self._looped(0, self._partial_results)
            for number in range(self._partial_results if looped else 0):
                self._begin_result(number, identity)

    def vector(self, number: int) -> None:
        """The vector at this place, with its number."""
        (self._add if self._rows.kind == REDUCTION else self._pointwise)(number)

    def end(self) -> None:
        """What stands after the last vector."""
        if self._rows.kind == REDUCTION:
            self._to_output(self._combined())

    def _whole_row(self) -> None:
        if self._rows.kind != REDUCTION:
            self._vectors(UNROLLED, self.vector)
            return
        along = next(o for name, o in self._operands.items() if self._steps_along[name] == 1)
        aligned = self._lanes > 1 and self._begun and not self._rows.strided
        if aligned and along.view.tensor.role != "buffer":
            self._aligned(along, self._partial_results, self.vector)
        else:
            self._vectors(self._partial_results, self.vector)

    # ------------------------------------------------------------------- vectors of the row

    def _vectors(self, unrolled: int, body: Callable[[int], None]) -> None:
        """Write the body for each vector, with its number: many of them in a loop, in order.

        A long row first has a loop over several parts of it, side by side.
        """
        size, lanes = self._size, self._lanes
        count, part = self._parts(unrolled)
        if part:
            starts = [s * part + v * lanes for s in range(count) for v in range(unrolled // count)]
            self._loop(starts, part, lanes * unrolled // count, body)
        begin = count * part
        whole, rest = divmod(size - begin, lanes)
        looped = self._looped(begin, unrolled)
        if looped:
            starts = [begin + number * lanes for number in range(unrolled)]
            self._loop(starts, looped * lanes, lanes * unrolled, body)
        for number in range(looped, whole):
            self._at(Place(begin + number * lanes, lanes), number, body)
        if rest:
            self._at(Place(begin + whole * lanes, rest), whole, body)

    def _aligned(self, operand: COperand, unrolled: int, body: Callable[[int], None]) -> None:
        """Write the body for each vector that is aligned in memory, where an operand lies.

        Where that begins is known when the row is there. What comes before, and after the last
        whole vector, are parts of vectors.
        """
        size, lanes, element = self._size, self._lanes, operand.view.tensor.dtype.bytes
        address = f"(uintptr_t){operand.pointer(*self._index(operand, 0))}"
        self._lines.append(
            f"const int {HEAD} = (int)((0 - {address}) % {lanes * element} / {element});"
        )
        self._if(f"{HEAD} > 0", Place(0, HEAD), body)
        # The head has at most `lanes - 1` elements. So many whole vectors fit behind it, and less
        # than two are left.
        whole = (size - lanes + 1) // lanes * lanes
        self._base, self._size = HEAD, whole
        self._vectors(unrolled, body)
        self._lines.append(f"const int {REST} = {size - whole} - {HEAD};")
        self._if(f"{REST} >= {lanes}", Place(whole, lanes), body)
        self._if(f"{REST} > 0 && {REST} < {lanes}", Place(whole, REST), body)
        self._if(f"{REST} > {lanes}", Place(whole + lanes, f"({REST} - {lanes})"), body)

    def _if(self, condition: str, place: Place, body: Callable[[int], None]) -> None:
        """A vector of which some lanes are in the row, if any are."""
        outer, self._lines = self._lines, []
        self._at(place, 0, body)
        inner, self._lines = self._lines, outer
        self._lines += [f"if ({condition}) {{", *(f"  {line}" for line in inner), "}"]

    def _loop(
        self, starts: Sequence[int], end: int, step: int, body: Callable[[int], None]
    ) -> None:
        """A loop at run time, of which each iteration does a vector from each of these places."""
        if self._blocks and end > step * BLOCK_STEPS:
            self._block(starts, _Range("0", str(end), end, step), body)
        else:
            self._plain_loop(starts, _Range("0", str(end), end, step), body)

    def _plain_loop(self, starts: Sequence[int], over: _Range, body: Callable[[int], None]) -> None:
        outer, self._lines = self._lines, []
        for number, start in enumerate(starts):
            self._at(Place(start, self._lanes, VARIABLE), number, body)
        self._enclose(outer, over.head(VARIABLE))

    def _block(self, starts: Sequence[int], over: _Range, body: Callable[[int], None]) -> None:
        """A loop over blocks, each of which is added up by itself before it counts."""
        length, level = over.step * BLOCK_STEPS, 1
        while length * BLOCK_STEPS < over.most:
            length, level = length * BLOCK_STEPS, level + 1
        block, end = f"block{self._mark}{level}_", f"end{self._mark}{level}_"
        outer, self._lines = self._lines, []
        self._lines.append(
            f"const ptrdiff_t {end} = {block} < {over.end} - {length} "
            f"? {block} + {length} : {over.end};"
        )
        within = _Range(block, end, length, over.step)
        totals, self._begun = self._begun, []
        for number in range(self._partial_results if level == 1 else 1):
            self._begin_result(number, self._identity, f"{level}_")
        if level == 1:
            self._plain_loop(starts, within, body)
        else:
            self._block(starts, within, body)
        result, self._begun = self._combined(), totals
        assert self._update is not None
        # A block adds to a total but once, so that one total is enough: the others stay as they
        # began.
        value = self._apply(self._update, (totals[0], result))
        self._lines.append(f"{totals[0]} = {without_parentheses(value)};")
        self._enclose(outer, replace(over, step=length).head(block))

    def _enclose(self, outer: list[str], head: str) -> None:
        """Put the lines that were written since then into a loop behind those before."""
        inner, self._lines = self._lines, outer
        self._lines += [head, *(f"  {line}" for line in inner), "}"]

    @cached_property
    def _blocks(self) -> bool:
        """Whether what is added up is rounded."""
        return self._rows.kind == REDUCTION and self._update == ADD and self._dtype.floating

    def _looped(self, begin: int, unrolled: int) -> int:
        """How many vectors a loop at run time does; registers cannot be chosen at run time."""
        whole = (self._size - begin) // self._lanes
        return whole - whole % unrolled if self._in_memory and whole > 2 * unrolled else 0

    def _parts(self, unrolled: int) -> tuple[int, int]:
        """In how many parts side by side a row is done, and their elements; 0 if in none."""
        target, element = self._target, self._dtype.bytes
        size, operands = self._size, sum(map(bool, self._steps_along.values()))
        # Each part of each operand is a stream, and memory keeps up with so many. All parts have as
        # many vectors of an iteration, or elements would be left out.
        streams = target.farthest.streams or STREAMS * operands
        most_parts = min(STREAMS, streams // operands, unrolled)
        count = next((n for n in range(most_parts, 1, -1) if unrolled % n == 0), 0)
        if not self._in_memory or size * element < STREAMED_BYTES or count < 2:
            return 0, 0
        step, page = self._lanes * unrolled // count, target.page
        most = size // count // step * step
        parts = (
            part
            # Within one page every distance from its ends comes up: to look further finds nothing
            # more.
            for part in range(most, max(most - page // element, 0), -step)
            if SKEW_BYTES <= part * element % page <= page - SKEW_BYTES
        )
        return count, next(parts, 0)

    def _at(self, place: Place, number: int, body: Callable[[int], None]) -> None:
        self._place, self._loaded = place, {}
        body(number)

    # ------------------------------------------------------------------- the two kinds

    def _pointwise(self, _: int) -> None:
        for operand in self._ahead:
            self._fetch_next(operand)
        if self._update is None:
            value = self._value()
        else:  # no dimension but that of the row is left to be reduced
            value = self._reduced(self._element(self._output))
        value = without_parentheses(value)
        operand, place = self._operands[self._output], self._place
        if operand.lanes > 1:
            self._lines.append(f"{self._register(operand)} = {value};")
            return
        pointer = self._pointer(operand)
        if place.lanes == self._lanes:
            store = self._apply(self._store, (pointer, value))
        else:
            store = self._apply(STORE_FIRST, (pointer, value, str(place.lanes)))
        self._lines.append(f"{store};")

    @cached_property
    def _identity(self) -> str:
        """What a reduction starts from, in all lanes."""
        assert self._operation.identity is not None
        return self._constant(self._operation.identity, self._dtype.name)

    @cached_property
    def _partial_type(self) -> str:
        """C type of a partial result: of an element, or of a vector of them.

        A sum or product of single signed integers wraps around, and is held unsigned. A signed one
        would be converted in each iteration. Where several of these stand side by side, and
        arithmetic behind the loop, gcc 12.2 makes vectors of them and forgets parts.
        """
        if self._lanes == 1 and self._update in WRAPPING and not self._dtype.floating:
            return f"uint{self._dtype.bytes * 8}_t"
        return self._of(self._dtype.name).text(TYPE)

    def _begin_result(self, number: int, value: str, level: str = "") -> None:
        result = f"a{self._mark}{level}{number}_"
        self._lines.append(f"{self._partial_type} {result} = {value};")
        self._begun.append(result)

    def _add(self, number: int) -> None:
        assert self._update is not None
        for operand in self._ahead:
            self._fetch_next(operand)
        place = number % self._partial_results
        begun = self._begun[place] if place < len(self._begun) else ""
        if self._place.lanes == self._lanes:
            value = self._reduced(begun) if begun else self._value()
        else:
            lanes = str(self._place.lanes)
            value = self._apply(SELECT_FIRST, (self._value(), self._identity, lanes))
            value = self._apply(self._update, (begun, value)) if begun else value
        if begun:
            self._lines.append(f"{begun} = {without_parentheses(value)};")
        else:
            self._begin_result(place, without_parentheses(value))

    def _combined(self) -> str:
        """The vector in which all partial results are one."""
        assert self._update is not None
        begun = self._begun
        while len(begun) > 1:
            first, second = begun[: -(len(begun) // 2)], begun[-(len(begun) // 2) :]
            for result, other in zip(first, second, strict=False):
                value = self._apply(self._update, (result, other))
                self._lines.append(f"{result} = {value};")
            begun = first
        return begun[0]

    @cached_property
    def _ahead(self) -> list[COperand]:
        """Inputs whose next part is fetched while this one is computed with.

        That is, parts of a longer row in memory, each of which a cache holds: without this, memory
        waits while functions are computed, and arithmetic while the next part comes. Functions take
        about as long as a line from memory; what takes less would only wait for it here. From a
        nearer level lines come soon enough by themselves for what stores a vector for each.
        """
        functions = any(step.primitive in FUNCTION_ULPS for step in self._steps)
        if not functions or PREFETCH not in self._of(self._dtype.name):
            return []
        return [
            operand
            for name, operand in self._operands.items()
            if self._steps_along[name] == 1 and name != self._output
            if operand.view.level != operand.view.tensor.level
            if self._rows.kind == REDUCTION
            or operand.view.tensor.level == self._target.farthest.name
            if operand.moves(operand.view.order[-1])
        ]

    def _fetch_next(self, operand: COperand) -> None:
        """Fetch what is some rows' length behind this place, each line once.

        It may lie outside of the tensor, where a pointer may not point.
        """
        place, element = self._place, operand.view.tensor.dtype.bytes
        line = self._target.level_by_name[operand.view.level].line
        if not place.variable or place.start * element % line:
            return
        row = self._length * element
        ahead = -(-AHEAD_BYTES // row) * row
        address = f"(uintptr_t)({self._pointer(operand)}) + {ahead}"
        self._lines.append(f"{self._apply(PREFETCH, (address,))};")

    def _to_output(self, result: str) -> None:
        """Combine the lanes of a vector, and that with what the output holds if that counts."""
        assert self._update is not None
        for exchange in exchanges(self._lanes):
            other = self._apply(exchange, (result,))
            self._lines.append(f"{result} = {self._apply(self._update, (result, other))};")
        output, value = self._operands[self._output][()], self._apply(FIRST_LANE, (result,))
        if self._operation.accumulating:
            row = f"row{self._mark}_"
            self._lines.append(f"const {self._one_lane.text(TYPE)} {row} = {value};")
            value = self._one_lane.text(self._update).format(output, row)
        self._lines.append(f"{output} = {without_parentheses(value)};")

    # ------------------------------------------------------------------- several calls in one loop

    def beside(self, number: int) -> list[str]:
        """What stands before the first vector, in a loop with other calls: this is one of them."""
        self._mark = f"{number}_"
        self._partial_results = UNROLLED
        self.begin()
        begun, self._lines = self._lines, []
        return begun

    def at_place_of(self, other: RowWriter, number: int) -> None:
        """The vector at the place where another call is, written behind that one's."""
        self._place, self._base, self._loaded = other._place, other._base, {}
        self._lines, own = other._lines, self._lines
        self.vector(number)
        self._lines = own

    def last(self) -> list[str]:
        """What stands after the loop."""
        self.end()
        return self._lines
