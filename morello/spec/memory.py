"""Arrays as their elements lie in memory: from numpy's logical shape into a layout, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from morello.spec.layout import Layout

Array = np.ndarray[Any, np.dtype[Any]]


def to_memory(layout: Layout, array: Array) -> Array:
    """The elements of an array in a layout, as an array of rank 1; what fills up panels is 0."""
    ordered = array.transpose(layout.order)
    if not layout.panel:
        return np.ascontiguousarray(ordered).reshape(-1)
    panels, *outer, width = layout.shape_in_memory(array.shape)
    filled = np.zeros((*outer, panels * width), array.dtype)
    filled[..., : ordered.shape[-1]] = ordered
    return np.moveaxis(filled.reshape(*outer, panels, width), -2, 0).reshape(-1)


def from_memory(layout: Layout, shape: Sequence[int], memory: Array) -> Array:
    """An array of this logical shape whose elements lie in memory (rank 1) in a layout.

    It shares the memory unless the layout has panels.
    """
    physical = memory.reshape(layout.shape_in_memory(shape))
    if layout.panel:
        rows = np.moveaxis(physical, 0, -2)
        joined = rows.reshape(*rows.shape[:-2], -1)
        physical = joined[..., : shape[layout.order[-1]]]
    return physical.transpose(np.argsort(layout.order).tolist())
