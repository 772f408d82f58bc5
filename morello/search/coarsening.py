"""Coarser targets: the same machine with fewer tile sizes and larger grains, for smaller searches.

Each target of the ladder has fewer Specs than the one before and only programs that that one has
too, so that its best program costs the same or more. What goes first is what is missed least, as
``python -m benchmarks.coarsening`` shows:

1. grains of the bounded levels that loops may index (caches, buffers) are doubled, down to
   `FEWEST_GRAINS`: a buffer is then counted as up to a grain larger than it is;
2. tile sizes that are no powers of two go, the largest first: the small ones are good shapes for
   registers, the large ones hardly differ from their neighbours;
3. every second one of the other tile sizes goes, the largest first, and again until none is left.

Kept to the end are 1, the lanes of vectors, and sizes that a kernel's pattern names: without these
there might be no program at all. Registers stay exact, and so does what a kernel asks to be free.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from morello.rewriting.sized import levels_asked
from morello.spec.dtypes import DTYPES
from morello.spec.machine import Level, Target

FEWEST_GRAINS = 4
"""Of a level's capacity: with fewer, hardly two buffers could stand side by side."""


@dataclass(frozen=True, slots=True)
class Coarsening:
    """What is coarser than it could be, and to stay within which limit."""

    changes: tuple[str, ...]
    limit: str

    def __str__(self) -> str:
        return f"coarsened to stay within {self.limit}: {', '.join(self.changes)}"


def coarser(target: Target, fixed: Collection[str] = ()) -> Iterator[Target]:
    """Coarser and coarser targets.

    Args:
        target: Where to begin; it is not among the results.
        fixed: Names of levels that must stay as they are.
    """
    kernels = target.kernels
    asked = {name for k in kernels for e in (*k.guards, k.cost) for name in levels_asked(e)}
    while levels := _with_many_grains(target, {*fixed, *asked}):
        coarse = {level.name: _doubled(level) for level in levels}
        target = replace(target, levels=tuple(coarse.get(v.name, v) for v in target.levels))
        yield target
    for gone in _dispensable(target.sizes, _kept(target)):
        target = replace(target, sizes=tuple(s for s in target.sizes if s != gone))
        yield target


def changes(full: Target, coarse: Target) -> tuple[str, ...]:
    """How a target of the ladder differs from the one where it begins, for people."""
    pairs = zip(full.levels, coarse.levels, strict=True)
    found = [f"{new.name} in {new.capacity} grains" for old, new in pairs if old != new]
    gone = [str(s) for s in full.sizes if s not in coarse.sizes]
    if gone:
        found.append(f"no tiles of {' '.join(gone)}")
    return tuple(found)


def _with_many_grains(target: Target, fixed: Collection[str]) -> list[Level]:
    return [
        level
        for level in target.bounded
        if level.addressable
        and level.name not in fixed
        and (level.capacity or 0) >= 2 * FEWEST_GRAINS
    ]


def _doubled(level: Level) -> Level:
    """The level in grains of twice the size; an odd one is lost."""
    return replace(level, grain=2 * level.grain, capacity=(level.capacity or 0) // 2)


def _kept(target: Target) -> set[int]:
    """Tile sizes that are never dropped."""
    vectors = {v for level in target.levels for v in level.vectors}
    patterns = (p for k in target.kernels for p in k.match.operands)
    return {
        1,
        *(v // d.bytes for v in vectors for d in DTYPES.values() if v % d.bytes == 0),
        *(n for p in patterns for n in p.shape if isinstance(n, int)),
    }


def _dispensable(sizes: tuple[int, ...], kept: set[int]) -> Iterator[int]:
    """The tile sizes that may go, in the order of the module's list."""
    yield from (s for s in reversed(sizes) if s & (s - 1) and s not in kept)
    others = [s for s in reversed(sizes) if not s & (s - 1) and s not in kept]
    while others:
        yield from others[::2]
        others = others[1::2]
