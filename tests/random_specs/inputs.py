"""Arrays for inputs and weights, with special values, from a seed."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from .cases import Array, Case, Tensor
from .formats import FORMATS, INTEGERS, rounded

Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 3.3e38, -3.3e38, 1e30, 1e-38, -1e-40, 1e-45, 88.8)
NUMPY = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "s32": np.dtype(np.int32),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}


def _plain(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(-2, 2, shape)


def _whole(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.integers(-4, 5, shape).astype(np.float64)


def _positive(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.uniform(0.25, 4, shape)


def _wide(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    signs = rng.choice([-1.0, 1.0], shape)
    values: Array = signs * rng.uniform(1, 2, shape) * 2.0 ** rng.integers(-30, 31, shape)
    return values


def _special(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    share = rng.choice([0.02, 0.1, 0.3])
    return np.where(rng.random(shape) < share, rng.choice(SPECIAL, shape), _plain(rng, shape))


def _masked(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.where(rng.random(shape) < 0.2, -np.inf, _plain(rng, shape))


KINDS: dict[str, Draw] = {
    "plain": _plain,
    "whole": _whole,
    "positive": _positive,
    "wide": _wide,
    "special": _special,
    "masked": _masked,
}


def arrays(case: Case, kind: str, seed: tuple[int, ...]) -> dict[str, Array]:
    """An array for each input and weight."""
    rng = np.random.default_rng([*seed, list(KINDS).index(kind)])
    return {t.name: _array(rng, t, kind) for t in case.given}


def without_subnormals(array: Array) -> Array:
    """Zeros of the same sign in their place."""
    if array.dtype in (NUMPY[dtype] for dtype in INTEGERS):
        return array
    smallest = 2.0**-14 if array.dtype == np.float16 else 2.0**-126
    small = np.abs(array.astype(np.float64)) < smallest
    return np.where(small, np.copysign(np.zeros_like(array), array), array)


def _array(rng: np.random.Generator, tensor: Tensor, kind: str) -> Array:
    dtype = tensor.dtype
    if dtype in FORMATS:
        wide = np.asarray(KINDS[kind](rng, tensor.shape))
        return rounded(wide, FORMATS[dtype]).astype(np.float32).astype(NUMPY[dtype])
    least, most = INTEGERS[dtype]
    if kind in ("whole", "masked"):
        return rng.integers(max(least, -4), 5, tensor.shape).astype(NUMPY[dtype])
    if kind == "special":
        ends = (least, least + 1, 0, 1, most - 1, most)
        return np.asarray(rng.choice(ends, tensor.shape)).astype(NUMPY[dtype])
    return rng.integers(least, most, tensor.shape, endpoint=True).astype(NUMPY[dtype])
