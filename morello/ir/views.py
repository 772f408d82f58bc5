"""Which part of an operand a view such as ``f.X[w, ci]`` is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from morello.ir.layout import Axis
from morello.ir.operators import OperandIndex, Operation
from morello.language import ast
from morello.language.indices import with_scalars
from morello.records import replace

UNIT = Axis(0, 0)
"""What a dimension of size 1 runs along that a view has beyond those of its operand."""


class Join(Struct, frozen=True):
    """Two dimensions of an operation that one of a view goes through: ``width * outer + inner``.

    ``above`` and ``below`` are their factors in that sum; ``outer_axis`` and ``inner_axis`` what
    they run along.
    """

    outer: str
    inner: str
    above: int
    below: int
    outer_axis: Axis
    inner_axis: Axis


class ViewMap(Struct, frozen=True):
    """A view of an operand.

    ``indices`` are those of its dimensions, by the operation's; ``axes`` what they run along.
    ``starts``: where it begins along each dimension of the operand.

    Of one that shows another operand of an operation which only moves elements
    (`morello.ir.graphs.data_movement`): ``moving`` is that operation, ``position`` that of the
    operand that is seen, and ``joins`` are what has to lie together.
    """

    indices: tuple[OperandIndex, ...]
    axes: tuple[Axis, ...]
    starts: tuple[int, ...]
    joins: tuple[Join, ...] = ()
    moving: Operation | None = None
    position: int = 0

    @property
    def plain(self) -> bool:
        """Whether each of its dimensions runs along one of the operand's, and no two along one."""
        along = [axis.dimension for axis in self.axes if axis.step]
        return not self.joins and len({*along}) == len(along)

    def turned(self, order: Sequence[int]) -> ViewMap:
        """The same, its dimensions in another order."""
        indices, axes = (tuple(own[p] for p in order) for own in (self.indices, self.axes))
        return replace(self, indices=indices, axes=axes)


def all_of(indices: tuple[OperandIndex, ...]) -> ViewMap:
    """All of an operand, by its own indices."""
    return ViewMap(indices, tuple(map(Axis, range(len(indices)))), (0,) * len(indices))


def view_map(operation: Operation, position: int, indices: Sequence[ast.Index]) -> ViewMap:
    """What a list of indices makes of the operand at a position.

    A dimension alone is every one of its steps, and no margins: ``w`` of ``low + 2 * w + high``. A
    sum is as it is declared. A sum of nothing is a dimension of size 1 that the operand has not.
    """
    own = operation.operands[position]
    axes = []
    starts = [index.low for index in own]
    scalars = operation.operator.scalars
    found = operation.expand(with_scalars(index, scalars) for index in indices)
    for index in found:
        if not index.terms:
            axes.append(UNIT)
            continue
        dims = {dim for dim, _ in index.terms}
        place = next(p for p, i in enumerate(own) if dims <= {d for d, _ in i.terms})
        alone = index.alone
        axes.append(Axis(place, 1 if alone is None else dict(own[place].terms)[alone]))
        if index.margins:
            starts[place] = 0
    return ViewMap(found, tuple(axes), tuple(starts))


def without_index(indices: Sequence[OperandIndex], dim: str) -> ViewMap:
    """What is left of an operand without the index that is this dimension."""
    kept = [place for place, index in enumerate(indices) if index.alone != dim]
    return ViewMap(
        tuple(indices[place] for place in kept), tuple(map(Axis, kept)), (0,) * len(indices)
    )
