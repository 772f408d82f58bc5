"""What a statement with subscripts writes, where that is not all of a tensor in its dimensions."""

from __future__ import annotations

from collections.abc import Mapping

from morello.checking.accesses import Access, Sum
from morello.ir.goal import GoalTensor
from morello.ir.layout import Axis, Layout, order_of
from morello.records import replace


def as_part(
    whole: GoalTensor, target: Access, extents: Mapping[str, int]
) -> tuple[GoalTensor, Access, dict[str, int]]:
    """The part of a tensor that a statement writes, the target in it, and sizes of dimensions.

    Where a number stands, the part has no dimension.
    """
    lows = tuple(each.constant for each in target.sums)
    box = [each.extent(extents) - each.constant for each in target.sums]
    shown = (
        ":" if own == n else f"{low}:{low + own}" if each.terms else f"{low}"
        for each, low, own, n in zip(target.sums, lows, box, whole.shape, strict=True)
    )
    # Rows along what is fastest lie in memory as they are seen, also those of one element.
    order = [d for d in whole.layout.order if target.sums[d].terms or d == whole.layout.fastest]
    axes, sizes = tuple(sorted(order)), dict(extents)
    part = GoalTensor(
        f"{whole.name}[{', '.join(shown)}]",
        "part",
        whole.dtype,
        tuple(box[d] for d in axes),
        Layout(tuple(axes.index(d) for d in order)),
        whole,
        lows,
        tuple(map(Axis, axes)),
    )
    sums = []
    for each in (target.sums[d] for d in axes):
        terms = each.terms
        if not terms:
            sizes["1"] = 1  # no text calls one so
            terms = (("1", 1),)
        sums.append(replace(each, terms=terms, constant=0))
    return part, replace(target, sums=tuple(sums), shape=part.shape), sizes


def along_rows(
    result: GoalTensor, target: Access, extents: Mapping[str, int]
) -> tuple[GoalTensor, Access]:
    """The result, and the target, with a dimension for each that goes through rows of an output.

    So ``o[s, h * D + d] += p[h, s, t] * v[h, t, d]`` is a product, whose result is seen in the
    output.
    """
    whole = result.whole or result
    if result.role not in ("output", "part") or whole.layout.panel:
        return result, target
    if all(len(each.terms) == 1 for each in target.sums):
        return result, target
    own = result.along
    axes, sums = list[Axis](), list[Sum]()
    for axis, each in zip(own, target.sums, strict=True):
        reach = 1
        for dim, factor in sorted(each.terms, key=lambda term: (term[1], extents[term[0]])):
            if factor != reach:
                return result, target
            reach *= extents[dim]
        for dim, factor in each.terms:
            axes.append(Axis(axis.dimension, axis.step * factor))
            sums.append(Sum(((dim, 1),), 0, each.span))
    shape = tuple(extents[each.terms[0][0]] for each in sums)
    order = order_of(axes, whole.layout.order)
    seen = GoalTensor(
        result.name if result.whole else f"{whole.name}[{', '.join(':' for _ in whole.shape)}]",
        "part",
        whole.dtype,
        shape,
        Layout(order),
        whole,
        result.starts,
        tuple(axes),
    )
    return seen, replace(target, sums=tuple(sums), shape=shape)
