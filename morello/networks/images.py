"""Convolutions and pools, channels first: of images, and of rows as images of one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.networks.kinds import Translation


class Windows(Struct, frozen=True):
    """How windows lie in images: of each dimension the size of a window, steps, and paddings.

    ``around`` is what padding consists of.
    """

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    around: float = 0

    @property
    def single(self) -> bool:
        """Whether each is one pixel, and none is left out."""
        return {*self.sizes, *self.strides} == {1} and not any((*self.before, *self.after))

    def reach(self, counts: Sequence[int]) -> tuple[int, ...]:
        """How many elements so many windows go over, with padding."""
        rows = zip(counts, self.strides, self.dilations, self.sizes, strict=True)
        return tuple((n - 1) * s + d * (k - 1) + 1 for n, s, d, k in rows)

    def inside(self, shape: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
        """How many of the elements so many windows go over that are no padding."""
        rows = zip(shape, self.reach(counts), self.before, strict=True)
        return tuple(min(size, reach - low) for size, reach, low in rows)

    def counts(self, shape: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are in images of a shape."""
        one = self.reach([1] * len(shape))
        rows = zip(shape, self.before, self.after, one, self.strides, strict=True)
        return tuple((size + low + high - own) // step + 1 for size, low, high, own, step in rows)

    def of(self, axes: Sequence[int]) -> Windows:
        """Those of some of the dimensions."""
        every = self.sizes, self.strides, self.dilations, self.before, self.after
        parts = [tuple(own[axis] for axis in axes) for own in every]
        return Windows(parts[0], parts[1], parts[2], parts[3], parts[4], self.around)

    def in_rows(self) -> Windows:
        """Those of rows, as windows of images."""
        return Windows(
            (1, *self.sizes),
            (1, *self.strides),
            (1, *self.dilations),
            (0, *self.before),
            (0, *self.after),
            self.around,
        )


def convolved(t: Translation, x: str, data: Array, windows: Windows, groups: int) -> str:
    """Images with filters, in the shape of their windows. Of bytes the sums are of 32 bits.

    Args:
        t: Takes the nodes.
        x: Images: one dimension for them, one for channels, and at least one more.
        data: The filters: outputs, channels of a group, and the dimensions of a window.
        windows: How they lie.
        groups: Parts of the channels, each with filters of its own.
    """
    shape = t.shape(x)
    if len(shape) == 4 and shape[3] == data.shape[3] == 1 and windows.of([1]).single:
        # Columns are rows: vectors lie along these.
        shape, data, windows = shape[:3], data[..., 0], windows.of([0])
    if len(shape) == 3:
        shape, data, windows = _row(shape), data.reshape(_row(data.shape)), windows.in_rows()
    if len(shape) > 5 or (len(shape) == 5 and groups > 1):
        return _convolved_in_slices(t, x, data, windows, groups)
    result = (shape[0], len(data), *windows.counts(shape[2:]))
    image = t.view(x, shape)
    often = len(data) // groups
    # Many filters of one channel are as those of several: nothing is gained by repeating it.
    if groups == shape[1] and (groups > 1 or often == 1):
        if often > 1:  # each filter has a channel of its own
            repeated = t.repeat(
                t.view(image, (*shape[:2], 1, *shape[2:])), (*shape[:2], often, *shape[2:])
            )
            image = t.view(repeated, (shape[0], len(data), *shape[2:]))
        return _filtered(t, image, data, result, windows, depthwise=True)
    if groups == 1:
        return _correlated(t, image, data, result, windows)
    # One group of channels after the other.
    own, wanted = (shape[0], shape[1] // groups), (result[0], result[1] // groups)
    parts = []
    for number, filters in enumerate(np.split(data, groups)):
        part = t.cut(image, (*own, *shape[2:]), (0, number * own[1], 0, 0))
        parts.append(_correlated(t, part, filters, (*wanted, *result[2:]), windows))
    return t.concat(parts, 1)


def pooled(t: Translation, x: str, counts: Sequence[int], windows: Windows, update: str) -> str:
    """All windows of images, reduced; ``counts``: how many there are along each dimension."""
    shape = t.shape(x)
    if len(shape) == 3:
        shape, counts, windows = _row(shape), (1, *counts), windows.in_rows()
    image = reached(t, t.view(x, shape), counts, windows, update)
    if len(shape) > 4:
        return _pooled_in_slices(t, image, counts, windows, update)
    return _pooled(t, image, counts, windows, update)


def reached(t: Translation, x: str, counts: Sequence[int], windows: Windows, update: str) -> str:
    """All that windows reach, and no more: what lies beyond is cut off or added."""
    shape = t.shape(x)
    reach, inside = windows.reach(counts), windows.inside(shape[2:], counts)
    image = t.cut(x, (*shape[:2], *inside), (0,) * len(shape))
    around = 0.0
    if update != "+=":
        around = t.limits(x)[0 if update == "max=" else 1]
    return t.frame(image, (0, 0, *windows.before), (*shape[:2], *reach), around)


def elements_of(
    t: Translation, image: str, axes: Sequence[int], counts: Sequence[int], windows: Windows
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each place in a window along some dimensions, and the element there of all windows.

    Args:
        t: Takes the nodes.
        image: Images with their padding.
        axes: The dimensions that the windows have.
        counts: How many windows there are along each of these.
        windows: Of each of these.
    """
    whole = t.shape(image)
    for place in np.ndindex(*windows.sizes):
        shape, starts, steps = [*whole], [0] * len(whole), [1] * len(whole)
        rows = zip(axes, counts, place, windows.strides, windows.dilations, strict=True)
        for axis, count, own, stride, dilation in rows:
            shape[axis], starts[axis], steps[axis] = count, own * dilation, stride
        yield place, t.cut(image, shape, starts, steps)


def _pooled(
    t: Translation, image: str, counts: Sequence[int], windows: Windows, update: str
) -> str:
    return t.window(
        image,
        (*t.shape(image)[:2], *counts),
        strides=windows.strides,
        dilations=windows.dilations,
        kernel=windows.sizes,
        update=update,
    )


COMBINED = {"+=": "{0} + {1}", "max=": "max({0}, {1})", "min=": "min({0}, {1})"}
"""Two elements, reduced."""


def _pooled_in_slices(
    t: Translation, image: str, counts: Sequence[int], windows: Windows, update: str
) -> str:
    """Along the first dimension, slice by slice; then all slices are channels of images."""
    shape, dtype = t.shape(image), t.type(image)
    deep, flat = windows.of([0]), windows.of(range(1, len(counts)))
    slices = (own for _, own in elements_of(t, image, [2], counts[:1], deep))
    found = reduce(lambda a, b: t.elementwise(COMBINED[update], a, b, dtype=dtype), slices)
    images = t.view(found, (shape[0], shape[1] * counts[0], *shape[3:]))
    inner = _pooled_in_slices if len(counts) > 3 else _pooled
    return t.view(inner(t, images, counts[1:], flat, update), (*shape[:2], *counts))


def _convolved_in_slices(t: Translation, x: str, data: Array, windows: Windows, groups: int) -> str:
    """Every slice along the first dimension is an image; what filters give for each is added."""
    shape = t.shape(x)
    deep, flat = windows.of([0]), windows.of(range(1, len(shape) - 2))
    counts = windows.counts(shape[2:])
    # What is around is framed by the images themselves, but for the first dimension.
    along = deep.counts(shape[2:3])
    framed = (*shape[:2], deep.before[0] + shape[2] + deep.after[0], *shape[3:])
    image = t.frame(x, (0, 0, deep.before[0], *(0,) * (len(shape) - 3)), framed, windows.around)
    order = (0, 2, 1, *range(3, len(shape)))
    total = ""
    for place, own in elements_of(t, t.permute(image, order), [1], along, deep):
        images = t.view(own, (shape[0] * counts[0], shape[1], *shape[3:]))
        part = convolved(t, images, data[:, :, place[0]], flat, groups)
        total = t.elementwise("{0} + {1}", total, part, dtype=t.type(part)) if total else part
    result = t.view(total, (shape[0], counts[0], len(data), *counts[1:]))
    return t.permute(result, order)


def _row(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of rows, as that of images of one row."""
    return (*shape[:2], 1, shape[2])


def _correlated(
    t: Translation, image: str, data: Array, result: Sequence[int], windows: Windows
) -> str:
    """An image with filters of all of its channels."""
    shape, channels = t.shape(image), data.shape[1]
    pixels, dtype = prod(shape[2:]), _summed_in(t, image)
    if windows.single and pixels == 1:
        matrix, rows = t.constant(data.reshape(len(data), channels)), t.view(image, shape[:2])
        return t.view(t.product(rows, matrix, swap_b=True, dtype=dtype), result)
    if windows.single and shape[0] == 1:
        # Every pixel is a column of one matrix.
        matrix = t.constant(data.reshape(len(data), channels))
        columns = t.view(image, (channels, pixels))
        return t.view(t.product(matrix, columns, dtype=dtype), result)
    return _filtered(t, image, data, result, windows, depthwise=False)


def _filtered(
    t: Translation,
    image: str,
    data: Array,
    result: Sequence[int],
    windows: Windows,
    *,
    depthwise: bool,
) -> str:
    return t.filter(
        padded(t, image, windows),
        t.constant(data),
        result,
        _summed_in(t, image),
        strides=windows.strides,
        dilations=windows.dilations,
        depthwise=depthwise,
    )


def _summed_in(t: Translation, image: str) -> str:
    return t.type(image) if t.is_float(image) else "int32"


def padded(t: Translation, image: str, windows: Windows) -> str:
    """Images with their padding."""
    shape = t.shape(image)
    rows = zip(shape[2:], windows.before, windows.after, strict=True)
    padded = [*shape[:2], *(size + low + high for size, low, high in rows)]
    return t.frame(image, (0, 0, *windows.before), padded, windows.around)
