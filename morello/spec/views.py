"""Which part of an operand a view such as ``f.X[w, ci]`` is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello.language import ast
from morello.language.indices import with_scalars
from morello.spec.layout import Axis
from morello.spec.operators import OperandIndex, Operation


@dataclass(frozen=True, slots=True)
class Sight:
    """A view of an operand.

    ``indices`` are those of its dimensions, by the operation's; ``axes`` what they run along.
    ``starts``: where it begins along each dimension of the operand.
    """

    indices: tuple[OperandIndex, ...]
    axes: tuple[Axis, ...]
    starts: tuple[int, ...]


def sight(operation: Operation, position: int, indices: Sequence[ast.Index]) -> Sight:
    """What a list of indices makes of the operand at a position.

    A dimension alone is every one of its steps, and no margins: ``w`` of ``low + 2 * w + high``. A
    sum is as it is declared.
    """
    own = operation.operands[position]
    axes = []
    starts = [index.low for index in own]
    scalars = operation.operator.scalars
    found = operation.expand(with_scalars(index, scalars) for index in indices)
    for index in found:
        dims = {dim for dim, _ in index.terms}
        place = next(p for p, i in enumerate(own) if dims <= {d for d, _ in i.terms})
        alone = index.alone
        axes.append(Axis(place, 1 if alone is None else dict(own[place].terms)[alone]))
        if index.margins:
            starts[place] = 0
    return Sight(found, tuple(axes), tuple(starts))
