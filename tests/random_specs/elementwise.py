"""Operators of the oracle that work on every element alone, from what each is by name."""

from __future__ import annotations

import math

import numpy as np

from .bounds import Floats
from .formats import Array
from .oracle import V, added, less, like, operator, over, times

EXP_UNITS = LOG_UNITS = 2.0
LOG1P_UNITS, EXPM1_UNITS, ERFC_UNITS = 3.0, 4.0, 16.0
TANH_UNITS = ERF_UNITS = 6.0
WAVE_UNITS = ATAN_UNITS = 3.0
"""Stated errors of functions, twice their units in the last place, which are up to 2 u."""

FADED = 1e-36
"""What is left where an exponential leaves the range of f32, times the element."""


def _each(function: object) -> np.ufunc:
    return np.frompyfunc(function, 1, 1)  # type: ignore[call-overload, no-any-return]


def _erf(values: Array) -> Array:
    return np.asarray(_each(math.erf)(values), dtype=np.float64)


def _normal(values: Array) -> Array:
    """The distribution function of the normal distribution, exact in its tails."""
    return np.asarray(_each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)))(values), np.float64)


def _logistic(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))


@operator
def copy(x: V) -> V:
    return x


@operator
def relu(x: V) -> V:
    return x.larger(like(x, 0))


@operator
def neg(x: V) -> V:
    return x.negated()


@operator
def abs_(x: V) -> V:
    return x.absolute()


@operator
def sqrt(x: V) -> V:
    return x.rising(np.sqrt, 0.0).widened()


@operator
def add(x: V, z: V) -> V:
    return added(x, z)


@operator
def sub(x: V, z: V) -> V:
    return less(x, z)


@operator
def mul(x: V, z: V) -> V:
    return times(x, z)


@operator
def div(x: V, z: V) -> V:
    return over(x, z)


@operator
def maximum(x: V, z: V) -> V:
    return x.larger(z)


@operator
def minimum(x: V, z: V) -> V:
    return x.smaller(z)


@operator
def scale(x: V, factor: float) -> V:
    return times(x, like(x, factor))


@operator
def shift(x: V, amount: float) -> V:
    return added(x, like(x, amount))


@operator
def clamp(x: V, low: float, high: float) -> V:
    found = x.larger(like(x, low)).smaller(like(x, high))
    if not isinstance(x, Floats):
        return found
    inside = x.clipped(low, high)  # NaN stays NaN
    return Floats(
        np.where(x.must, np.inf, np.minimum(found.low, inside.low)),
        np.where(x.must, -np.inf, np.maximum(found.high, inside.high)),
        x.nan,
    )


@operator
def select(c: V, x: V, z: V) -> V:
    return x.where(c.nonzero(), z)


@operator
def square(x: V) -> V:
    return x.squared().widened()


@operator
def reciprocal(x: V) -> V:
    return over(like(x, 1), x)


@operator
def rsqrt(x: V) -> V:
    return over(like(x, 1), sqrt(x))


@operator
def floor(x: V) -> V:
    return x.rising(np.floor) if isinstance(x, Floats) else x


@operator
def round_(x: V) -> V:
    return x.rising(np.rint) if isinstance(x, Floats) else x


@operator
def exp(x: V) -> V:
    found = x.rising(np.exp).widened(EXP_UNITS)
    return found.clipped(0.0, np.inf)


@operator
def log(x: V) -> V:
    return x.rising(np.log, 0.0).widened(LOG_UNITS)


@operator
def tanh(x: V) -> V:
    return x.rising(np.tanh).widened(TANH_UNITS).clipped(-1.0, 1.0)


@operator
def erf(x: V) -> V:
    return x.rising(_erf).widened(ERF_UNITS).clipped(-1.0, 1.0)


@operator
def erfc(x: V) -> V:
    found = x.negated().rising(lambda v: np.asarray(_each(math.erfc)(-v), np.float64))
    return found.widened(ERFC_UNITS).clipped(0.0, 2.0)


@operator
def sin(x: V) -> V:
    return x.wave(np.sin).widened(WAVE_UNITS).clipped(-1.0, 1.0)


@operator
def cos(x: V) -> V:
    return x.wave(np.cos).widened(WAVE_UNITS).clipped(-1.0, 1.0)


@operator
def atan(x: V) -> V:
    return x.rising(np.arctan).widened(ATAN_UNITS)


@operator
def log1p(x: V) -> V:
    return x.rising(np.log1p, -1.0).widened(LOG1P_UNITS)


@operator
def expm1(x: V) -> V:
    return x.rising(np.expm1).widened(EXPM1_UNITS).clipped(-1.0, np.inf)


@operator
def sigmoid(x: V) -> V:
    return x.rising(_logistic).widened(6.0, FADED).clipped(0.0, 1.0)


@operator
def silu(x: V) -> V:
    return _times_share(x, sigmoid(x))


@operator
def gelu(x: V) -> V:
    # The share of x is a sum of 1 and an erf near -1, whose error does not fade with it. Rounding
    # x / sqrt(2) changes the erf by a few u at most.
    share = x.rising(_normal).widened(4.0, 6 * 2.0**-24).clipped(0.0, 1.0 + 2.0**-22)
    return _times_share(x, share)


@operator
def gelu_tanh(x: V) -> V:
    with np.errstate(all="ignore"):
        inner = x.rising(lambda v: 1.5957691216057308 * (v + 0.044715 * v * v * v))
    return _times_share(x, sigmoid(inner.widened(8.0)))


def _times_share(x: V, share: V) -> V:
    """The element times what lies between 0 and 1: NaN may be where it is infinite."""
    infinite = np.isinf(x.low) | np.isinf(x.high)
    found = x.times(share).widened(3.0)
    low = np.where(infinite & ~found.must, np.minimum(found.low, -1e-30), found.low)
    return Floats(low, np.where(found.must, found.high, np.maximum(found.high, low)), found.nan)


@operator
def leaky_relu(x: V, slope: float) -> V:
    return x.where(x.positive(), times(x, like(x, slope)))


@operator
def softplus(x: V) -> V:
    found = x.rising(lambda v: np.logaddexp(0.0, v)).widened(8.0, FADED)
    return found.clipped(0.0, np.inf)


@operator
def reciprocal_from_one(x: V) -> V:
    return over(like(x, 1), x.larger(like(x, 1)))


@operator
def carried(s: V, m: V, n: V) -> V:
    return times(s, exp(less(m, n)))
