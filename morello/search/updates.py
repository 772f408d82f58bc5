"""An alternative as updates of a table: for each tile size, a region with the costs on it.

What is general: children of any form, masks of any shape. Tilings of one dimension have a faster
form in `morello.search.sweep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from morello.rewriting.bind import Array, Bound, BoundUse
from morello.search.box import Box
from morello.search.gather import Gather, Table, plan_gather
from morello.search.sweep import Scratch
from morello.spec.spec import Variant


@dataclass(frozen=True, slots=True)
class _Term:
    """``weight * I(child)``; no weight is 1."""

    variant: Variant
    weight: Table | None
    gather: Gather


@dataclass(frozen=True, slots=True)
class Update:
    """An alternative with one tile size on a region of the box: ready to be evaluated.

    ``base`` is infinite where the alternative does not apply.
    """

    bound: Bound
    position: int
    region: tuple[Any, ...]
    sliced: bool
    base: Table
    terms: tuple[_Term, ...]

    def costs(self, tables: Mapping[Variant, Table]) -> Table:
        """Costs of this alternative on the region."""
        result: Table | None = None
        for term in self.terms:
            value = term.gather.read(tables[term.variant])
            if term.weight is not None:
                value = value * term.weight
            result = value if result is None else result + value
        return self.base if result is None else result + self.base

    def leads_to(self, variant: Variant) -> bool:
        """Whether a variant is among the children."""
        return any(term.variant == variant for term in self.terms)

    def view(self, table: Array) -> Array:
        """A table of the variant with its axes where the results have them."""
        return table

    def results(
        self, tables: Mapping[Variant, Table], _: Scratch
    ) -> Iterator[tuple[int, Any, bool, Table]]:
        """The position of the tile size, where, if sliced, and the costs: one result."""
        yield self.position, self.region, self.sliced, self.costs(tables)


def updates(bound: Bound, box: Box, children: Mapping[Variant, Box]) -> Iterator[Update]:
    """An alternative cut into updates: one for every tile size and pattern of existing uses.

    Where a tail does not exist its term must not be there, rather than be there with weight 0: the
    child that it names may be anything.
    """
    rank = len(box.axes)
    for position in range(len(bound.tiles) or 1):

        def at(values: Any, position: int = position) -> Array:
            """What holds for this tile size: the axis of tile sizes comes before the box's."""
            array: Array = np.asarray(values)
            if array.ndim > rank:
                array = array[position if array.shape[0] > 1 else 0]
            return array

        uses = [
            BoundUse(use.variant, at(use.weight), tuple(map(at, use.coordinates)))
            for use in bound.uses
        ]
        for where, existing in _patterns(at(bound.mask), uses):
            if all(use.variant in children for use in existing):
                yield _update(bound, position, where, at(bound.cost), existing, box, children)


def _patterns(mask: Array, uses: list[BoundUse]) -> Iterator[tuple[Array, list[BoundUse]]]:
    """Regions in which the same uses exist."""
    patterns: list[tuple[Array, list[BoundUse]]] = [(mask, [])]
    for use in uses:
        exists = use.weight > 0
        if exists.all():
            patterns = [(m, [*u, use]) for m, u in patterns]
            continue
        split = [(m & exists, [*u, use]) for m, u in patterns]
        patterns = split + [(m & ~exists, u) for m, u in patterns]
        patterns = [(m, u) for m, u in patterns if m.any()]
    yield from ((m, u) for m, u in patterns if m.any())


def _update(
    bound: Bound,
    position: int,
    mask: Array,
    cost: Array,
    uses: list[BoundUse],
    box: Box,
    children: Mapping[Variant, Box],
) -> Update:
    region, sliced = _region(mask, box.shape)

    def cut(array: Array) -> Array:
        array = array.reshape((1,) * (len(region) - array.ndim) + array.shape)
        for axis, part in enumerate(region):
            if array.shape[axis] > 1:
                array = array[(slice(None),) * axis + (part,)]
        return array

    here = cut(mask)
    base = (cut(cost) / cut(box.volume)).astype(np.float32)
    if not here.all():
        base = np.where(here, base, np.float32(np.inf))
    terms = tuple(_term(use, cut, here, children[use.variant]) for use in uses)
    return Update(bound, position, region, sliced, base, terms)


def _term(use: BoundUse, cut: Callable[[Array], Array], here: Array, child: Box) -> _Term:
    weight = cut(use.weight).astype(np.float32)
    weight = np.where(weight > 0, weight, np.float32(1))  # only where base is infinite anyway
    indices = [child.rank(axis, cut(np.asarray(v))) for axis, v in enumerate(use.coordinates)]
    indices = [i.reshape((1,) * (here.ndim - i.ndim) + i.shape) for i in indices]
    gather = plan_gather(indices, child.shape, here.ndim)
    return _Term(use.variant, None if (weight == 1).all() else weight, gather)


def _region(mask: Array, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], bool]:
    """The smallest part of the box that holds the mask: slices, with at most one axis listed."""
    mask = mask.reshape((1,) * (len(shape) - mask.ndim) + mask.shape)
    region: list[Any] = []
    sliced = True
    for axis, length in enumerate(shape):
        if mask.shape[axis] == 1:
            region.append(slice(0, length))
            continue
        others = tuple(a for a in range(len(shape)) if a != axis)
        hit = np.flatnonzero(mask.any(axis=others))
        first, last = int(hit[0]), int(hit[-1]) + 1
        if sliced and len(hit) < last - first:
            region.append(hit)
            sliced = False
        else:
            region.append(slice(first, last))
    return tuple(region), sliced
