"""Alternatives bound to boxes, each form once for all the variants that share it.

With a form goes what can be said of it whatever the variant: whether it applies anywhere, which of
its sub-Specs exist, and which coordinates these need.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from morello.rewriting.alternatives import Context
from morello.rewriting.bind import Array, Form, FormUse, form_on
from morello.search.box import Box
from morello.search.graph import FamilyGraph, Node
from morello.spec.layout import panel
from morello.spec.spec import Family, Variant

FEW = 500
"""So many values are sorted out in Python as fast as numpy does it."""


@dataclass(frozen=True, slots=True, eq=False)
class Needed:
    """A form that applies somewhere, and what it needs.

    ``needs``: for each use, for each axis of its variant's box, the values that it refers to; no
    values where the axis is no coordinate.
    """

    form: Form
    needs: tuple[tuple[Collection[int], ...], ...]


class Forms:
    """The forms of one search."""

    def __init__(self, context: Context, graph: FamilyGraph) -> None:
        self._context = context
        self._asked: dict[tuple[Family, int], frozenset[int]] = {}
        self._found: dict[tuple[object, ...], Needed | None] = {}
        self._ignored = {family: self._ignored_axes(node) for family, node in graph.nodes.items()}

    def find(
        self, node: Node, place: int, variant: Variant, box: Box, tiles: tuple[int, ...]
    ) -> Needed | None:
        """The form of an alternative on a box, if it applies anywhere.

        Args:
            node: The variant's family.
            place: Of the alternative, among those of the family.
            variant: One of those that the form may be shared by.
            box: Its box.
            tiles: Tile sizes to try, the same for all variants with this box.
        """
        which = (node.family, place)
        asked = self._asked.get(which, frozenset())
        key = self._key(which, asked, variant, box)
        if key not in self._found:
            form, asked = form_on(
                self._context, variant, node.alternatives[place], box.open_grid, tiles, asked
            )
            self._asked[which] = asked
            key = self._key(which, asked, variant, box)
            self._found[key] = self.needed(form)
        return self._found[key]

    @staticmethod
    def _key(
        which: tuple[Family, int], asked: frozenset[int], variant: Variant, box: Box
    ) -> tuple[object, ...]:
        panels = tuple(map(panel, variant.packing))
        return (*which, box.key, panels, *((p, variant.packing[p]) for p in sorted(asked)))

    def needed(self, form: Form) -> Needed | None:
        """What a form needs, without uses that exist nowhere; none if it never applies."""
        if not form.mask.any():
            return None
        there = [(use, form.mask & (use.weight > 0)) for use in form.uses]
        there = [(use, exists) for use, exists in there if exists.any()]
        needs = tuple(tuple(self._values(use, exists)) for use, exists in there)
        return Needed(replace(form, uses=tuple(use for use, _ in there)), needs)

    def _values(self, use: FormUse, exists: Array) -> list[Collection[int]]:
        ignored = self._ignored[use.family]
        return [
            () if axis in ignored else _distinct(np.asarray(values), exists)
            for axis, values in enumerate(use.coordinates)
        ]

    def _ignored_axes(self, node: Node) -> frozenset[int]:
        first = len(node.family.operation.dims)
        return frozenset(
            first + position
            for position, level in enumerate(self._context.target.bounded)
            if level.name not in node.consumes
        )


def _distinct(values: Array, exists: Array) -> Collection[int]:
    """Distinct values of an array where it exists for some combination of the other axes."""
    if values.size == 1:
        return (int(values.reshape(-1)[0]),)
    rank = max(values.ndim, exists.ndim)
    values = values.reshape((1,) * (rank - values.ndim) + values.shape)
    exists = exists.reshape((1,) * (rank - exists.ndim) + exists.shape)
    others = tuple(a for a in range(rank) if values.shape[a] == 1 and exists.shape[a] > 1)
    here = exists.any(axis=others, keepdims=True) if others else exists
    if here.size == 1:
        found = values
    elif here.shape == values.shape:
        found = values[here]
    else:
        found = values[np.broadcast_to(here, values.shape)]
    if found.size > FEW:
        found = np.unique(found)
    return frozenset(found.reshape(-1).tolist())
