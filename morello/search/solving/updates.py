"""An alternative as updates of a table: for each tile size, a region with the costs on it.

What is general: children of any form, masks of any shape. Tilings of one dimension have a faster
form in `morello.search.solving.sweep`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Variant
from morello.records import replace
from morello.search.solving.arranged import Arranged, Child
from morello.search.tables.gather import Gather, Index, Table, plan_gather
from morello.search.tables.scratch import Choices, Part, Scratch, take_cheaper


class _Term(Struct, frozen=True):
    """``weight * I(child)``; no weight is 1."""

    child: int
    weight: Table | None
    gather: Gather


class UpdatePlan(Struct, frozen=True):
    """An alternative with one tile size on a region of a box, whatever the variants are.

    ``base`` is infinite where the alternative does not apply.
    """

    position: int
    part: Part
    base: Table
    terms: tuple[_Term, ...]

    @property
    def bytes(self) -> int:
        """Memory that it takes, about."""
        return self.base.nbytes + sum(term.gather.bytes for term in self.terms)


class Update(Struct, frozen=True):
    """An alternative with one tile size on a region of the box: ready to be evaluated.

    ``variants`` are those of all the alternative's children.
    """

    plan: UpdatePlan
    variants: tuple[Variant, ...]

    def leads_to(self, variant: Variant) -> bool:
        """Whether a variant is among the children."""
        return any(self.variants[term.child] == variant for term in self.plan.terms)

    def improve(
        self,
        costs: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        scratch: Scratch,
    ) -> None:
        """Take this alternative where it is cheaper; as `Sweep.improve`."""
        self._take(costs, choices, first, tables, False, scratch)

    def repeat(
        self,
        costs: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        scratch: Scratch,
        changed: Array,
    ) -> bool:
        """Again, where anything has changed; as `Sweep.repeat`."""
        if not changed.any():
            return False
        self._take(costs, choices, first, tables, True, scratch)
        return True

    def _take(
        self,
        costs: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        ties: bool,
        scratch: Scratch,
    ) -> None:
        option = first + self.plan.position
        result = self._costs(tables)
        take_cheaper(costs, choices, self.plan.part, result, option, ties, scratch)

    def _costs(self, tables: Mapping[Variant, Table]) -> Table:
        """Costs of this alternative on the region."""
        result: Table | None = None
        for term in self.plan.terms:
            value = term.gather.read(tables[self.variants[term.child]])
            if term.weight is not None:
                value = value * term.weight
            result = value if result is None else result + value
        return self.plan.base if result is None else result + self.plan.base


def plan_updates(arranged: Arranged) -> Iterator[UpdatePlan]:
    """An alternative cut into updates: one for every tile size and pattern of existing children.

    Where a tail does not exist its term must not be there, rather than be there with weight 0: the
    child that it names may be anything.
    """
    rank = len(arranged.shape)
    for position in range(arranged.positions):

        def at(array: Array, position: int = position) -> Array:
            """What holds for this tile size: the axis of tile sizes comes before the box's."""
            found: Array = array
            if found.ndim > rank:
                found = found[position if found.shape[0] > 1 else 0]
            return found

        children = [
            replace(child, weight=at(child.weight), indices=tuple(map(at, child.indices)))
            for child in arranged.children
        ]
        for where, existing in _patterns(at(arranged.mask), children):
            yield _update(position, where, at(arranged.cost), existing, arranged)


def _patterns(mask: Array, children: list[Child]) -> Iterator[tuple[Array, list[Child]]]:
    """Regions in which the same children exist."""
    patterns: list[tuple[Array, list[Child]]] = [(mask, [])]
    for child in children:
        exists = child.weight > 0
        if exists.all():
            patterns = [(m, [*c, child]) for m, c in patterns]
            continue
        split = [(m & exists, [*c, child]) for m, c in patterns]
        patterns = split + [(m & ~exists, c) for m, c in patterns]
        patterns = [(m, c) for m, c in patterns if m.any()]
    yield from ((m, c) for m, c in patterns if m.any())


def _update(
    position: int, mask: Array, cost: Array, children: list[Child], arranged: Arranged
) -> UpdatePlan:
    part = _region(mask, arranged.shape)
    assert isinstance(part.index, tuple)
    cuts = [
        (axis, (slice(None),) * axis + (where,))
        for axis, (where, length) in enumerate(zip(part.index, arranged.shape, strict=True))
        if not isinstance(where, slice) or where != slice(0, length)
    ]

    def cut(array: Array) -> Array:
        for axis, where in cuts:
            if array.shape[axis] > 1:
                array = array[where]
        return array

    here = cut(mask)
    base = (cut(cost) / cut(arranged.volume)).astype(np.float32)
    if not here.all():
        base = np.where(here, base, np.float32(np.inf))
    return UpdatePlan(position, part, base, tuple(_term(child, cut) for child in children))


def _term(child: Child, cut: Callable[[Array], Array]) -> _Term:
    weight = cut(child.weight).astype(np.float32)
    weight = np.where(weight > 0, weight, np.float32(1))  # only where base is infinite anyway
    gather = plan_gather([cut(i) for i in child.indices], child.shape, weight.ndim)
    return _Term(child.place, None if (weight == 1).all() else weight, gather)


def _region(mask: Array, shape: tuple[int, ...]) -> Part:
    """The smallest part of the box that holds the mask."""
    region: list[Index] = []
    sliced = True
    for axis, length in enumerate(shape):
        if mask.shape[axis] == 1:
            region.append(slice(0, length))
            continue
        others = tuple(a for a in range(len(shape)) if a != axis)
        hit = np.flatnonzero(mask.any(axis=others))
        first, last = int(hit[0]), int(hit[-1]) + 1
        # Of one axis the places may be listed. Two lists would be paired by numpy, not crossed.
        if sliced and len(hit) < last - first:
            region.append(hit)
            sliced = False
        else:
            region.append(slice(first, last))
    return Part(tuple(region), sliced)
