"""How the operands of a family can be packed, closed under its own tilings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from morello.rewriting.references import TensorRef, inner_and_outer
from morello.search.box import Ints
from morello.spec.layout import contiguity, contiguity_of_part, paged
from morello.spec.machine import Target


def packing_closure(
    target: Target, tensor: TensorRef, packings: set[int], sizes: Mapping[str, Ints]
) -> set[int]:
    """These packings, and those of every part that a loop may leave of the operand.

    Args:
        target: For its page, and for where it asks how operands are packed.
        tensor: The operand.
        packings: What the family is asked for.
        sizes: For each iteration dimension, the list of its sizes.
    """
    if not target.moves_lines_from(tensor.operand.level):
        return packings
    rank = len(tensor.operand.layout)
    parts = _parts(target, tensor, sizes)
    result: set[int] = set()
    pending = list(packings)
    while pending:
        packing = pending.pop()
        result.add(packing)
        for part, aliasing in parts:
            if part < contiguity(packing):
                rows = aliasing if contiguity(packing) == rank else {paged(packing)}
                pending += {2 * part + row for row in rows} - result
    return result


def _parts(
    target: Target, tensor: TensorRef, sizes: Mapping[str, Ints]
) -> list[tuple[int, set[int]]]:
    """Contiguity of a part along each dimension that a loop may divide, and how rows can lie."""
    parts = []
    grid = dict(zip(sizes, np.ix_(*sizes.values()), strict=True))
    for dim, values in sizes.items():
        dimensions = tensor.indexed_by(dim)
        if not dimensions or values[-1] == 1:
            continue
        part = contiguity_of_part(tensor.operand.layout, dimensions)
        lengths, _ = inner_and_outer(replace(tensor, packing=2 * part), grid)
        aliasing = lengths * tensor.operand.dtype.bytes % target.page == 0
        parts.append((part, {int(a) for a in np.unique(aliasing)}))
    return parts
