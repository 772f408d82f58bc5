"""One Spec: its alternatives with numbers, by the code that solves boxes.

The recurrence of `morello.search.solving.solve` for a single Spec, in the same float32 operations,
so that the value is the table's to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Spec
from morello.rewriting.alternatives import Alternative, tiles_below
from morello.rewriting.bind import Bound, BoundUse, bind
from morello.rewriting.context import Context
from morello.search.tables.box import one_cell
from morello.search.tables.options import Option


class DoesNotApplyError(ValueError):
    """An option was said to be a Spec's, and its guards refuse it there."""


class Application(Struct, frozen=True):
    """An option that applies to a Spec.

    ``uses``: the sub-Specs, each with the weight of its cost per iteration. ``base``: the option's
    own cost per iteration.
    """

    option: Option
    base: np.float32
    uses: tuple[tuple[Spec, np.float32], ...]

    def intensity(self, below: Iterable[np.float32]) -> np.float32:
        """Cycles per iteration, given those of the sub-Specs."""
        # Terms in their order, then the base: in another order it would not be the table's value.
        total: np.float32 | None = None
        for (_, weight), value in zip(self.uses, below, strict=True):
            term = value * weight
            total = term if total is None else total + term
        return self.base if total is None else total + self.base


def applications(
    context: Context, spec: Spec, alternatives: Iterable[Alternative]
) -> Iterator[Application]:
    """The alternatives that apply to a Spec, with every tile size, in the order given."""
    sizes = dict(zip(spec.family.operation.dims, spec.sizes, strict=True))
    for alternative in alternatives:
        tiles = tiles_below(context.target, alternative, sizes)
        if tiles is not None:
            yield from _with_tiles(context, spec, alternative, tiles)


def application(context: Context, spec: Spec, option: Option) -> Application:
    """An option of which it is known that it applies to a Spec.

    Raises:
        DoesNotApplyError: It does not.
    """
    tiles = () if option.tile is None else (option.tile,)
    for found in _with_tiles(context, spec, option.alternative, tiles):
        return found
    raise DoesNotApplyError(f"'{option.name}' was chosen for a Spec to which it does not apply")


def _with_tiles(
    context: Context, spec: Spec, alternative: Alternative, tiles: tuple[int, ...]
) -> Iterator[Application]:
    box = one_cell(spec)
    bound = bind(context, spec.variant, alternative, box.open_grid, tiles)
    for position, tile in enumerate(tiles or (None,)):
        if _at(bound.mask, position, box.shape):
            yield _application(bound, position, tile, spec)


def _application(bound: Bound, position: int, tile: int | None, spec: Spec) -> Application:
    shape = (1,) * len(spec.coordinates)
    volume = np.prod(np.asarray(spec.sizes, dtype=np.float64))
    uses = [(use, _at(use.weight, position, shape)) for use in bound.uses]
    return Application(
        Option(bound.alternative, tile),
        np.float32(_at(bound.cost, position, shape) / volume),
        tuple(
            (_child(use, position, spec), np.float32(weight)) for use, weight in uses if weight > 0
        ),
    )


def _child(use: BoundUse, position: int, spec: Spec) -> Spec:
    shape = (1,) * len(spec.coordinates)
    values = [int(_at(np.asarray(v), position, shape)) for v in use.coordinates]
    dims = len(use.variant.family.operation.dims)
    return Spec(use.variant.family, tuple(values[:dims]), tuple(values[dims:]), use.variant.packing)


def _at(array: Array, position: int, shape: tuple[int, ...]) -> float:
    """What an array over (tile, box of one cell) holds for one tile size."""
    if array.ndim > len(shape) and array.shape[0] > 1:
        array = array[position]
    held: float = array.reshape(-1)[0]
    return held
