"""From the leaves upwards: the least cost of every Spec of a family.

In units of cycles per iteration the recurrence over the alternatives ``a`` of a Spec ``x`` is

    I(x) = min over a of ( sum over uses u of weight_u(x) * I(child_u(x)) + base_a(x) )

evaluated for all x of a family at once, in float32. Alternatives that lead to other families are
evaluated once, since those are solved. Tilings lead to smaller Specs of the same family: for one
dimension, tile sizes in increasing order see only cells that are final as far as that dimension
is concerned; sweeps over the dimensions are repeated until each has changed nothing. That fixed
point is unique, since every Spec depends on smaller ones only, and it is reached from above, so
that the result does not depend on the order of anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from morello.rewriting.bind import Array, Bound, BoundUse
from morello.search.box import Box
from morello.search.gather import Gather, Table, plan_gather
from morello.search.needs import Task
from morello.search.sweep import Sweep, SweepPlanner
from morello.spec.spec import Family


@dataclass(frozen=True, slots=True)
class _Term:
    """``weight * I(child)``; no weight is 1."""

    family: Family
    weight: Table | None
    gather: Gather


@dataclass(frozen=True, slots=True)
class Update:
    """An alternative with one tile size on a region of the box: ready to be evaluated.

    ``base`` is infinite where the alternative does not apply.
    """

    bound: Bound
    tile: int | None
    region: tuple[Any, ...]
    sliced: bool
    base: Table
    terms: tuple[_Term, ...]

    def candidate(self, tables: Mapping[Family, Table]) -> Table:
        """Costs of this alternative on the region."""
        result: Table | None = None
        for term in self.terms:
            value = term.gather.read(tables[term.family])
            if term.weight is not None:
                value = value * term.weight
            result = value if result is None else result + value
        return self.base if result is None else result + self.base

    def leads_to(self, family: Family) -> bool:
        """Whether a family is among the children."""
        return any(term.family == family for term in self.terms)

    def improve(self, table: Table, tables: Mapping[Family, Table]) -> None:
        """Take the minimum into the family's own table."""
        if self.sliced:
            view = table[self.region]
            np.minimum(view, self.candidate(tables), out=view)
        else:
            table[self.region] = np.minimum(table[self.region], self.candidate(tables))


def updates(bound: Bound, box: Box, children: Mapping[Family, Box]) -> Iterator[Update]:
    """An alternative cut into updates: one for every tile size and pattern of existing uses.

    Where a tail does not exist its term must not be there, rather than be there with weight 0: the
    child that it names may be anything.
    """
    volume = np.asarray(prod(box.open_grid[: len(box.sizes)], start=np.float64(1)))
    rank = len(box.axes)
    for position, tile in enumerate(bound.tiles or (None,)):

        def at(values: Any, position: int = position) -> Array:
            """What holds for this tile size: the axis of tile sizes comes before the box's."""
            array: Array = np.asarray(values)
            if array.ndim > rank:
                array = array[position if array.shape[0] > 1 else 0]
            return array

        uses = [
            BoundUse(
                use.family, at(use.weight), tuple(map(at, use.sizes)), tuple(map(at, use.used))
            )
            for use in bound.uses
        ]
        for where, existing in _patterns(at(bound.mask), uses):
            if all(use.family in children for use in existing):
                yield _update(bound, tile, where, at(bound.cost), volume, existing, box, children)


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
    tile: int | None,
    mask: Array,
    cost: Array,
    volume: Array,
    uses: list[BoundUse],
    box: Box,
    children: Mapping[Family, Box],
) -> Update:
    region, sliced = _region(mask, box.shape)

    def cut(array: Array) -> Array:
        array = array.reshape((1,) * (len(region) - array.ndim) + array.shape)
        for axis, part in enumerate(region):
            if array.shape[axis] > 1:
                array = array[(slice(None),) * axis + (part,)]
        return array

    here = cut(mask)
    base = (cut(cost) / cut(volume)).astype(np.float32)
    if not here.all():
        base = np.where(here, base, np.float32(np.inf))
    terms = tuple(_term(use, cut, here, children[use.family]) for use in uses)
    return Update(bound, tile, region, sliced, base, terms)


def _term(use: BoundUse, cut: Callable[[Array], Array], here: Array, child: Box) -> _Term:
    weight = cut(use.weight).astype(np.float32)
    weight = np.where(weight > 0, weight, np.float32(1))  # only where base is infinite anyway
    coordinates = [cut(np.asarray(v)) for v in (*use.sizes, *use.used)]
    indices = [child.rank(axis, v) for axis, v in enumerate(coordinates)]
    indices = [i.reshape((1,) * (here.ndim - i.ndim) + i.shape) for i in indices]
    gather = plan_gather(indices, child.shape, here.ndim)
    return _Term(use.family, None if (weight == 1).all() else weight, gather)


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


def solve_family(
    task: Task,
    boxes: Mapping[Family, Box],
    tables: Mapping[Family, Table],
    planner: SweepPlanner,
) -> Table:
    """Intensities of every Spec of the family's box: float32, infinite where there is none."""
    table = np.full(task.box.shape, np.inf, dtype=np.float32)
    known = {**tables, task.family: table}
    again: list[Sweep | Update] = []
    for bound in task.bounds:
        for step in _steps(bound, task.box, boxes, planner):
            step.improve(table, known)
            if step.leads_to(task.family):
                again.append(step)
    settled = 0
    while settled < len(again):  # until every one of them, in turn, has changed nothing
        step = again[0]
        again = [*again[1:], step]
        before = table.copy()
        step.improve(table, known)
        settled = settled + 1 if np.array_equal(before, table) else 1
    return table


def _steps(
    bound: Bound, box: Box, boxes: Mapping[Family, Box], planner: SweepPlanner
) -> Iterator[Sweep] | Iterator[Update]:
    sweep = planner.plan(bound, box, boxes)
    return updates(bound, box, boxes) if sweep is None else iter((sweep,))
