"""What the variables of a rule or kernel stand for while it is applied to a family.

Sizes are numbers for one Spec, open-grid arrays for a box of Specs, and absent (`None`) while only
the structure of a family is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import cast

import numpy as np
from msgspec import Struct

from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.subgraphs import Match
from morello.ir.layout import Packing, contiguity, cuts, packed, paged, panel
from morello.ir.numeric import AnySize, Size, Truth
from morello.ir.operators import OperandIndex, Operation
from morello.ir.sizes import sizes_from, with_hidden
from morello.ir.spec import Family, Operand, Variant
from morello.ir.target import Level, Target
from morello.ir.views import ViewMap
from morello.language.evaluate import Value

Sizes = Mapping[str, Size]

Variables = Mapping[str, Value]
"""What the variables of a rule or kernel stand for, by name."""

ABSENT = cast(Packing, None)
"""The packing of tensors while only the structure of a family is looked at: it is not read."""

INTERMEDIATE = "on the way: "
"""How keys of tensors begin that are no operands; no variable of a rule does."""


class Point(Struct, frozen=True):
    """Coordinates by name: numbers for one Spec, open-grid arrays for a box of Specs.

    ``used`` maps a bounded level's name to its capacity units in use; ``packing``, numbers, is in
    the order of the operands.
    """

    sizes: Sizes
    used: Mapping[str, Size]
    packing: tuple[int, ...]


class TensorRef(Struct, frozen=True):
    """A tensor that a rule speaks of: an operand of the matched operation or a copy of one.

    ``key`` tells it apart within one application; ``name`` is what it is declared as. ``indices``
    say how the matched operation's dimensions index it, also when it is a copy. ``packing`` is
    absent while only the structure is looked at. ``view``: it is a view of another one.
    """

    key: str
    name: str
    operand: Operand
    indices: tuple[OperandIndex, ...]
    packing: Packing = ABSENT
    view: OperandView | None = None

    @property
    def source(self) -> TensorRef:
        """What it is a view of, or itself."""
        return self if self.view is None else self.view.source

    @property
    def intermediate(self) -> bool:
        """Whether it is what a graph computes on the way, and not yet anywhere."""
        return self.key.startswith(INTERMEDIATE)

    def with_operand(self, operand: Operand) -> TensorRef:
        """The same, but for what it is and where."""
        return TensorRef(self.key, self.name, operand, self.indices, self.packing, self.view)

    def with_packing(self, packing: Packing) -> TensorRef:
        """The same, packed like this."""
        return TensorRef(self.key, self.name, self.operand, self.indices, packing, self.view)

    @property
    def dims(self) -> frozenset[str]:
        """The iteration dimensions that it moves with."""
        return frozenset(dim for index in self.indices for dim, _ in index.terms)

    def indexed_by(self, dim: str) -> list[int]:
        """Positions of its logical dimensions that move with an iteration dimension."""
        return [p for p, index in enumerate(self.indices) if dim in index.dims]

    def extents(self, sizes: Mapping[str, AnySize]) -> tuple[AnySize, ...]:
        """Its shape when the iteration dimensions have these sizes."""
        return tuple([index.extent(sizes) for index in self.indices])


class OperandView(Struct, frozen=True):
    """How a view sees its source."""

    source: TensorRef
    view_map: ViewMap

    @property
    def declared(self) -> tuple[OperandIndex, ...]:
        """How the source is indexed by what shows a part of it.

        A graph that reads the source whole, too, has dimensions of its own for that, and no
        margins: what only moves elements has them.
        """
        moving = self.view_map.moving
        return self.source.indices if moving is None else moving.operands[self.view_map.position]

    @property
    def all(self) -> bool:
        """Whether it is all of the source, its dimensions perhaps in another order."""
        return self.whole and len(self.view_map.axes) == len(self.source.indices)

    @property
    def whole(self) -> bool:
        """Whether it is all of the source, perhaps with more dimensions of size 1."""
        own, view_map = self.declared, self.view_map
        pairs = zip(view_map.axes, view_map.indices, strict=True)
        along = [(axis, index) for axis, index in pairs if axis.step]
        return (
            len(along) == len(own)
            and view_map.plain
            and all(a.step == 1 and i.margins == own[a.dimension].margins for a, i in along)
        )


class SpecRef(Struct, frozen=True):
    """The matched operation, ``f``. ``tensors`` are its operands, inputs first.

    ``match``: what of a graph is what, where the rule matches an operator of several statements.
    """

    family: Family
    tensors: tuple[TensorRef, ...]
    match: Match | None = None

    @property
    def out(self) -> TensorRef:
        """The operand that is written."""
        return self.tensors[-1]

    def member(self, name: str, target: Target) -> TensorRef | float | str:
        """An operand, what is computed on the way, a scalar or a dimension, by its name."""
        operation = self.family.operation
        if self.match is not None:
            name = self.match.tensors.get(name) or self.match.dims[name]
        composition = composition_of(operation.operator)
        if composition is not None and name in composition.locals:
            return self.local(name, target)
        operands = dict(zip(operation.names, self.tensors, strict=True))
        return operands[name] if name in operands else operation.values.get(name, name)

    def intermediates(self, target: Target) -> Iterator[TensorRef]:
        """What may be computed on the way."""
        for name in self.family.operation.operator.intermediates:
            yield self.local(name, target)

    def local(self, name: str, target: Target) -> TensorRef:
        """What a graph computes; as yet nowhere, which counts as the farthest level."""
        composition = composition_of(self.family.operation.operator)
        assert composition is not None
        indices = composition.locals[name]
        rank = len(indices)
        operand = Operand(composition.graph.dtype(name), target.farthest, tuple(range(rank)))
        packing = ABSENT if self.tensors[0].packing is ABSENT else packed(rank)
        return TensorRef(f"{INTERMEDIATE}{name}", name, operand, indices, packing)


def spec_ref(
    family: Family, packing: Sequence[Packing] | None = None, match: Match | None = None
) -> SpecRef:
    """``f`` for a family, its operands packed like this."""
    operation = family.operation
    packings = (ABSENT,) * len(family.operands) if packing is None else packing
    parts = zip(operation.names, family.operands, operation.operands, packings, strict=True)
    return SpecRef(family, tuple(TensorRef(str(p), *part) for p, part in enumerate(parts)), match)


def point(target: Target, variant: Variant, coordinates: Sequence[Size]) -> Point:
    """Coordinates, in the order of a table's axes, by name."""
    dims = variant.family.operation.dims
    used = coordinates[len(dims) :]
    return Point(
        with_hidden(variant.family.operation, dict(zip(dims, coordinates, strict=False))),
        {
            level.name: capacity_units
            for level, capacity_units in zip(target.bounded, used, strict=True)
        },
        variant.packing,
    )


def operation_sizes(
    operation: Operation, tensors: tuple[TensorRef, ...], sizes: Sizes
) -> tuple[tuple[Size, ...], Truth]:
    """Sizes of an operation's dimensions: from the shapes of its operands, or from like sums.

    Where shapes do not tell the sizes of a sum's dimensions, and the operand is indexed by the same
    sum of the matched one's dimensions, they are those.
    A box also has sizes that do not go together: a window that is larger than what it is over. So
    what must hold for there to be an operation is given as well. There is none whose sizes cannot
    be told.
    """
    found = dict(with_hidden(operation, sizes_from(operation, [t.extents(sizes) for t in tensors])))
    for indices, tensor in zip(operation.operands, tensors, strict=True):
        for index, own in zip(indices, tensor.indices, strict=True):
            if [factor for _, factor in index.terms] == [factor for _, factor in own.terms]:
                for (dim, _), (matched, _) in zip(index.terms, own.terms, strict=True):
                    found.setdefault(dim, sizes[matched])
    possible: Truth = True
    if not found.keys() >= {*operation.dims}:
        possible = found.keys() >= {*operation.dims}
        found = {dim: found.get(dim, 1) for dim in operation.dims}
    for dim in (d for d in operation.dims if np.any(np.less(found[d], 1))):
        possible = possible & np.greater_equal(found[dim], 1)
        found[dim] = np.maximum(found[dim], 1)
    return tuple(found[d] for d in operation.dims), possible


def inner_and_outer(tensor: TensorRef, sizes: Sizes) -> tuple[Size, Size]:
    """Elements that lie packed together, and how many such runs there are."""
    extents = extents_in_memory(tensor, sizes)
    split = len(extents) - contiguity(tensor.packing)
    if np.size(split) == 1:
        first = int(np.reshape(split, -1)[0])
        return prod(extents[first:], start=1), prod(extents[:first], start=1)
    inner: Size = 1
    outer: Size = 1
    for position, extent in enumerate(extents):
        inner = inner * np.where(position < split, 1, extent)
        outer = outer * np.where(position < split, extent, 1)
    return inner, outer


def extents_in_memory(tensor: TensorRef, sizes: Sizes) -> tuple[Size, ...]:
    """Its shape as it lies in memory, slowest first: numbers of panels, and a panel.

    Where there are fewer dimensions, what is missing in front is 1; the last panel counts as if it
    were full.
    """
    extents = tensor.extents(sizes)
    ordered = [extents[d] for d in tensor.operand.order]
    panels = panel(tensor.packing)
    if panels == 0 if isinstance(panels, int) else not np.any(panels):
        return (1, *ordered)
    width, height = cuts(panels)
    across, row = _cut(ordered[-1], width)
    if not np.any(height):
        return (across, *ordered[:-1], row)
    along, rows = _cut(ordered[-2], height)
    wide = np.greater(width, 0)
    counts = (np.where(wide, along, 1), np.where(wide, across, along))
    return (*counts, *ordered[:-2], rows, row)


def _cut(extent: Size, size: Size) -> tuple[Size, Size]:
    """How many pieces of a size there are along an extent, and their own; 0 is not cut."""
    pieces = -(-extent // np.maximum(size, 1))
    if np.size(size) == 1 and np.all(size):
        return pieces, size
    return np.where(size > 0, pieces, 1), np.where(size > 0, size, extent)


def lines(tensor: TensorRef, sizes: Sizes) -> Size:
    """Cache lines that it touches, every run of packed elements beginning a line."""
    inner, outer = inner_and_outer(tensor, sizes)
    line = tensor.operand.level.line or 1
    return outer * -(-inner * tensor.operand.dtype.bytes // line)


def registers(tensor: TensorRef, sizes: Mapping[str, AnySize]) -> AnySize:
    """Registers that it fills: every row along its fastest dimension begins a new one."""
    extents = tensor.extents(sizes)
    order = tensor.operand.order
    if not order:
        return 1
    rows = prod((extents[d] for d in order[:-1]), start=1)
    return rows * -(-extents[order[-1]] // tensor.operand.lanes)


def elements(tensor: TensorRef, sizes: Sizes) -> Size:
    """Number of its elements."""
    return prod(tensor.extents(sizes), start=1)


def elements_in_memory(tensor: TensorRef, sizes: Sizes) -> Size:
    """Elements that a whole tensor takes, with what fills up the last panel."""
    return prod(extents_in_memory(tensor, sizes), start=1)


def capacity_units(tensor: TensorRef, level: Level, copied: bool, sizes: Sizes, page: int) -> Size:
    """What a tensor takes of a level's capacity, where it lies or copied to a place of its own.

    Of rows that lie a multiple of the page apart, the lines at the same place in a page share the
    sets of a cache. So each row keeps whole pages from others, however short it is.
    """
    if not level.addressable:
        return registers(tensor, sizes)
    if copied:
        size = elements_in_memory(tensor, sizes) * tensor.operand.dtype.bytes
    else:
        length, rows = inner_and_outer(tensor, sizes)
        aliased = (rows > 1) & (paged(tensor.packing) == 1)
        whole = np.where(aliased, max(page, level.line), level.line)
        size = rows * -(-length * tensor.operand.dtype.bytes // whole) * whole
    return -(-size // level.capacity_unit)
