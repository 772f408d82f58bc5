"""An alternative on a box of Specs: mask, cost and weights as arrays.

Costs are in cycles per iteration of the Spec (*intensity*), so that the recurrence reads

    I(x) = base(x) + sum over uses of weight(x) * I(child(x))

with ``weight = count * volume(child) / volume(x)``. Arrays broadcast over the axes of the box, and
in front of them one for the tile size where the alternative leaves that open. An array is never
wider than what it depends on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from morello.language.evaluate import evaluate
from morello.rewriting.alternatives import (
    Alternative,
    Context,
    KernelAlternative,
    RuleAlternative,
    result_in,
    scope_at,
)
from morello.rewriting.references import Point, Size, point
from morello.rewriting.sized import is_sized
from morello.rewriting.steps import Use, flatten
from morello.spec.spec import Family, Variant

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class BoundUse:
    """A sub-Spec of every Spec of the box.

    ``weight`` is float64 and 0 where the sub-Spec does not exist; ``coordinates`` are its own,
    arrays or numbers, in the order of a table's axes.
    """

    variant: Variant
    weight: Array
    coordinates: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """An alternative with arrays.

    ``mask``: where it applies. ``cost``: its own cycles, float64; divided by the volume of the
    Spec it is ``base``. ``tiles`` are the tile sizes along the first axis, or empty if there is no
    such axis.
    """

    alternative: Alternative
    mask: Array
    cost: Array
    uses: tuple[BoundUse, ...]
    tiles: tuple[int, ...]


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
    at = point(context.target, variant, grid)
    if isinstance(alternative, KernelAlternative):
        return _bind_kernel(context, variant.family, alternative, at)
    return _bind_rule(context, variant.family, alternative, at, tiles, len(grid))


def _bind_kernel(
    context: Context, family: Family, alternative: KernelAlternative, at: Point
) -> Bound:
    match = alternative.match
    scope = scope_at(context.target, family, alternative, at)
    conditions = [c for _, c in match.conditions(at)]
    conditions += [evaluate(g, scope) for g in match.kernel.guards]
    cost = evaluate(match.kernel.cost, scope)
    return Bound(alternative, _all(conditions), np.asarray(cost, dtype=np.float64), (), ())


def _bind_rule(
    context: Context,
    family: Family,
    alternative: RuleAlternative,
    at: Point,
    tiles: tuple[int, ...],
    axes: int,
) -> Bound:
    tile = np.asarray(tiles, dtype=np.int64).reshape(-1, *([1] * axes))
    scope = scope_at(context.target, family, alternative, at, tile)
    flat = flatten(result_in(context, alternative, scope))
    declaration = alternative.rule.declaration
    names = {alternative.axis} if alternative.axis else set()
    conditions = [evaluate(g, scope) for g in declaration.guards if is_sized(g, names)]
    cost = evaluate(declaration.cost, scope) if declaration.cost is not None else 0.0
    return Bound(
        alternative,
        _all(conditions + flat.required),
        np.asarray(cost, dtype=np.float64),
        tuple(
            bound
            for use in flat.uses
            if np.any(use.active)
            for bound in _bound_uses(use, tuple(at.sizes.values()))
        ),
        tiles if alternative.axis is not None else (),
    )


def _bound_uses(use: Use, parent: tuple[Size, ...]) -> Iterator[BoundUse]:
    """A sub-Spec, once for every way in which its operands can be packed."""
    leaf = use.leaf
    assert leaf.sizes is not None
    assert leaf.used is not None
    count = np.where(use.active, use.count, 0)
    weight = np.asarray(count * _volume_ratio(leaf.sizes, parent), dtype=np.float64)
    for packing in product(*(np.unique(p).tolist() for p in leaf.packing)):
        here = weight
        for own, value in zip(leaf.packing, packing, strict=True):
            if np.size(own) > 1:
                here = np.where(own == value, here, 0.0)
        if here is weight or here.any():
            yield BoundUse(Variant(leaf.family, packing), here, (*leaf.sizes, *leaf.used))


def _volume_ratio(child: tuple[Size, ...], parent: tuple[Size, ...]) -> Size:
    """Volume of a sub-Spec over the Spec's, without the sizes that they share: those cancel."""
    over = list(child)
    under: list[Size] = []
    for size in parent:
        shared = next((i for i, own in enumerate(over) if own is size), None)
        if shared is None:
            under.append(size)
        else:
            del over[shared]
    return prod(over, start=np.float64(1)) / prod(under, start=np.float64(1))


def _all(conditions: list[Any]) -> Array:
    result = np.asarray(True)
    for condition in conditions:
        result = result & condition
    return result
