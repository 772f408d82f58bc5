"""Calls that only move elements: what cuts parts out of tensors that a statement reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from morello.checking.accesses import LETTERS, margin
from morello.checking.statement_operators import statement_call, statement_operator
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.layout import row_major
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.source import Span
from morello.records import replace


class Moves(Struct, frozen=True):
    """Makes the calls for a statement at this place, of declared operators where there are such."""

    span: Span
    operators: Mapping[str, Operator]

    def cut(self, whole: GoalTensor, part: GoalTensor, lows: Sequence[int]) -> Checked:
        """What cuts a part out of a tensor."""
        dims = LETTERS[: len(part.shape)]
        source, result = [], []
        for dim, low, size, extent in zip(dims, lows, part.shape, whole.shape, strict=True):
            high = extent - low - size
            source.append(
                ast.Index(((dim, 1),), low=margin(low), high=margin(high), span=self.span)
            )
            result.append(ast.Index(((dim, 1),), span=self.span))
        sizes = dict(zip(dims, part.shape, strict=True))
        return self.moved(whole, source, part, result, sizes, {})

    def without(self, whole: GoalTensor, part: GoalTensor, place: int) -> Checked:
        """What leaves out a dimension of size 1: its neighbour goes through its rows, too."""
        sizes = dict(zip(LETTERS, whole.shape, strict=False))
        dims = [*sizes]
        first = max(place - 1, 0)  # of two that become one
        outer, inner = dims[first : first + 2]
        rows = ast.Index(((outer, sizes[inner]), (inner, 1)), span=self.span)
        source = [ast.Index(((dim, 1),), span=self.span) for dim in dims]
        result = [*source[:first], rows, *source[first + 2 :]]
        return self.moved(whole, source, part, result, sizes, {inner: sizes[inner]})

    def moved(
        self,
        whole: GoalTensor,
        source: Sequence[ast.Index],
        part: GoalTensor,
        result: Sequence[ast.Index],
        sizes: Mapping[str, int],
        stated: Mapping[str, int],
        elsewhere: ast.Number | None = None,
    ) -> Checked:
        """What moves the elements of one tensor to another one, by these indices."""
        taken = ast.TensorParameter("X1", "A", tuple(source), span=self.span)
        output = ast.TensorParameter("Y", "A", tuple(result), span=self.span)
        target, value = (ast.Element(p.name, p.indices, span=self.span) for p in (output, taken))
        statement = ast.Statement(target, "=", value, elsewhere, span=self.span)
        operator = statement_operator([taken], output, statement, stated)
        return statement_call(operator, [whole, part], sizes, self.operators)

    def repeated(
        self, whole: GoalTensor, row: GoalTensor, lows: Sequence[int]
    ) -> Iterator[Checked]:
        """What fills a row with one element of a tensor."""
        one = row
        for rank in range(len(lows), 0, -1):
            part = replace(
                row, name=f"{row.name}.{rank}", shape=(1,) * rank, layout=row_major(rank)
            )
            if rank == len(lows):
                yield self.cut(whole, part, lows)
            else:
                yield self.without(one, part, rank)
            one = part
        filled, single = LETTERS[0], LETTERS[1]
        source = [ast.Index(((single, 1),), span=self.span)]
        result = [ast.Index(((filled, 1), (single, 1)), span=self.span)]
        sizes = {filled: row.elements, single: 1}
        yield self.moved(one, source, row, result, sizes, sizes)


def out_of_panels(calls: Sequence[Checked], operators: Mapping[str, Operator]) -> list[Checked]:
    """The calls, where slices of what lies in panels are of a copy that does not.

    A slice goes through parts of panels, which have no layout. Where a copy is no work, as of
    elements that are read one by one, the search finds that. Weights may be packed in any way.
    """
    left: list[Checked] = []
    plain: dict[str, GoalTensor] = {}
    for call in calls:
        source = call.tensors[0]
        slices = call.operation.operator.slices and call.tensors[-1].role == "local"
        if not slices or not source.layout.panel or source.role == "weight":
            left.append(call)
            continue
        if source.name not in plain:
            rank = len(source.shape)
            copied = replace(
                source, name=f"{source.name}.plain", role="local", layout=row_major(rank)
            )
            plain[source.name] = copied
            moves = Moves(call.operation.operator.statement.span, operators)
            left.append(moves.cut(source, copied, [0] * rank))
        left.append(replace(call, tensors=(plain[source.name], *call.tensors[1:])))
    return left
