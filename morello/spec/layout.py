"""Layouts: the order in which a tensor's dimensions lie in memory, and how contiguous a view is.

A layout is a permutation of the logical dimensions, slowest first: row-major of a matrix is
``(0, 1)``, column-major ``(1, 0)``.

The *contiguity* of a view is the number of its innermost (fastest) physical dimensions that are
packed together: a whole row-major matrix has contiguity 2; its left half has contiguity 1, since
only its rows are packed. Where not all of it is packed, what is may be *paged*: a multiple of the
page long and apart, so that it aliases in the caches. Both in one number, so that an array of them
is a coordinate, are its *packing*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Layout = tuple[int, ...]

Packing = Any
"""Twice the contiguity, and 1 if paged: an int, or an int64 array that broadcasts over a box."""


def packed(rank: int) -> int:
    """Packing of a whole tensor."""
    return 2 * rank


def contiguity(packing: Packing) -> Packing:
    """Number of innermost dimensions that are packed together."""
    return packing >> 1


def paged(packing: Packing) -> Packing:
    """1 where rows are a multiple of the page apart, else 0."""
    return packing & 1


def row_major(rank: int) -> Layout:
    """The layout of C arrays."""
    return tuple(range(rank))


def contiguity_of_part(layout: Layout, dimensions: Sequence[int]) -> int:
    """Contiguity of a strict part, along these logical dimensions, of a packed tensor.

    Dimensions inside the tiled ones stay packed with them; those outside no longer are.
    """
    return len(layout) - max((layout.index(d) for d in dimensions), default=0)


def strides(layout: Layout, shape: Sequence[int]) -> tuple[int, ...]:
    """Stride of each logical dimension, in elements, of a packed tensor of this shape."""
    result = [0] * len(shape)
    stride = 1
    for dimension in reversed(layout):
        result[dimension] = stride
        stride *= shape[dimension]
    return tuple(result)
