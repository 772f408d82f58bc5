"""Regions: rectangular parts of tensors that begin at affine offsets of loop variables.

What two regions have in common is told for all values of the variables at once: starts are compared
by the range of their difference. Where a start is not comparable with another one, the answers are
on the safe side, which each function names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from morello.ir.programs.tree import Affine, View

Bounds = Mapping[str, tuple[int, int]]
"""The least and the greatest value of each variable."""


class Region(Struct, frozen=True):
    """Elements ``starts[d] <= index[d] < starts[d] + sizes[d]`` of a tensor.

    ``exact``: all of them; otherwise, some of them.
    """

    starts: tuple[Affine, ...]
    sizes: tuple[int, ...]
    exact: bool = True

    def at(self, variable: str, value: Affine) -> Region:
        """With something in the place of a variable."""
        starts = tuple(start.with_value(variable, value) for start in self.starts)
        return Region(starts, self.sizes, self.exact)

    def over(self, variable: str, count: int, step: int) -> Region:
        """What is touched while a variable has ``count`` values, ``step`` apart, from 0 on."""
        factors = [dict(start.terms).get(variable, 0) for start in self.starts]
        moved = self.at(variable, Affine())
        if count == 1 or not any(factors):
            return moved
        last = (count - 1) * step
        starts = tuple(
            start.plus(Affine(min(0, factor * last)))
            for start, factor in zip(moved.starts, factors, strict=True)
        )
        sizes = tuple(
            size + abs(factor) * last for size, factor in zip(self.sizes, factors, strict=True)
        )
        moving = [(f, n) for f, n in zip(factors, self.sizes, strict=True) if f]
        gapless = len(moving) == 1 and abs(moving[0][0]) * step <= moving[0][1]
        return Region(starts, sizes, self.exact and gapless)


def region_of(view: View) -> Region:
    """What a view shows of its tensor."""
    sizes, exact = [1] * len(view.tensor.shape), True
    along = zip(view.every_axis, view.sizes, strict=True)
    for axis, size in sorted(along, key=lambda pair: pair[0].step):
        exact = exact and (axis.step <= sizes[axis.dimension] or size == 1)
        sizes[axis.dimension] += axis.step * (size - 1)
    return Region(view.offsets, tuple(sizes), exact)


def whole_region(shape: Sequence[int]) -> Region:
    """All of a tensor."""
    return Region(tuple(Affine() for _ in shape), tuple(shape))


def limits(offset: Affine, bounds: Bounds) -> tuple[int, int]:
    """The least and the greatest value of an offset."""
    low = high = offset.constant
    for variable, factor in offset.terms:
        ends = [factor * end for end in bounds[variable]]
        low, high = low + min(ends), high + max(ends)
    return low, high


def disjoint(one: Region, other: Region, bounds: Bounds) -> bool:
    """Whether they certainly have no element in common."""
    for start, size, begin, extent in zip(
        one.starts, one.sizes, other.starts, other.sizes, strict=True
    ):
        low, high = limits(start.plus(begin, -1), bounds)
        if low >= extent or high <= -size:
            return True
    return False


def without(region: Region, taken: Region, bounds: Bounds) -> list[Region]:
    """Parts of a region that may lie outside of another one, which counts if it is exact."""
    if not taken.exact:
        return [region]
    rest: list[Region] = []
    starts, sizes = list(region.starts), list(region.sizes)
    for d, (begin, extent) in enumerate(zip(taken.starts, taken.sizes, strict=True)):
        low, high = limits(starts[d].plus(begin, -1), bounds)
        if low >= 0 and high + sizes[d] <= extent:
            continue
        if low != high:
            return [region]
        if low >= extent or low <= -sizes[d]:
            return [region]
        if low < 0:
            rest.append(_changed(starts, sizes, d, starts[d], -low))
            starts[d], sizes[d], low = begin, sizes[d] + low, 0
        beyond = low + sizes[d] - extent
        if beyond > 0:
            sizes[d] -= beyond
            rest.append(_changed(starts, sizes, d, starts[d].plus(Affine(sizes[d])), beyond))
    return rest


def _changed(
    starts: Sequence[Affine], sizes: Sequence[int], dimension: int, start: Affine, size: int
) -> Region:
    """A region that differs along one dimension."""
    return Region(
        (*starts[:dimension], start, *starts[dimension + 1 :]),
        (*sizes[:dimension], size, *sizes[dimension + 1 :]),
    )


def joined(one: Region, other: Region) -> Region | None:
    """Both as one region, where they are exact and differ along one dimension without a gap."""
    if not (one.exact and other.exact):
        return None
    differing = [
        d
        for d in range(len(one.sizes))
        if (one.starts[d], one.sizes[d]) != (other.starts[d], other.sizes[d])
    ]
    if not differing:
        return one
    if len(differing) > 1:
        return None
    [d] = differing
    offset = other.starts[d].plus(one.starts[d], -1)
    if offset.terms:
        return None
    low, high = min(0, offset.constant), max(one.sizes[d], offset.constant + other.sizes[d])
    if high - low > one.sizes[d] + other.sizes[d]:
        return None
    start = one.starts[d] if offset.constant >= 0 else other.starts[d]
    return _changed(one.starts, one.sizes, d, start, high - low)
