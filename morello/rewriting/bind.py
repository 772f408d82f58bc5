"""An alternative on a box of Specs: mask, cost and weights as arrays.

Costs are in cycles per iteration of the Spec (*intensity*), so that the recurrence reads

    I(x) = base(x) + sum over uses of weight(x) * I(child(x))

with ``weight = count * volume(child) / volume(x)``. Arrays broadcast over the axes of the box, and
in front of them one for the tile size where the alternative leaves that open. An array is never
wider than what it depends on.

Most of this does not depend on how operands are packed. A *form* is an alternative on a box with
those packings left open, but for the width of panels, that it does not ask for: it is the same for
all variants that differ in these alone. What an alternative asks for shows itself: an open packing
is a name, and any use of it but to hand it on is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import Any, NoReturn

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
from morello.rewriting.steps import Use, flatten
from morello.spec.layout import PANEL_SHIFT, Packing, panel
from morello.spec.spec import Family, Variant

Array = np.ndarray[Any, np.dtype[Any]]


class _AskedError(Exception):
    """The packing of an operand was asked for and is open."""

    def __init__(self, position: int) -> None:
        self.position = position


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """Stands for the packing of the operand at this position, with panels of a known width."""

    position: int
    width: int

    def __rshift__(self, bits: int) -> int:
        return self.width if bits == PANEL_SHIFT else self._ask()

    def _ask(self, *_: object, **__: object) -> NoReturn:
        raise _AskedError(self.position)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = _ask
    __lshift__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _ask
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __invert__ = _ask
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = __array__ = _ask
    __eq__ = __ne__ = __hash__ = _ask


@dataclass(frozen=True, slots=True, eq=False)
class FormUse:
    """A sub-Spec of every Spec of the box, with those packings open that its parent's are.

    ``weight`` is float64 and 0 where the sub-Spec does not exist; ``coordinates`` are its own,
    arrays or numbers, in the order of a table's axes.
    """

    family: Family
    packing: tuple[Packing, ...]
    weight: Array
    coordinates: tuple[Size, ...]

    def variant(self, parent: tuple[int, ...]) -> Variant:
        """The variant, for a parent with its operands packed like this."""
        return Variant(
            self.family,
            tuple(parent[p.position] if isinstance(p, _Open) else p for p in self.packing),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """An alternative with arrays, whatever the packings are that it does not ask for.

    ``mask``: where it applies. ``cost``: its own cycles, float64; divided by the volume of the
    Spec it is ``base``. ``tiles`` are the tile sizes along the first axis, or empty if there is no
    such axis. Forms are compared by identity.
    """

    mask: Array
    cost: Array
    uses: tuple[FormUse, ...]
    tiles: tuple[int, ...]


NOWHERE = Form(np.asarray(False), np.asarray(0.0), (), ())
"""Of an alternative that does not apply to any Spec of its box."""


@dataclass(frozen=True, slots=True)
class BoundUse:
    """A use of a form, with the variant known that it leads to."""

    variant: Variant
    weight: Array
    coordinates: tuple[Size, ...]


@dataclass(frozen=True)
class Bound:
    """An alternative of a variant, with arrays: a form, and which variants its uses lead to."""

    alternative: Alternative
    form: Form
    variants: tuple[Variant, ...]

    @property
    def mask(self) -> Array:
        """Where it applies."""
        return self.form.mask

    @property
    def cost(self) -> Array:
        """Its own cycles, float64; divided by the volume of the Spec it is ``base``."""
        return self.form.cost

    @property
    def tiles(self) -> tuple[int, ...]:
        """Tile sizes along the first axis of arrays, or empty if there is no such axis."""
        return self.form.tiles

    @cached_property
    def uses(self) -> tuple[BoundUse, ...]:
        """Sub-Specs of every Spec of the box."""
        return tuple(
            BoundUse(variant, use.weight, use.coordinates)
            for variant, use in zip(self.variants, self.form.uses, strict=True)
        )


def bound(alternative: Alternative, form: Form, variant: Variant) -> Bound:
    """A form of an alternative, for one of the variants that share it."""
    return Bound(alternative, form, tuple(use.variant(variant.packing) for use in form.uses))


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
    everything = frozenset(range(len(variant.packing)))
    form, _ = form_on(context, variant, alternative, grid, tiles, everything)
    return bound(alternative, form, variant)


def form_on(
    context: Context,
    variant: Variant,
    alternative: Alternative,
    grid: tuple[Array, ...],
    tiles: tuple[int, ...],
    asked: frozenset[int],
) -> tuple[Form, frozenset[int]]:
    """The form of an alternative on a box, and the operands whose packing it asks for.

    Args:
        context: Target, operators, rules.
        variant: One of those with this form.
        alternative: One of its alternatives.
        grid: As for `bind`.
        tiles: As for `bind`.
        asked: Operands that are known to be asked for: saves finding that out.
    """
    known = point(context.target, variant, grid)
    while True:
        packing = (p if i in asked else _Open(i, panel(p)) for i, p in enumerate(variant.packing))
        at = replace(known, packing=tuple(packing))
        try:
            if isinstance(alternative, KernelAlternative):
                return _bind_kernel(context, variant.family, alternative, at), asked
            form = _bind_rule(context, variant.family, alternative, at, tiles, len(grid))
        except _AskedError as error:
            asked |= {error.position}
        else:
            return form, asked


def _bind_kernel(
    context: Context, family: Family, alternative: KernelAlternative, at: Point
) -> Form:
    match = alternative.match
    scope = scope_at(context.target, family, alternative, at)
    guards = (evaluate(g, scope) for g in match.kernel.guards)
    mask = _all(chain((c for _, c in match.conditions(at)), guards))
    if mask is None:
        return NOWHERE
    cost = evaluate(match.kernel.cost, scope)
    return Form(mask, np.asarray(cost, dtype=np.float64), (), ())


def _bind_rule(
    context: Context,
    family: Family,
    alternative: RuleAlternative,
    at: Point,
    tiles: tuple[int, ...],
    axes: int,
) -> Form:
    tile = np.asarray(tiles, dtype=np.int64).reshape(-1, *([1] * axes))
    scope = scope_at(context.target, family, alternative, at, tile)
    declaration = alternative.rule.declaration
    mask = _all(evaluate(guard, scope) for guard in alternative.rule.sized_guards)
    if mask is None:
        return NOWHERE
    flat = flatten(result_in(context, alternative, scope))
    mask = _all((mask, *flat.required))
    if mask is None:
        return NOWHERE
    cost = evaluate(declaration.cost, scope) if declaration.cost is not None else 0.0
    return Form(
        mask,
        np.asarray(cost, dtype=np.float64),
        tuple(
            bound
            for use in flat.uses
            if np.any(use.active)
            for bound in _bound_uses(use, tuple(at.sizes[d] for d in family.operation.dims))
        ),
        tiles if alternative.axis is not None else (),
    )


def _bound_uses(use: Use, parent: tuple[Size, ...]) -> Iterator[FormUse]:
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
            if isinstance(own, np.ndarray) and own.size > 1:
                here = np.where(own == value, here, 0.0)
        if here is weight or here.any():
            yield FormUse(leaf.family, packing, here, coordinates)


def _packings(packing: Packing) -> list[Packing]:
    """The different ones among those of a box."""
    return [packing] if isinstance(packing, int | _Open) else np.unique(packing).tolist()


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


def _all(conditions: Iterable[Any]) -> Array | None:
    """Where all of these hold; none if nowhere, and then those that remain are not asked for."""
    result = np.asarray(True)
    for condition in conditions:
        if condition is True:
            continue
        result = result & condition
        if not np.count_nonzero(result):
            return None
    return result
