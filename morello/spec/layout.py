"""Layouts: the order in which a tensor's dimensions lie in memory, and how contiguous a view is.

A layout is a permutation of the logical dimensions, slowest first: row-major of a matrix is
``(0, 1)``, column-major ``(1, 0)``.

The *contiguity* of a view is the number of its innermost (fastest) physical dimensions that are
packed together: a whole row-major matrix has contiguity 2; its left half has contiguity 1, since
only its rows are packed.
"""

from __future__ import annotations

from collections.abc import Sequence

Layout = tuple[int, ...]


def row_major(rank: int) -> Layout:
    """The layout of C arrays."""
    return tuple(range(rank))


def contiguity_after_tiling(layout: Layout, contiguity: int, dimension: int) -> int:
    """Contiguity of a strict part, along one logical dimension, of a view.

    Dimensions inside the tiled one stay packed with it; those outside it no longer are.
    """
    position = layout.index(dimension)
    return min(contiguity, len(layout) - position)


def strides(layout: Layout, shape: Sequence[int]) -> tuple[int, ...]:
    """Stride of each logical dimension, in elements, of a packed tensor of this shape."""
    result = [0] * len(shape)
    stride = 1
    for dimension in reversed(layout):
        result[dimension] = stride
        stride *= shape[dimension]
    return tuple(result)
