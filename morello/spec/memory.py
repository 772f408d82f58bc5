"""Arrays as their elements lie in memory: from numpy's logical shape into a layout, and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from morello.spec.layout import Layout

Array = np.ndarray[Any, np.dtype[Any]]


def to_memory(layout: Layout, array: Array) -> Array:
    """The elements of an array in a layout, as an array of rank 1; the rest is 0."""
    ordered = array.transpose(layout.order)
    if not layout.panel:
        return np.ascontiguousarray(ordered).reshape(-1)
    memory = np.zeros(layout.shape_in_memory(array.shape), array.dtype)
    panels, width = len(memory), layout.panel
    *outer, extent = ordered.shape
    filled = np.zeros((*outer, panels * width), array.dtype)
    filled[..., :extent] = ordered
    by_panel = np.moveaxis(filled.reshape(*outer, panels, width), -2, 0)
    memory.reshape(panels, -1, width)[:, : prod(outer)] = by_panel.reshape(panels, -1, width)
    return memory.reshape(-1)


def from_memory(layout: Layout, shape: Sequence[int], memory: Array) -> Array:
    """An array of this logical shape whose elements lie in memory (rank 1) in a layout.

    It shares the memory unless the layout has panels.
    """
    physical = memory.reshape(layout.shape_in_memory(shape))
    if layout.panel:
        *outer, extent = (shape[d] for d in layout.order)
        rows = physical.reshape(len(physical), -1, layout.panel)[:, : prod(outer)]
        joined = np.moveaxis(rows, 0, -2).reshape(*outer, -1)
        physical = joined[..., :extent]
    return physical.transpose(np.argsort(layout.order).tolist())
