"""Alternatives bound to boxes, each binding once for all the variants that share it.

With a shared binding goes what follows from it for every variant: whether it applies anywhere,
which of its sub-Specs exist, and which coordinates of these are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Set
from dataclasses import dataclass, field

import numpy as np

from morello.ir.numeric import Array
from morello.ir.spec import Family, Variant
from morello.records import replace
from morello.rewriting.alternatives import Alternative
from morello.rewriting.bind import SharedBinding, shared_binding
from morello.rewriting.context import Context
from morello.rewriting.tracked import Property, property_values
from morello.search.tables.box import Box

SORTED_BY_NUMPY_FROM = 500
"""So many values are sorted out in Python as fast as numpy does it."""


class Needed:
    """A shared binding that applies somewhere, and its demand; uses that exist nowhere are gone."""

    def __init__(self, shared: SharedBinding) -> None:
        there = [(use, shared.mask & (use.weight > 0)) for use in shared.uses]
        there = [(use, exists) for use, exists in there if exists.any()]
        self.shared = replace(shared, uses=tuple(use for use, _ in there))
        self._exists = [exists for _, exists in there]
        self._values: dict[tuple[int, Set[int]], list[Collection[int]]] = {}

    def values(self, use: int, ignored: Set[int]) -> list[Collection[int]]:
        """What a use refers to along each axis of its variant's box that is not ignored."""
        if (use, ignored) not in self._values:
            self._values[use, ignored] = [
                () if axis in ignored else _distinct(np.asarray(values), self._exists[use])
                for axis, values in enumerate(self.shared.uses[use].coordinates)
            ]
        return self._values[use, ignored]


def needed(shared: SharedBinding) -> Needed | None:
    """The demand of a shared binding; none if it never applies."""
    return Needed(shared) if shared.mask.any() else None


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
        key = (box, property_values(self._context.target, variant, kind.properties))
        if key not in kind.found:
            shared, read = shared_binding(self._context, variant, alternative, box.open_grid, tiles)
            # A variant that agrees in all that was read would have read the same. Earlier keys,
            # with fewer values, are never met again: their bindings are evaluated anew.
            if not read <= set(kind.properties):
                kind.properties = tuple(sorted({*kind.properties, *read}))
                key = (box, property_values(self._context.target, variant, kind.properties))
            kind.found[key] = needed(shared)
        return kind.found[key]

    def _kind(self, alternative: Alternative, family: Family) -> _Kind:
        """What alike alternatives have in common."""
        found = self._own_kinds.get(id(alternative))
        if found is None:
            operation = family.operation
            key = (alternative.shape_on(operation), operation.structure, family.threads)
            found = self._own_kinds[id(alternative)] = self._kinds.setdefault(key, _Kind())
        return found


@dataclass(slots=True)
class _Kind:
    """Alternatives of one rule, with the same choices, on operations of one structure.

    ``properties``: those read so far. ``found``: bindings, by the box and the properties' values.
    """

    properties: tuple[Property, ...] = ()
    found: dict[tuple[object, ...], Needed | None] = field(default_factory=dict)


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
