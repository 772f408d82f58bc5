"""Test inputs: the same for the same seed; random ones, and nasty ones.

Integers take their full range, so that wraparound shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from morello.errors import UsageError
from morello.ir.conversion import convert
from morello.ir.dtypes import DType, floating_limits
from morello.ir.graphs.composition import composition_of
from morello.ir.numeric import Array
from morello.ir.operators import Operation
from morello.language.diagnostics import suggestion
from morello.reference.views import extents

Generator = Callable[[np.random.Generator, Sequence[int], DType], Array]


def _random(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Between -1 and 1; any integer."""
    if dtype.floating:
        return rng.uniform(-1.0, 1.0, shape)
    limits = np.iinfo(dtype.numpy)
    return rng.integers(limits.min, limits.max, shape, endpoint=True)


def _small(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Integers between -8 and 8, from 0 without a sign: short sums of products are exact in f32."""
    least = -8 if dtype.floating else max(-8, int(np.iinfo(dtype.numpy).min))
    return rng.integers(least, 8, shape, endpoint=True)


def _zeros(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Zeros of both signs."""
    zeros = np.zeros(shape)
    return np.where(rng.random(shape) < 0.5, -zeros, zeros)


def _negative(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Below zero; integers without a sign are in the upper half of their range."""
    if dtype.floating:
        return -rng.uniform(0.5, 1.0, shape)
    limits = np.iinfo(dtype.numpy)
    if limits.min == 0:
        return rng.integers(limits.max // 2 + 1, limits.max, shape, endpoint=True)
    return rng.integers(limits.min, 0, shape)


def _huge(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Near both ends of the range: sums and products overflow."""
    if not dtype.floating:
        limits = np.iinfo(dtype.numpy)
        return rng.choice([limits.min, limits.min + 1, limits.max - 1, limits.max], shape)
    exponents = np.log(floating_limits(dtype).max) * rng.uniform(0.25, 1.0, shape)
    values: Array = np.exp(exponents) * rng.choice([-1.0, 1.0], shape)
    return values


def _tiny(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Around and below the smallest normal number; integers -1, 0, 1, if they have them."""
    if not dtype.floating:
        return rng.integers(max(-1, int(np.iinfo(dtype.numpy).min)), 1, shape, endpoint=True)
    return rng.uniform(-4.0, 4.0, shape) * floating_limits(dtype).smallest_normal


def _uneven(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Rows in turn tiny and large: products of both are neither; integers are tiny and huge."""
    large = 2.0 ** rng.uniform(40, 50, shape) if dtype.floating else _huge(rng, shape, dtype)
    rows = np.arange(prod(shape[:-1])) + rng.integers(2)
    even = (rows % 2 == 0).reshape((*shape[:-1], 1) if shape else ())
    return np.where(even, _tiny(rng, shape, dtype), large)


def _nonfinite(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Like random, one in ten an infinity or not a number; integers are huge."""
    if not dtype.floating:
        return _huge(rng, shape, dtype)
    values = _random(rng, shape, dtype)
    special = rng.choice([np.inf, -np.inf, np.nan], shape)
    return np.where(rng.random(shape) < 0.1, special, values)


def _positive(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Above zero, at most 1; any integer."""
    return 1.0 - rng.random(shape) if dtype.floating else _random(rng, shape, dtype)


def _masked(rng: np.random.Generator, values: Array, axis: int, dtype: DType) -> Array:
    """Along an axis leading elements replaced, of half of the lines all: lines differ, or not.

    A line's are -infinity, or half the lowest number: means of that itself may leave the range.
    """
    if dtype.floating:
        least = [-np.inf, -np.inf, -floating_limits(dtype).max / 2]
    else:
        least = [int(np.iinfo(dtype.numpy).min)]
    length = values.shape[axis]
    lines = [1 if d == axis else n for d, n in enumerate(values.shape)]
    shape = lines if rng.random() < 0.5 else [1] * len(lines)
    counts = rng.integers(0, 2 * length, shape)
    places = np.arange(length).reshape([-1 if d == axis else 1 for d in range(len(lines))])
    return np.where(places < counts, rng.choice(least, shape), values)


KINDS: Mapping[str, Generator] = {
    "random": _random,
    "small": _small,
    "zeros": _zeros,
    "negative": _negative,
    "huge": _huge,
    "tiny": _tiny,
    "uneven": _uneven,
    "nonfinite": _nonfinite,
}
"""Every kind of input by name; ``nonfinite`` is the only one with infinities and NaN.

For one operation there is `MASKED` as well.
"""

PERIOD = 2**20 - 3
"""Elements after which large inputs repeat: to draw them takes longer than most programs do.

A prime, so that rows and tiles are at other places of it.
"""

MASKED = "masked"
"""Positive, but for one input: some of its leading elements along a dimension that is reduced.

These are -infinity or very low, the least integer: as where scores that do not count are masked.
Results are numbers then, but for those that all elements are masked of.
"""


def make(kind: str, shape: Sequence[int], dtype: DType, rng: np.random.Generator) -> Array:
    """A C-contiguous array of one of the `KINDS`, in the dtype's numpy type."""
    if kind not in KINDS:
        raise UsageError(f"there are no inputs called '{kind}'", help=suggestion(kind, KINDS))
    if prod(shape) > PERIOD and kind != "uneven":  # that is about rows
        period = convert(np.asarray(KINDS[kind](rng, (PERIOD,), dtype)), dtype)
        return np.resize(period, shape)
    values = np.asarray(KINDS[kind](rng, shape, dtype))
    return np.ascontiguousarray(convert(values, dtype)).reshape(shape)


def make_all(
    kind: str, tensors: Sequence[tuple[Sequence[int], DType]], seed: int = 0
) -> list[Array]:
    """One array for each (shape, dtype); different from each other, equal for an equal seed."""
    rng = np.random.default_rng(seed)
    return [make(kind, shape, dtype, rng) for shape, dtype in tensors]


def for_operation(
    kind: str, operation: Operation, sizes: Sequence[int], dtypes: Sequence[DType], seed: int = 0
) -> list[Array]:
    """Arrays for every operand that the operation reads: inputs, and an accumulated output last.

    ``kind`` is one of `KINDS`, or `MASKED`. ``dtypes`` has one for every operand, the output last.
    """
    read = [p for p in range(len(operation.operands)) if operation.reads(p)]
    tensors = [(extents(operation, sizes, p), dtypes[p]) for p in read]
    if kind != MASKED:
        return make_all(kind, tensors, seed)
    rng = np.random.default_rng(seed)
    arrays = [_positive(rng, *tensor) for tensor in tensors]
    reduced = reduced_axes(operation)
    if reduced:
        operand, axis = reduced[rng.integers(len(reduced))]
        arrays[operand] = _masked(rng, arrays[operand], axis, dtypes[operand])
    pairs = zip(arrays, (dtype for _, dtype in tensors), strict=True)
    return [np.ascontiguousarray(convert(array, dtype)) for array, dtype in pairs]


def reduced_axes(operation: Operation) -> list[tuple[int, int]]:
    """Input and axis of everything along which the operation, or one of a graph's, reduces."""
    composition = composition_of(operation.operator)
    reduced = set(operation.reduced_dims)
    if composition is not None:
        kept = {t: {d for i in a for d in i.dims} for t, a in composition.locals.items()}
        for node in composition.graph.nodes:
            own = kept.get(node.output, set(operation.output_dims))
            reduced |= composition.dims[node.output] - own
    return [
        (operand, axis)
        for operand, access in enumerate(operation.operands[:-1])
        for axis, index in enumerate(access)
        if not reduced.isdisjoint(index.dims)
    ]
