"""Which part of an operand a view such as ``f.X[w, ci]`` is."""

from __future__ import annotations

from collections.abc import Sequence

from morello.language import ast
from morello.spec.layout import Axis
from morello.spec.operators import OperandIndex, Operation


def axes_of(
    operation: Operation, position: int, indices: Sequence[ast.Index]
) -> tuple[tuple[OperandIndex, ...], tuple[Axis, ...]]:
    """Indices of a view of an operand, by the operation's dimensions, and what they run along.

    A dimension alone is every one of its steps: ``w`` of ``2 * w``. A sum is as it is declared.
    """
    own = operation.operands[position]
    found, axes = [], []
    for index in operation.expand(indices):
        dims = {dim for dim, _ in index.terms}
        place = next(p for p, i in enumerate(own) if dims <= {d for d, _ in i.terms})
        alone = index.alone
        axes.append(Axis(place, 1 if alone is None else dict(own[place].terms)[alone]))
        found.append(index)
    return tuple(found), tuple(axes)
