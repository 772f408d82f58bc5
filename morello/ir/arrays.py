"""Arrays as their elements lie in memory: from numpy's logical shape into a layout, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from morello.ir.layout import Layout
from morello.ir.numeric import Array


def to_memory(layout: Layout, array: Array) -> Array:
    """The elements of an array in a layout, as an array of rank 1; the rest is 0."""
    if layout.stated:
        memory = np.zeros(layout.elements(array.shape), array.dtype)
        from_memory(layout, array.shape, memory)[...] = array
        return memory
    ordered = array.transpose(layout.order)
    if not layout.panel:
        return np.ascontiguousarray(ordered).reshape(-1)
    memory = np.zeros(layout.shape_in_memory(array.shape), array.dtype)
    split, places = _panels(layout, array.shape)
    filled = np.zeros([count * extent for count, extent in split], array.dtype)
    filled[tuple(map(slice, ordered.shape))] = ordered
    panels = filled.reshape(sum(split, ())).transpose(places).reshape(len(memory), -1)
    memory.reshape(len(memory), -1)[:, : panels.shape[1]] = panels  # a gap may follow
    return memory.reshape(-1)


def from_memory(layout: Layout, shape: Sequence[int], memory: Array) -> Array:
    """An array of this logical shape whose elements lie in memory (rank 1) in a layout.

    It shares the memory unless the layout has panels.
    """
    if layout.stated:
        return as_strided(memory, shape, [n * memory.itemsize for n in layout.stated])
    physical = memory.reshape(layout.shape_in_memory(shape))
    if layout.panel:
        split, places = _panels(layout, shape)
        lengths = sum(split, ())
        used = np.prod(lengths, dtype=int) // len(physical)
        panels = physical.reshape(len(physical), -1)[:, :used]
        apart = panels.reshape([lengths[p] for p in places]).transpose(np.argsort(places).tolist())
        joined = apart.reshape([count * extent for count, extent in split])
        physical = joined[tuple(slice(shape[d]) for d in layout.order)]
    return physical.transpose(np.argsort(layout.order).tolist())


def _panels(layout: Layout, shape: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Of each dimension in the layout's order: how many panels, and its extent in one.

    Returns:
        Those, and which of them all is where in memory, the slowest first.
    """
    split = [
        (-(-shape[d] // layout.cuts[d]), layout.cuts[d]) if d in layout.cuts else (1, shape[d])
        for d in layout.order
    ]
    return split, [2 * p for p in range(len(split))] + [2 * p + 1 for p in range(len(split))]
