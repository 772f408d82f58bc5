"""Sizes of an operation's dimensions, as shapes of its operands tell them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from morello.ir.graphs.composition import composition_of
from morello.ir.numeric import AnySize
from morello.ir.operators import OperandIndex, Operation


def sizes_from(operation: Operation, extents: Sequence[Sequence[AnySize]]) -> dict[str, AnySize]:
    """Sizes of an operation's dimensions from the shapes of its operands, inputs first.

    That of the output may be left out.
    """
    indexed = [
        (index, extent)
        for access, shape in zip(operation.operands, extents, strict=False)
        for index, extent in zip(access, shape, strict=True)
    ]
    found: dict[str, AnySize] = {}
    for index, extent in indexed:
        if (plain := index.alone) is not None:
            found.setdefault(plain, extent)
    _follow_sums(indexed, found)
    for dim, size in operation.stated:  # last: of a part, the operands say more than the whole does
        if dim not in found:
            found[dim] = size
            _follow_sums(indexed, found)
    return found


def dims_told(operation: Operation, indices: Iterable[OperandIndex]) -> frozenset[str]:
    """Dimensions whose sizes follow from the extents of what these index, and what is stated."""
    found = dict(operation.stated)
    _follow_sums([(index, 1) for index in indices], found)
    return frozenset(found)


def with_hidden(operation: Operation, sizes: Mapping[str, AnySize]) -> Mapping[str, AnySize]:
    """With the sizes of dimensions that index only what a graph computes on the way.

    Those are never divided, so that what is stated of one holds in every part, too.
    """
    if not operation.hides:
        return sizes
    composition = composition_of(operation.operator)
    assert composition is not None
    found = {**dict(operation.stated), **sizes}
    count = -1
    while count < len(found):
        count = len(found)
        for alike in composition.hidden:
            told = (i for i in alike if all(d in found for d, _ in i.terms))
            known = next(told, None)
            if known is not None:
                extent = known.extent(found)
                _follow_sums([(index, extent) for index in alike], found)
    return found


def _follow_sums(
    indexed: Sequence[tuple[OperandIndex, AnySize]], found: dict[str, AnySize]
) -> None:
    """Add the sizes of what is the only unknown dimension of a sum."""
    changed = True
    while changed:
        changed = False
        for index, extent in indexed:
            unknown = [(dim, factor) for dim, factor in index.terms if dim not in found]
            if len(unknown) == 1:
                [(dim, factor)] = unknown
                rest = extent - index.extent({**found, dim: 1})
                found[dim] = 1 + rest // factor
                changed = True
