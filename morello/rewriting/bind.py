"""An alternative on a box of Specs: mask, cost and weights as arrays.

Costs are in cycles per iteration of the Spec (*intensity*), so that the recurrence reads

    I(x) = base(x) + sum over uses of weight(x) * I(child(x))

with ``weight = count * volume(child) / volume(x)``. Arrays broadcast over the axes of the box, and
in front of them one for the tile size where the alternative leaves that open. An array is never
wider than what it depends on.

Most of this does not depend on what most operands are, where, and how packed. So an alternative is
evaluated on tracked operands, which record what it reads of them (`morello.rewriting.tracked`). The
result, a *shared binding*, is that of all variants, of all families, which agree in what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.layout import Packing, cuts, panel
from morello.ir.numeric import Array, Number, Size, Truth
from morello.ir.spec import Family, Variant
from morello.language.evaluate import evaluate
from morello.records import replace
from morello.rewriting.alternatives import Alternative, KernelAlternative, RuleAlternative, scope_at
from morello.rewriting.context import Context
from morello.rewriting.enumeration import result_in
from morello.rewriting.references import Point, point
from morello.rewriting.steps import Use, flatten
from morello.rewriting.tracked import Property, TrackedPacking, tracked


class SharedUse(Struct, frozen=True, eq=False):
    """A sub-Spec of every Spec of the box; a tracked packing in it is that of the parent's operand.

    ``place`` is that of its family in `RuleAlternative.below`. ``weight`` is float64 and 0 where
    the sub-Spec does not exist; ``coordinates`` are its own, arrays or numbers, in the order of a
    table's axes.
    """

    place: int
    packing: tuple[int | TrackedPacking, ...]
    weight: Array
    coordinates: tuple[Size, ...]

    def variant(self, alternative: RuleAlternative, parent: tuple[int, ...]) -> Variant:
        """The variant, for a parent with its operands packed like this."""
        family = alternative.below[self.place]
        assert family is not None
        return family.variant(
            tuple(parent[p.position] if isinstance(p, TrackedPacking) else p for p in self.packing)
        )


class SharedBinding(Struct, frozen=True, eq=False):
    """An alternative with arrays, for all variants that agree in what it reads of them.

    ``mask``: where it applies. ``cost``: its own cycles, float64; divided by the volume of the
    Spec it is ``base``. ``tiles`` are the tile sizes along the first axis, or empty if there is no
    such axis. They are compared by identity.
    """

    mask: Array
    cost: Array
    uses: tuple[SharedUse, ...]
    tiles: tuple[int, ...]


NEVER_APPLIES = SharedBinding(np.asarray(False), np.asarray(0.0), (), ())
"""Of an alternative that does not apply to any Spec of its box."""


def where_chosen(shared: SharedBinding, places: Sequence[int], where: Array) -> SharedBinding:
    """The same binding with some of its tile sizes, and only where those were chosen.

    Args:
        shared: One that applies somewhere.
        places: Which of its tile sizes, or 0 of a binding without.
        where: For each of them, which Specs of the box chose it.
    """
    if not shared.tiles:
        return replace(shared, mask=shared.mask & where[0])
    rank, every = where.ndim, slice(None) if len(places) == len(shared.tiles) else list(places)

    def chosen(array: Size) -> Array:
        found = np.asarray(array)
        return found if found.ndim < rank or len(found) == 1 else found[every]

    uses = tuple(
        replace(use, weight=chosen(use.weight), coordinates=tuple(map(chosen, use.coordinates)))
        for use in shared.uses
    )
    return SharedBinding(
        chosen(shared.mask) & where,
        chosen(shared.cost),
        uses,
        tuple(shared.tiles[place] for place in places),
    )


class BoundUse(Struct, frozen=True):
    """A use of a shared binding, with the variant that it leads to."""

    variant: Variant
    weight: Array
    coordinates: tuple[Size, ...]


@dataclass(frozen=True)
class Bound:
    """An alternative of a variant, with arrays: a shared binding, and the variants it leads to."""

    alternative: Alternative
    shared: SharedBinding
    variants: tuple[Variant, ...]

    @property
    def mask(self) -> Array:
        """Where it applies."""
        return self.shared.mask

    @property
    def cost(self) -> Array:
        """Its own cycles, float64; divided by the volume of the Spec it is ``base``."""
        return self.shared.cost

    @property
    def tiles(self) -> tuple[int, ...]:
        """Tile sizes along the first axis of arrays, or empty if there is no such axis."""
        return self.shared.tiles

    @cached_property
    def uses(self) -> tuple[BoundUse, ...]:
        """Sub-Specs of every Spec of the box."""
        return tuple(
            BoundUse(variant, use.weight, use.coordinates)
            for variant, use in zip(self.variants, self.shared.uses, strict=True)
        )


def bound(alternative: Alternative, shared: SharedBinding, variant: Variant) -> Bound:
    """A shared binding of an alternative, for one of the variants that share it."""
    if isinstance(alternative, KernelAlternative):
        return Bound(alternative, shared, ())
    below = (use.variant(alternative, variant.packing) for use in shared.uses)
    return Bound(alternative, shared, tuple(below))


def bind(
    context: Context,
    variant: Variant,
    alternative: Alternative,
    grid: tuple[Array, ...],
    tiles: tuple[int, ...],
) -> Bound:
    """Evaluate an alternative on a box.

    Args:
        context: Target, operators, rules.
        variant: The variant whose box it is.
        alternative: One of its alternatives.
        grid: The coordinates of the box, an int64 array each, along its own axis.
        tiles: Tile sizes to try where the alternative leaves the tile size open.
    """
    shared = _shared_binding(context, variant, alternative, grid, tiles)
    return bound(alternative, shared, variant)


def shared_binding(
    context: Context,
    variant: Variant,
    alternative: Alternative,
    grid: tuple[Array, ...],
    tiles: tuple[int, ...],
) -> tuple[SharedBinding, frozenset[Property]]:
    """The shared binding of an alternative on a box, and the properties that it reads.

    Arguments are those of `bind`.
    """
    read: set[Property] = set()
    shared = _shared_binding(context, tracked(variant, read), alternative, grid, tiles)
    return shared, frozenset(read)


def _shared_binding(
    context: Context,
    variant: Variant,
    alternative: Alternative,
    grid: tuple[Array, ...],
    tiles: tuple[int, ...],
) -> SharedBinding:
    at = point(context.target, variant, grid)
    if isinstance(alternative, KernelAlternative):
        return _bind_kernel(context, variant.family, alternative, at)
    return _bind_rule(context, variant.family, alternative, at, tiles, len(grid))


def _bind_kernel(
    context: Context, family: Family, alternative: KernelAlternative, at: Point
) -> SharedBinding:
    scope = scope_at(context.target, family, alternative, at)
    match = scope.match
    assert match is not None
    guards = (evaluate(g, scope) for g in match.kernel.guards)
    mask = _all(chain(_wider_than_panels(family, at), (c for _, c in match.conditions(at)), guards))
    if mask is None:
        return NEVER_APPLIES
    cost = evaluate(match.kernel.cost, scope)
    return SharedBinding(mask, np.asarray(cost, dtype=np.float64), (), ())


def _bind_rule(
    context: Context,
    family: Family,
    alternative: RuleAlternative,
    at: Point,
    tiles: tuple[int, ...],
    axes: int,
) -> SharedBinding:
    tile = np.asarray(tiles, dtype=np.int64).reshape(-1, *([1] * axes))
    scope = scope_at(context.target, family, alternative, at, tile)
    declaration = alternative.rule.declaration
    guards = (evaluate(guard, scope) for guard in alternative.rule.sized_guards)
    mask = _all(chain(_wider_than_panels(family, at), guards))
    if mask is None:
        return NEVER_APPLIES
    flat = flatten(result_in(context, alternative, scope))
    mask = _all((mask, *flat.required))
    if mask is None:
        return NEVER_APPLIES
    cost = evaluate(declaration.cost, scope) if declaration.cost is not None else 0.0
    return SharedBinding(
        mask,
        np.asarray(cost, dtype=np.float64),
        tuple(
            found
            for use in flat.uses
            if np.any(use.active)
            for found in _bound_uses(
                use,
                alternative.rule.places[id(use.leaf.node)],
                tuple(at.sizes[d] for d in family.operation.dims),
            )
        ),
        tiles if alternative.axis is not None else (),
    )


def _wider_than_panels(family: Family, at: Point) -> Iterator[Truth]:
    """Where operands in panels are wider than one, of those that sums of dimensions index there.

    Narrower ones are plain, and in the box for its other sizes only. Panels of other operands are
    not read: variants that differ in what is read share no binding.
    """
    for indices, operand, packing in zip(
        family.operation.operands, family.operands, at.packing, strict=True
    ):
        # In this order: a panel that is read divides the variants that share a binding.
        if any(len(index.terms) > 1 for index in indices) and (panels := panel(packing)):
            for dimension, width in zip(operand.order[::-1], cuts(panels), strict=False):
                if len(indices[dimension].terms) > 1:
                    yield indices[dimension].extent(at.sizes) > width


def _bound_uses(use: Use, place: int, parent: tuple[Size, ...]) -> Iterator[SharedUse]:
    """A sub-Spec, once for every way in which its operands can be packed."""
    leaf = use.leaf
    assert leaf.sizes is not None
    assert leaf.used is not None
    count = use.count if use.active is True else np.where(use.active, use.count, 0)
    weight = np.asarray(count * _volume_ratio(leaf.sizes, parent), dtype=np.float64)
    coordinates = (*leaf.sizes, *leaf.used)
    for packing in product(*map(_packings, leaf.packing)):
        here = weight
        for own, value in zip(leaf.packing, packing, strict=True):
            # Some cells have this packing, and others another one: each has a sub-Spec of its own.
            if isinstance(own, np.ndarray) and own.size > 1:
                here = np.where(own == value, here, 0.0)
        if here is weight or here.any():
            yield SharedUse(place, packing, here, coordinates)


def _packings(packing: Packing) -> list[int | TrackedPacking]:
    """The different ones among those of a box."""
    if isinstance(packing, int | TrackedPacking):
        return [packing]
    least = packing.min().item()
    return [least] if least == packing.max() else np.unique(packing).tolist()


def _volume_ratio(child: tuple[Size, ...], parent: tuple[Size, ...]) -> Number:
    """Volume of a sub-Spec over the Spec's, without the sizes that they share: those cancel."""
    over = list(child)
    under: list[Size] = []
    for size in parent:
        for position, own in enumerate(over):
            if own is size:
                del over[position]
                break
        else:
            under.append(size)
    return prod(over, start=np.float64(1)) / prod(under, start=np.float64(1))


def _all(conditions: Iterable[Truth]) -> Array | None:
    """Where all of these hold; none if nowhere, and then the remaining ones are not evaluated."""
    result = np.asarray(True)
    for condition in conditions:
        if condition is True:
            continue
        result = result & condition
        if not np.count_nonzero(result):
            return None
    return result
