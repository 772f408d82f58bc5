"""Alternatives bound to boxes, each binding once for all the variants that share it.

With a shared binding goes what follows from it for every variant: whether it applies anywhere,
which of its sub-Specs exist, and which coordinates of these are asked for.

What holds for a Spec does not depend on the box that it is in. So an alternative is evaluated on
all coordinates that were asked for by then, unless those are far more, and a box gets its part of
that. Amounts in use of levels that an alternative does not ask for are handed on as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Family, Variant
from morello.rewriting.alternatives import Alternative, tiles_below
from morello.rewriting.bind import SharedBinding, SharedUse, shared_binding
from morello.rewriting.context import Context
from morello.rewriting.tracked import Property, property_values
from morello.search.planning.selection import Places, Selection, places_in, with_more
from morello.search.tables.box import IRRELEVANT, Box

SORTED_BY_NUMPY_FROM = 500
"""So many values are sorted out in Python as fast as numpy does it."""

WIDER = 16
"""How many times as many cells a binding may be evaluated on as its box has. To evaluate some more
takes hardly longer. But of coordinates that were asked for, few are in one box: of many dimensions
most combinations are never asked for, and would take memory."""


class Needed:
    """A shared binding that applies somewhere, and its demand.

    Args:
        shared: The binding, without uses that exist nowhere.
        exists: Where each of its uses does.
    """

    def __init__(self, shared: SharedBinding, exists: Sequence[Array]) -> None:
        self.shared = shared
        self._exists = exists
        self._values: dict[tuple[int, Set[int]], list[Collection[int]]] = {}

    def values(self, use: int, ignored: Set[int]) -> list[Collection[int]]:
        """What a use refers to along each axis of its variant's box that is not ignored."""
        if (use, ignored) not in self._values:
            self._values[use, ignored] = [
                () if axis in ignored else _distinct(np.asarray(values), self._exists[use])
                for axis, values in enumerate(self.shared.uses[use].coordinates)
            ]
        return self._values[use, ignored]


class BindingCache:
    """The shared bindings of one search, whose graph keeps alternatives: identities tell those."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._own_kinds: dict[int, _Kind] = {}
        self._kinds: dict[tuple[object, ...], _Kind] = {}

    def find(
        self, alternative: Alternative, variant: Variant, box: Box, tiles: tuple[int, ...]
    ) -> Needed | None:
        """The shared binding of an alternative on a box, if it applies anywhere.

        Args:
            alternative: One of the variant's.
            variant: One of those that may share it.
            box: Its box.
            tiles: Tile sizes to try, the same for all variants with this box.
        """
        kind = self._kind(alternative, variant.family)
        values = self._values(kind, variant)
        if (box, values) not in kind.found:
            wide = kind.evaluated.get(values)
            places = None if wide is None else places_in(box, wide.box, kind.axes)
            if wide is None or places is None:
                wide, read = self._evaluate(kind, alternative, variant, box)
                places = places_in(box, wide.box, kind.axes)
                assert places is not None
                # A variant that agrees in all that was read would have read the same. Earlier keys,
                # with fewer values, are never met again: their bindings are evaluated anew.
                if not read <= set(kind.properties):
                    kind.properties = tuple(sorted({*kind.properties, *read}))
                    values = self._values(kind, variant)
                kind.evaluated[values] = wide
            kind.found[box, values] = _part(wide, box, places, tiles, kind.axes)
        return kind.found[box, values]

    def _values(self, kind: _Kind, variant: Variant) -> tuple[object, ...]:
        return property_values(self._context.target, variant, kind.properties)

    def _evaluate(
        self, kind: _Kind, alternative: Alternative, variant: Variant, box: Box
    ) -> tuple[_Evaluated, frozenset[Property]]:
        """The binding on a box that has all coordinates of this one, and the properties read."""
        wide = alone = _asked_alone(box, kind.axes)
        if kind.box is not None:
            wide = with_more(kind.box, box, kind.axes)
        if wide.cells <= WIDER * alone.cells:
            kind.box = wide
        else:
            wide = alone
        dims = variant.family.operation.dims
        largest = {dim: int(sizes[-1]) for dim, sizes in zip(dims, wide.sizes, strict=True)}
        tiles = tiles_below(self._context.target, alternative, largest) or ()
        shared, read = shared_binding(self._context, variant, alternative, wide.open_grid, tiles)
        return _Evaluated(wide, shared), read

    def _kind(self, alternative: Alternative, family: Family) -> _Kind:
        """What alike alternatives have in common."""
        found = self._own_kinds.get(id(alternative))
        if found is None:
            operation, asked = family.operation, alternative.consumes
            key = (alternative.shape_on(operation), asked, operation.structure, family.threads)
            if key not in self._kinds:
                dims = len(operation.dims)
                levels = enumerate(self._context.target.bounded, dims)
                axes = (*range(dims), *(axis for axis, level in levels if level.name in asked))
                self._kinds[key] = _Kind(axes)
            found = self._own_kinds[id(alternative)] = self._kinds[key]
        return found


class _Evaluated(Struct, frozen=True):
    """A shared binding on a box, which has a list of one for a level that is not asked for."""

    box: Box
    shared: SharedBinding


@dataclass(slots=True)
class _Kind:
    """Alternatives of one rule, with the same choices, on operations of one structure.

    ``axes``: those of sizes, and of the levels that it asks for. ``box``: the coordinates that
    were asked for, without those that would have made it far larger. ``properties``: those read so
    far. ``evaluated``: bindings by the properties' values; ``found``: their parts, by the box, too.
    """

    axes: tuple[int, ...]
    box: Box | None = None
    properties: tuple[Property, ...] = ()
    evaluated: dict[tuple[object, ...], _Evaluated] = field(default_factory=dict)
    found: dict[tuple[Box, tuple[object, ...]], Needed | None] = field(default_factory=dict)


def _asked_alone(box: Box, asked: Collection[int]) -> Box:
    """A box without values along the other axes."""
    nothing = np.asarray([IRRELEVANT])
    axes = (values if axis in asked else nothing for axis, values in enumerate(box.axes))
    return Box(tuple(axes), box.dimensions)


def _part(
    wide: _Evaluated, box: Box, places: Places, tiles: tuple[int, ...], asked: Collection[int]
) -> Needed | None:
    """What a box has of a binding; none if that applies nowhere in it."""
    shared, grid = wide.shared, box.open_grid
    if len(tiles) < len(shared.tiles):  # it has the smallest ones
        places = [*places, (-1 - len(grid), slice(len(tiles)))]
    # Whole lists stay what they are: those of the Spec, which its sub-Specs share.
    same = {id(wide.box.open_grid[axis]): grid[axis] for axis in asked}
    selection = Selection(places, same)
    mask = selection.part(shared.mask)
    if not np.count_nonzero(mask):
        return None
    uses, there = [], []
    for use in shared.uses:
        weight = selection.part(use.weight)
        exists = mask & (weight > 0)
        if np.count_nonzero(exists):
            more = len(use.coordinates) - len(grid)
            coordinates = tuple(
                selection.coordinate(v) if axis < box.dimensions or axis in asked else grid[axis]
                for axis, v in enumerate(use.coordinates, -more)
            )
            uses.append(SharedUse(use.place, use.packing, weight, coordinates))
            there.append(exists)
    cost = selection.part(shared.cost)
    return Needed(SharedBinding(mask, cost, tuple(uses), shared.tiles and tiles), there)


def _distinct(values: Array, exists: Array) -> Collection[int]:
    """Distinct values of an array where it exists for some combination of the other axes."""
    if values.size == 1:
        return (int(values.reshape(-1)[0]),)
    rank = max(values.ndim, exists.ndim)
    values = values.reshape((1,) * (rank - values.ndim) + values.shape)
    exists = exists.reshape((1,) * (rank - exists.ndim) + exists.shape)
    others = tuple(a for a in range(rank) if values.shape[a] == 1 and exists.shape[a] > 1)
    here = exists.any(axis=others, keepdims=True) if others else exists
    # What is left exists somewhere, so that a single place does.
    if here.size == 1:
        found = values
    elif here.shape == values.shape:
        found = values[here]
    else:
        found = values[np.broadcast_to(here, values.shape)]
    if found.size > SORTED_BY_NUMPY_FROM:
        found = np.unique(found)
    return frozenset(found.reshape(-1).tolist())
