"""From the goal downwards: which cells of which variant have to be solved.

Families come in topological order, and of a family those variants first whose operands lie closer
together: loops only take them apart. So all needs of a variant are known when its turn comes. Its
alternatives are then bound to its box, and what they refer to is added to the needs of their
children. Only what a mask lets through counts: an operand that must fit in a level bounds the box.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from morello.errors import MorelloError
from morello.rewriting.alternatives import Context
from morello.rewriting.bind import Array, Bound, BoundUse, bind
from morello.search.box import IRRELEVANT, Box, Ints, tiling_closure
from morello.search.graph import FamilyGraph, Node
from morello.search.known import Chosen, Known
from morello.search.options import Option
from morello.spec.layout import contiguity, panel
from morello.spec.spec import Family, Spec, Variant


@dataclass(frozen=True)
class Task:
    """A variant to be solved: its box, and its alternatives on it.

    ``recalled``: choices are known, so that alternatives apply only where they were chosen.
    """

    variant: Variant
    box: Box
    bounds: tuple[Bound, ...]
    recalled: bool

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """What can be chosen, in the order that breaks ties."""
        return tuple(
            Option(bound.alternative, tile)
            for bound in self.bounds
            for tile in bound.tiles or (None,)
        )

    @property
    def children(self) -> Set[Variant]:
        """Variants that its alternatives lead to, without itself."""
        return {use.variant for bound in self.bounds for use in bound.uses} - {self.variant}


class TooManySpecsError(MorelloError):
    """There are more Specs than ``limit``, the number that was allowed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the search would have to solve more than {limit:,} Specs")


_Needs = dict[tuple[int, ...], list[set[int]]]
"""For every packing of a family, the values that each coordinate must have."""


def plan_tasks(
    context: Context,
    graph: FamilyGraph,
    goal: Spec,
    limit: int,
    report: Callable[[int], None],
    known: Known,
) -> list[Task]:
    """Tasks in topological order, goal first.

    Args:
        context: Target, operators, rules.
        graph: Live families.
        goal: What is to be solved.
        limit: Largest number of cells to accept.
        report: Called with the number of variants planned so far.
        known: Where choices may be known from.

    Raises:
        TooManySpecsError: There are more cells than the limit; nothing more is planned then.
    """
    needs: dict[Family, _Needs] = {family: {} for family in graph.nodes}
    needs[goal.family][goal.packing] = [{value} for value in goal.coordinates]
    tasks: list[Task] = []
    cells = 0
    for node in graph.nodes.values():
        waiting = needs[node.family]
        while waiting:
            packing = max(waiting, key=lambda p: (sum(map(contiguity, p)), p))
            variant = Variant(node.family, packing)
            box = _box(context, variant, node.consumes, waiting.pop(packing))
            cells += box.cells
            if cells > limit:
                raise TooManySpecsError(limit)
            task = _task(context, node, variant, box, known.find(context, variant, box))
            for bound in task.bounds:
                for use in bound.uses:
                    if use.variant != variant:
                        _add_need(context, needs, graph, bound, use)
            tasks.append(task)
            report(len(tasks))
    return tasks


def _box(context: Context, variant: Variant, consumes: Set[str], need: list[set[int]]) -> Box:
    dims = variant.family.operation.dims
    least = _least_sizes(variant)
    sizes = [
        {n for n in tiling_closure(values, context.target.sizes) if n >= least.get(dim, 1)}
        for dim, values in zip(dims, need, strict=False)
    ]
    used = [
        values if level.name in consumes else {IRRELEVANT}
        for level, values in zip(context.target.bounded, need[len(dims) :], strict=True)
    ]
    return Box(tuple(_sorted(values) for values in (*sizes, *used)), len(dims))


def _least_sizes(variant: Variant) -> dict[str, int]:
    """Smallest size of those dimensions along which an operand fills more than one panel."""
    least: dict[str, int] = {}
    operands = variant.family.operation.operands
    for indices, operand, packing in zip(
        operands, variant.family.operands, variant.packing, strict=True
    ):
        if width := panel(packing):
            terms = indices[operand.order[-1]].terms
            if len(terms) == 1:
                [(dim, factor)] = terms
                least[dim] = max(width // factor + 1, least.get(dim, 1))
    return least


def _sorted(values: set[int]) -> Ints:
    return np.asarray(sorted(values), dtype=np.int64)


def _task(context: Context, node: Node, variant: Variant, box: Box, chosen: Chosen | None) -> Task:
    largest = max((int(sizes[-1]) for sizes in box.sizes), default=1)
    below = tuple(t for t in context.target.sizes if t < largest)
    bounds = []
    for alternative in node.alternatives:
        tiles: tuple[int | None, ...] = (None,) if alternative.axis is None else below
        options = [Option(alternative, tile) for tile in tiles]
        if chosen is not None:
            options = [option for option in options if chosen.has(option)]
        if not options:
            continue
        sizes = tuple(o.tile for o in options if o.tile is not None)
        bound = bind(context, variant, alternative, box.open_grid, sizes)
        if chosen is not None:
            where = chosen.where(options)
            bound = replace(bound, mask=bound.mask & (where if sizes else where[0]))
        if bound.mask.any():
            uses = tuple(use for use in bound.uses if (bound.mask & (use.weight > 0)).any())
            bounds.append(replace(bound, uses=uses))
    return Task(variant, box, tuple(bounds), chosen is not None)


def _add_need(
    context: Context,
    needs: dict[Family, _Needs],
    graph: FamilyGraph,
    bound: Bound,
    use: BoundUse,
) -> None:
    exists = bound.mask & (use.weight > 0)
    family = use.variant.family
    need = needs[family].setdefault(use.variant.packing, [set() for _ in use.coordinates])
    first = len(family.operation.dims)
    ignored = {
        first + position
        for position, level in enumerate(context.target.bounded)
        if level.name not in graph.nodes[family].consumes
    }
    for axis, (found, values) in enumerate(zip(need, use.coordinates, strict=True)):
        if axis not in ignored:
            found.update(_distinct(values, exists))


def _distinct(values: int | Array, exists: Array) -> list[int]:
    """Distinct values of an array where it exists for some combination of the other axes."""
    values = np.asarray(values)
    if values.size == 1:
        return [int(values.reshape(-1)[0])]
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
    if found.size > values.shape[-1] * 8:  # many axes: drop repetitions in bulk first
        found = np.unique(found)
    distinct: list[int] = found.reshape(-1).tolist()
    return distinct
