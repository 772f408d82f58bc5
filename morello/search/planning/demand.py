"""Demand, from the goal downwards: which cells of which variant have to be solved.

Families come in topological order, and of a family those variants first whose operands lie closer
together: loops only take them apart. So all that is asked of a variant is known when its turn
comes. Its alternatives are then bound to its box, and what they refer to is asked of their
children. Only what a mask lets through counts: an operand that must fit in a level bounds the box.
What loops lead to is below the sizes that they begin with, so that all sizes of a family are known
when its first variant's turn comes.

Where later goals may be answered from what is solved, lists have all sizes that loops could lead
to. In a search for a single goal, they have those only along dimensions that loops tile without
leaving the variant; along the others, what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from morello.errors import MorelloError
from morello.ir.layout import contiguity, cuts, panel
from morello.ir.numeric import Ints
from morello.ir.spec import Family, Spec, Variant
from morello.records import replace
from morello.rewriting.alternatives import Alternative, tiles_below
from morello.rewriting.bind import Bound, SharedBinding, bound, where_chosen
from morello.rewriting.context import Context
from morello.rewriting.parts import stays_packed
from morello.rewriting.references import spec_ref
from morello.search.planning.bindings import BindingCache, Needed
from morello.search.planning.families import FamilyGraph, FamilyNode
from morello.search.tables.box import IRRELEVANT, Box, tiling_closure
from morello.search.tables.memo_backend import MemoBackend
from morello.search.tables.options import Option


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
            Option(found.alternative, tile)
            for found in self.bounds
            for tile in found.tiles or (None,)
        )

    @property
    def children(self) -> Set[Variant]:
        """Variants that its alternatives lead to, without itself."""
        return {variant for found in self.bounds for variant in found.variants} - {self.variant}


class TooManySpecsError(MorelloError):
    """There are more Specs than ``limit``, the number that was allowed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the search would have to solve more than {limit:,} Specs")


ALIKE = 9 / 8
"""How many times as long a list of sizes may become for being that of the whole family. Variants
with the same box are bound and planned once; for products this adds 2 to 7% of Specs."""

_Demand = dict[tuple[int, ...], list[set[int]]]
"""The demand on a family: for every packing, the values that each coordinate must have."""


def plan_tasks(
    context: Context,
    graph: FamilyGraph,
    goal: Spec,
    limit: int,
    report: Callable[[int], None],
    memo: MemoBackend,
    single_goal: bool,
) -> list[Task]:
    """Tasks in topological order, goal first.

    Args:
        context: Target, operators, rules.
        graph: Live families.
        goal: What is to be solved.
        limit: Largest number of cells to accept.
        report: Called with the number of variants planned so far.
        memo: Where choices may be known from.
        single_goal: Whether sizes are closed under tiling only as far as this goal needs it.

    Raises:
        TooManySpecsError: There are more cells than the limit; nothing more is planned then.
    """
    demand: dict[Family, _Demand] = {family: {} for family in graph.nodes}
    demand[goal.family][goal.packing] = [{value} for value in goal.coordinates]
    bindings = BindingCache(context)
    ignored = {family: _ignored_axes(context, node) for family, node in graph.nodes.items()}
    tasks: list[Task] = []
    boxes: dict[tuple[bytes, ...], Box] = {}
    cells = 0
    for node in graph.nodes.values():
        for variant, found_box in _boxes(context, node, demand[node.family], single_goal):
            # A target's variants all have as many levels: equal lists have equal dimensions.
            box = boxes.setdefault(found_box.key, found_box)
            cells += box.cells
            if cells > limit:
                raise TooManySpecsError(limit)
            chosen = _chosen(context, bindings, memo, node, variant, box)
            bounds = []
            applicable = _applicable(context, bindings, node, variant, box)
            for alternative, found, shared in applicable if chosen is None else chosen:
                bounds.append(bound(alternative, shared, variant))
                _add_demand(demand, ignored, bounds[-1], found, variant)
            tasks.append(Task(variant, box, tuple(bounds), chosen is not None))
            report(len(tasks))
    return tasks


def _ignored_axes(context: Context, node: FamilyNode) -> frozenset[int]:
    """Axes of a box that are no coordinates of the family."""
    first = len(node.family.operation.dims)
    return frozenset(
        first + position
        for position, level in enumerate(context.target.bounded)
        if level.name not in node.consumes
    )


def _add_demand(
    demand: dict[Family, _Demand],
    ignored: Mapping[Family, Set[int]],
    bounds: Bound,
    found: Needed,
    own: Variant,
) -> None:
    for use, variant in enumerate(bounds.variants):
        # Tiles that stay in the variant are in its lists already: those are closed under tiling.
        if variant == own:
            continue
        values = found.values(use, ignored[variant.family])
        waiting = demand[variant.family]
        if variant.packing not in waiting:
            waiting[variant.packing] = [set() for _ in values]
        for axis, more in zip(waiting[variant.packing], values, strict=True):
            axis.update(more)


def _boxes(
    context: Context, node: FamilyNode, waiting: _Demand, single_goal: bool
) -> Iterator[tuple[Variant, Box]]:
    """The variants of a family with their boxes; more may come to wait meanwhile."""
    operation = node.family.operation
    dims = node.tileable if operation.operator.partly_tileable else frozenset(operation.dims)
    if not waiting:
        return
    union = [set[int]().union(*values) for values in zip(*waiting.values(), strict=True)]
    family = _box(context, node, union, dims)
    while waiting:
        packing = max(waiting, key=lambda p: (sum(map(contiguity, p)), p))
        variant = node.family.variant(packing)
        closed = _tileable(context, node, variant, union) if single_goal else dims
        own = _box(context, node, waiting.pop(packing), closed)
        least = _least_sizes(variant)
        yield variant, _like(_without_smaller(own, least), _without_smaller(family, least))


def _tileable(
    context: Context, node: FamilyNode, variant: Variant, union: Sequence[Set[int]]
) -> Set[str]:
    """Dimensions that loops may tile so that the tiles are of the same variant.

    ``union``: all sizes that are asked for.
    """
    operation = node.family.operation
    packed = [
        tensor
        for tensor in spec_ref(node.family, variant.packing).tensors
        if tensor.operand.moves_lines(context.target)
    ]

    def dividing(least: dict[str, int] | None) -> Set[str]:
        return {d for d in node.tileable if all(stays_packed(t, d, least) for t in packed)}

    if not operation.operator.partly_tileable:
        return dividing(None)
    needed_sizes = dict(zip(operation.dims, map(frozenset, union), strict=False))
    least = {d: min(values) for d, values in needed_sizes.items()}
    found, closed = dividing(least), None
    while found != closed:
        # Smaller sizes only add dimensions: a round for each of them is enough.
        closed = found  # loops over these lead to smaller sizes, where more may stay packed
        least |= {d: min(tiling_closure(needed_sizes[d], context.target.sizes)) for d in closed}
        found = dividing(least)
    return found


def _box(context: Context, node: FamilyNode, need: list[set[int]], closed: Set[str]) -> Box:
    """The box of what is asked for; lists of the dimensions ``closed`` are closed under tiling."""
    dims = len(node.family.operation.dims)
    sizes: list[Set[int]] = [
        tiling_closure(frozenset(values), context.target.sizes) if dim in closed else values
        for dim, values in zip(node.family.operation.dims, need, strict=False)
    ]
    used = [
        values if level.name in node.consumes else {IRRELEVANT}
        for level, values in zip(context.target.bounded, need[dims:], strict=True)
    ]
    return Box(tuple(_sorted(values) for values in (*sizes, *used)), dims)


def _without_smaller(box: Box, least: tuple[int, ...]) -> Box:
    """The box with its lists of sizes from these on, one for each dimension."""
    if max(least, default=1) == 1:
        return box
    sizes = (axis[axis >= n] for axis, n in zip(box.sizes, least, strict=True))
    return replace(box, axes=(*sizes, *box.axes[box.dimensions :]))


def _least_sizes(variant: Variant) -> tuple[int, ...]:
    """For each dimension the smallest size with which operands fill more than one panel."""
    operation = variant.family.operation
    least = dict.fromkeys(operation.dims, 1)
    for indices, operand, packing in zip(
        operation.operands, variant.family.operands, variant.packing, strict=True
    ):
        for dimension, width in zip(operand.order[::-1], cuts(panel(packing)), strict=False):
            index = indices[dimension]
            if width and len(index.terms) == 1:
                [(dim, factor)] = index.terms
                # The least n with 1 + margins + factor * (n - 1) > width.
                least[dim] = max((width - 1 - index.margins) // factor + 2, least[dim])
    return tuple(least.values())


def _like(own: Box, family: Box) -> Box:
    """The box of a variant, with the lists of its family where these are hardly longer."""

    def alike(mine: Ints, all_: Ints) -> bool:
        return len(all_) <= ALIKE * len(mine) and set(mine.tolist()) <= set(all_.tolist())

    pairs = zip(own.axes, family.axes, strict=True)
    return replace(own, axes=tuple(b if alike(a, b) else a for a, b in pairs))


def _sorted(values: Set[int]) -> Ints:
    return np.asarray(sorted(values), dtype=np.int64)


_Applicable = tuple[Alternative, Needed, SharedBinding]
"""An alternative, its demand, and the binding that is to be solved with."""


def _applicable(
    context: Context, bindings: BindingCache, node: FamilyNode, variant: Variant, box: Box
) -> Iterator[_Applicable]:
    """Alternatives that apply somewhere in the box."""
    for alternative, tiles in _with_tiles(context, node, box):
        found = bindings.find(alternative, variant, box, tiles)
        if found is not None:
            yield alternative, found, found.shared


def _with_tiles(
    context: Context, node: FamilyNode, box: Box
) -> Iterator[tuple[Alternative, tuple[int, ...]]]:
    """Alternatives with the tile sizes to try, those left out that would need one."""
    largest = {d: int(s[-1]) for d, s in zip(node.family.operation.dims, box.sizes, strict=True)}
    for alternative in node.alternatives:
        tiles = tiles_below(context.target, alternative, largest)
        if tiles is not None:
            yield alternative, tiles


def _chosen(
    context: Context,
    bindings: BindingCache,
    memo: MemoBackend,
    node: FamilyNode,
    variant: Variant,
    box: Box,
) -> list[_Applicable] | None:
    """Alternatives where they were chosen, if that is known.

    What is known is believed if every choice applies where it was made. The demand is that of the
    alternatives wherever they apply: the search that made the choices had it, too, and all variants
    that share a binding have it already.
    """
    # A page that was rejected is not found again, so that this ends.
    while (chosen := memo.find(context, variant, box)) is not None:
        found: list[_Applicable] = []
        applied = chosen.table < 0
        for alternative, tiles in _with_tiles(context, node, box):
            options = [Option(alternative, tile) for tile in tiles or (None,)]
            places = [place for place, o in enumerate(options) if chosen.has(o)]
            there = bindings.find(alternative, variant, box, tiles) if places else None
            if there is not None:
                where = chosen.where([options[place] for place in places])
                shared = where_chosen(there.shared, places, where)
                found.append((alternative, there, shared))
                applied |= shared.mask.any(axis=0) if shared.tiles else shared.mask
        if applied.all():
            return found
        memo.reject(context, variant, box)
    return None
