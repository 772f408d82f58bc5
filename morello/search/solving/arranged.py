"""An alternative on a box, arranged for reading and writing tables.

Tables lie in memory with the axes of memory in use first (`Box.storage`). Here an alternative's
arrays have their axes in that order, and the coordinates of its sub-Specs are ranks in the lists of
their variants.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from morello.ir.numeric import Array, Ints
from morello.rewriting.bind import SharedBinding
from morello.search.tables.box import Box


class Child(Struct, frozen=True):
    """A sub-Spec of every Spec of the box.

    ``place``: among the alternative's children; ``own``: it is of the same variant. ``weight`` is 0
    where it does not exist. ``indices``: for each axis of the child's table, in the order of
    memory, the rank of its coordinate; ``shape`` is that of the table.
    """

    place: int
    own: bool
    weight: Array
    indices: tuple[Ints, ...]
    shape: tuple[int, ...]


class Arranged(Struct, frozen=True):
    """An alternative: its arrays over the box, with one more axis in front if it has tile sizes.

    ``cost`` is in cycles, ``volume`` in iterations. ``positions`` is the number of its options.
    ``shape`` is that of the box in memory; ``lists`` identify it.
    """

    shape: tuple[int, ...]
    lists: tuple[bytes, ...]
    positions: int
    tiled: bool
    mask: Array
    cost: Array
    volume: Array
    children: tuple[Child, ...]


def arrange(shared: SharedBinding, box: Box, boxes: Sequence[Box], own: Sequence[bool]) -> Arranged:
    """Arrange an alternative for the box that it is bound to.

    Args:
        shared: The alternative, bound.
        box: Of its own variant.
        boxes: Of the variants that its uses lead to.
        own: Whether those are its own variant.
    """
    children = []
    for place, (use, child) in enumerate(zip(shared.uses, boxes, strict=True)):
        indices = tuple(box.stored(child.rank(a, use.coordinates[a])) for a in child.storage)
        shape = tuple(child.shape[a] for a in child.storage)
        children.append(Child(place, own[place], box.stored(use.weight), indices, shape))
    return Arranged(
        tuple(box.shape[a] for a in box.storage),
        box.key,
        len(shared.tiles) or 1,
        bool(shared.tiles),
        box.stored(shared.mask),
        box.stored(shared.cost),
        box.stored(box.volume),
        tuple(children),
    )
