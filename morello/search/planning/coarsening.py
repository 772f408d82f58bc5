"""Coarser targets: the same machine with fewer tile sizes and larger capacity units.

Each target of the ladder has fewer Specs than the one before, but for a few that lists shared by a
family's variants may add, and only programs that that one has too, so that its best program costs
the same or more. What goes first is what is missed least, as ``python -m benchmarks.coarsening``
shows:

1. the capacity units of bounded levels that loops may index (caches, buffers) are doubled, as long
   as `FEWEST_CAPACITY_UNITS` are left: a buffer then counts as up to a unit larger than it is;
2. tile sizes that are no powers of two, the smallest first, all but the largest of them: tiles of
   other sizes make up for a small one, while the largest is a shape of its own for registers;
3. every second one of the powers of two beyond the lanes of a vector, the largest first: loops
   around a register tile may have other steps at little cost;
4. the largest that is no power of two; then every second one of what is left, the largest first,
   and again until nothing is left.

Kept to the end are 1, the lanes of vectors, and sizes that a kernel's pattern names: without these
there might be no program at all. Registers stay exact, and so does what a kernel asks to be free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.target import Level, Target
from morello.language.sized import levels_asked
from morello.records import replace

FEWEST_CAPACITY_UNITS = 4
"""Units of a level that are left: in fewer, hardly two buffers could stand side by side."""


class Coarsening(Struct, frozen=True):
    """What is coarser than it could be, and to stay within which limit."""

    changes: tuple[str, ...]
    limit: str

    def __str__(self) -> str:
        return f"coarsened to stay within {self.limit}: {', '.join(self.changes)}"


def merge(found: Iterable[Coarsening | None]) -> Coarsening | None:
    """What is coarser in any of some searches within the same limit, if anything."""
    known = [coarsening for coarsening in found if coarsening is not None]
    if not known:
        return None
    changed = dict.fromkeys(change for coarsening in known for change in coarsening.changes)
    return Coarsening(tuple(changed), known[0].limit)


def coarser(
    target: Target, dtypes: Collection[DType], fixed: Collection[str] = ()
) -> Iterator[Target]:
    """Coarser and coarser targets.

    Args:
        target: Where to begin; it is not among the results.
        dtypes: Element types whose vectors are kept.
        fixed: Names of levels that must stay as they are.
    """
    kernels = target.kernels
    asked = {name for k in kernels for e in (*k.guards, k.cost) for name in levels_asked(e)}
    while levels := _with_many_units(target, {*fixed, *asked}):
        coarse = {level.name: _doubled(level) for level in levels}
        target = replace(target, levels=tuple(coarse.get(v.name, v) for v in target.levels))
        yield target
    for gone in _dispensable(target.sizes, indispensable_sizes(target, dtypes)):
        target = replace(target, sizes=tuple(s for s in target.sizes if s != gone))
        yield target


def changes(full: Target, coarse: Target, largest: int) -> tuple[str, ...]:
    """How a target of the ladder differs from the one where it begins, for people.

    Of tile sizes those are said that are smaller than the largest size of the goal.
    """
    pairs = zip(full.levels, coarse.levels, strict=True)
    found = [f"{new.name} in {new.capacity} units" for old, new in pairs if old != new]
    gone = [str(s) for s in full.sizes if s < largest and s not in coarse.sizes]
    if gone:
        found.append(f"no tiles of {' '.join(gone)}")
    return tuple(found)


def _with_many_units(target: Target, fixed: Collection[str]) -> list[Level]:
    return [
        level
        for level in target.bounded
        if level.addressable
        and level.name not in fixed
        and (level.capacity or 0) >= 2 * FEWEST_CAPACITY_UNITS
    ]


def _doubled(level: Level) -> Level:
    """The level in units of twice the size; an odd unit is lost."""
    return replace(
        level, capacity_unit=2 * level.capacity_unit, capacity=(level.capacity or 0) // 2
    )


def indispensable_sizes(target: Target, dtypes: Collection[DType]) -> set[int]:
    """Tile sizes that are never dropped: 1, those of vectors of these types, those of kernels."""
    vectors = {v for level in target.levels for v in level.vectors}
    patterns = (p for k in target.kernels for p in k.match.operands)
    return {
        1,
        *(v // d.bytes for v in vectors for d in dtypes if v % d.bytes == 0),
        *(n for p in patterns for n in p.shape if isinstance(n, int)),
    }


def _dispensable(sizes: tuple[int, ...], kept: set[int]) -> Iterator[int]:
    """The tile sizes that may go, in the order of the module's list."""
    odd = [s for s in sizes if s & (s - 1) and s not in kept]
    yield from odd[:-1]
    even = [s for s in reversed(sizes) if not s & (s - 1) and s not in kept]
    gone = [s for s in even if s > max(kept)][::2]
    yield from gone
    yield from odd[-1:]
    even = [s for s in even if s not in gone]
    while even:
        yield from even[::2]
        even = even[1::2]
