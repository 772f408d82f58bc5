"""Test inputs: the same for the same seed; random ones, and nasty ones.

Integers take their full range, so that wraparound shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from morello.errors import UsageError
from morello.language.diagnostics import suggestion
from morello.reference.views import extents
from morello.spec.conversion import Array, convert
from morello.spec.dtypes import DType, floating_limits
from morello.spec.operators import Operation

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
"""Every kind of input by name; ``nonfinite`` is the only one with infinities and NaN."""


def make(kind: str, shape: Sequence[int], dtype: DType, rng: np.random.Generator) -> Array:
    """A C-contiguous array of one of the `KINDS`, in the dtype's numpy type."""
    if kind not in KINDS:
        raise UsageError(f"there are no inputs called '{kind}'", help=suggestion(kind, KINDS))
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

    ``dtypes`` has one for every operand, the output last.
    """
    read = [p for p in range(len(operation.operands)) if operation.reads(p)]
    return make_all(kind, [(extents(operation, sizes, p), dtypes[p]) for p in read], seed)
