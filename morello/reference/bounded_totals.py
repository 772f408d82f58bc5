"""Sums and extremes of values with bounds.

The error of a sum of n terms is the sum of theirs and, for the additions in any order, (n - 1) u M,
where M is the sum of how large all terms may be (S. M. Rump, "Error estimation of floating-point
summation and dot product", 2012). A product has a rounding for each factor but the first.

What is largest or least rises with every term, so that it lies between that of the lower ends and
that of the upper ones. Where a term may be NaN it depends on the order: it may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from morello.ir.conversion import convert_number
from morello.ir.numeric import Array
from morello.ir.operators import IDENTITIES
from morello.reference.arithmetic import REDUCTIONS, Axes, Place, Products, Shape
from morello.reference.bounded import (
    ANY,
    CERTAINLY,
    EXACT,
    NAN,
    NEGATIVE,
    NONE,
    NOWHERE,
    POSITIVE,
    Bounded,
    kinds,
    spread,
)
from morello.reference.rounding import Rounding
from morello.reference.views import part


class BoundedElements:
    """See `Total`: one value for each element."""

    def __init__(self, rounding: Rounding, shape: Shape) -> None:
        self._dtype = rounding.dtype
        self._values = np.empty(shape, rounding.wide)
        self._error, self._specials = EXACT, NONE

    def put(self, place: Place, values: Bounded, axes: Axes) -> None:
        """See `Total`."""
        part(self._values, place)[...] = values.values
        if values.error is not EXACT:
            if self._error is EXACT:
                self._error = np.zeros(self._values.shape)
            part(self._error, place)[...] = values.error
        if values.specials is not NONE:
            if self._specials is NONE:
                self._specials = np.zeros(self._values.shape, np.uint8)
            part(self._specials, place)[...] = values.specials

    def result(self) -> Bounded:
        """See `Total`."""
        return Bounded(self._values, self._error, self._specials, self._dtype)


class BoundedSum:
    """See `Total`. ``terms``: how many are summed for each element, without ``old``."""

    def __init__(self, rounding: Rounding, shape: Shape, terms: int, old: Bounded | None) -> None:
        self._rounding = rounding
        self._terms = terms
        self._additions = terms - 1
        self._values = np.zeros(shape, rounding.wide)
        self._error, self._size = np.zeros(shape), np.zeros(shape)
        self._specials, self._nan = np.zeros(shape, np.uint8), np.zeros(shape, np.bool_)
        if old is not None:
            self._additions += 1
            self.put((), old, ())

    def put(self, place: Place, values: Bounded, axes: Axes) -> None:
        """See `Total`."""
        total = np.add.reduce(values.values, axes, self._values.dtype)
        size, error = _finite(values.magnitude()), EXACT
        if values.error is not EXACT:
            error = np.add.reduce(np.broadcast_to(values.error, values.shape), axes)
            size = size + values.error
        specials = _reduced(np.bitwise_or, values.specials, values.shape, axes)
        nan = _reduced(np.logical_or, _certain_nan(values), values.shape, axes)
        self._add(place, total, error, np.add.reduce(size, axes), specials, nan)

    def put_products(self, products: Products) -> None:
        """All terms at once."""
        rounding = self._rounding
        factors: list[Bounded] = [factor for factor, _ in products.factors]
        total = products.sum([f.values for f in factors])
        if not rounding.dtype.floating and all(f.exact for f in factors):
            self._add((), total, EXACT, EXACT, NONE, NOWHERE)
            return
        wide = [_finite(f.magnitude()) + f.error for f in factors]
        size = products.sum(wide)
        error = self._products_error(products, wide, size)
        # A product of all factors but an infinite one may underflow to 0 if one is as small.
        vanishing = 2 * rounding.least + rounding.lost if len(factors) > 2 else 0.0
        # One of so many factors is at most this if their product vanishes.
        vanishing **= 1 / max(1, len(factors) - 1)
        strange, nan = _special(products, total, vanishing)
        if len(factors) > 2:  # a product on the way may be beyond the range
            strange = strange | (_partial(products, wide) > rounding.largest)
        self._add((), total, error, size + error, np.where(strange, ANY, NONE), nan)

    def _products_error(self, products: Products, wide: Sequence[Array], size: Array) -> Array:
        """The errors of all products, of factors up to ``wide``; ``size`` is their sum."""
        rounding, roundings = self._rounding, len(wide) - 1
        error = ((1 + rounding.unit) ** roundings - 1) * size
        # What one rounding loses near 0 is multiplied by the factors that are still to come.
        times = self._terms if roundings < 2 else _partial(products, wide)
        error += roundings * (rounding.least + rounding.lost) * times
        for i, (factor, _) in enumerate(products.factors):
            if factor.error is not EXACT:
                own = np.broadcast_to(factor.error, factor.shape)
                error += products.sum([*wide[:i], own, *wide[i + 1 :]])
        return np.where(np.isnan(error), np.inf, error)

    def _add(
        self, place: Place, total: Array, error: Array, size: Array, specials: Array, nan: Array
    ) -> None:
        part(self._values, place)[...] += total
        part(self._error, place)[...] += error
        part(self._size, place)[...] += size
        part(self._specials, place)[...] |= specials
        part(self._nan, place)[...] |= nan

    def result(self) -> Bounded:
        """See `Total`."""
        rounding, values = self._rounding, self._values
        if not rounding.dtype.floating:
            error = rounding.wrapped(values, self._error) if self._error.any() else EXACT
            return Bounded(values, error, NONE, rounding.dtype)
        error = self._error + self._additions * (rounding.unit * self._size + rounding.lost)
        specials = self._specials | self._overflows(error)
        if not np.isfinite(error).all():
            error = np.where(np.isnan(error), np.inf, error)
        # Infinities of both signs may meet in a sum.
        both = POSITIVE | NEGATIVE
        specials |= np.where((specials | kinds(values)) & both == both, NAN, NONE)
        error, specials = np.where(self._nan, 0.0, error), np.where(self._nan, NONE, specials)
        return Bounded(values, error, specials & ~kinds(values), rounding.dtype)

    def _overflows(self, error: Array) -> Array:
        """Infinities that partial sums in any order may be: those of all terms of one sign."""
        if not (self._size + error > self._rounding.largest).any():
            return NONE
        # Of positive terms P and others N, the size is P + N and the value P - N.
        known, largest = np.isfinite(self._values), self._rounding.largest
        above, below = (
            np.where(known, (self._size + sign * self._values) / 2, self._size) + error > largest
            for sign in (1, -1)
        )
        return np.where(above, POSITIVE, NONE) | np.where(below, NEGATIVE, NONE)


def _finite(values: Array) -> Array:
    """Numbers as they are, and 0 for infinities and NaN."""
    known = np.isfinite(values)
    return values if known.all() else np.where(known, values, 0.0)


def _certain_nan(values: Bounded) -> Array:
    """Where an element is NaN whatever else happens."""
    nan = np.isnan(values.values)
    return nan & (values.specials == 0) & ~np.isinf(values.error) if nan.any() else NOWHERE


def _reduced(ufunc: np.ufunc, mask: Array, shape: Shape, axes: Axes) -> Array:
    """A mask that broadcasts to this shape, reduced; most often nothing is in it."""
    if not mask.any():
        return np.zeros((), mask.dtype)
    reduced: Array = ufunc.reduce(np.broadcast_to(mask, shape), axes)
    return reduced


def _special(products: Products, total: Array, vanishing: float) -> tuple[Array, Array]:
    """Where infinities and NaN may arise of what is off, and where there is NaN anyhow.

    What is smaller than ``vanishing`` may count as 0 to an infinity.
    """
    factors = [factor for factor, _ in products.factors]

    def somewhere(masks: Mapping[int, Array]) -> Array:
        arrays = [
            np.broadcast_to(masks.get(i, CERTAINLY), f.shape).astype(np.float64)
            for i, f in enumerate(factors)
        ]
        found: Array = products.sum(arrays) > 0
        return found

    strange, nan = NOWHERE, NOWHERE
    for i, factor in enumerate(factors):
        if factor.specials.any():
            strange = strange | somewhere({i: factor.specials != 0})
    # An infinite factor would show in the sum, if only as NaN where it meets a 0.
    if np.isfinite(total).all():
        return strange, nan
    for i, j in permutations(range(len(factors)), 2):
        infinite, zero = np.isinf(factors[i].values), _near_zero(factors[j], vanishing)
        if infinite.any() and zero.any():
            strange = strange | somewhere({i: infinite, j: zero})
    for i, factor in enumerate(factors):
        certain = _certain_nan(factor)
        if certain.any():
            nan = nan | somewhere({i: certain})
    return strange, nan


def _near_zero(values: Bounded, vanishing: float) -> Array:
    """Where it is not known whether an element is 0, or of which sign."""
    least = values.magnitude() - values.error
    near: Array = (values.error > 0) & (least <= 0) | (least < vanishing)
    return near


def _partial(products: Products, wide: Sequence[Array]) -> Array:
    """What no product of some of the factors exceeds, and no sum of them over all terms."""
    return products.sum([np.maximum(w, 1.0) for w in wide])


class BoundedExtreme:
    """See `Total`: the largest or the least. ``old``: a value more."""

    def __init__(
        self, rounding: Rounding, reduction: str, shape: Shape, old: Bounded | None
    ) -> None:
        self._dtype = rounding.dtype
        self._ufunc, self._largest = REDUCTIONS[reduction], reduction == "max"
        start = convert_number(IDENTITIES[reduction], rounding.dtype)
        self._values = np.full(shape, start, rounding.wide)
        self._low, self._high = np.full(shape, start, np.float64), np.full(shape, start, np.float64)
        self._specials = np.zeros(shape, np.uint8)
        if old is not None:
            self.put((), old, ())

    def put(self, place: Place, values: Bounded, axes: Axes) -> None:
        """See `Total`."""
        low, high = values.interval()
        if values.specials.any():  # what may be infinite, the wrong way, leaves it to the others
            low = np.where(values.specials & NEGATIVE, -np.inf, low) if self._largest else low
            high = high if self._largest else np.where(values.specials & POSITIVE, np.inf, high)
        for total, given in ((self._values, values.values), (self._low, low), (self._high, high)):
            target = part(total, place)
            reduced = self._ufunc.reduce(np.broadcast_to(given, values.shape), axes)
            target[...] = self._ufunc(target, reduced)
        specials = _reduced(np.bitwise_or, values.specials, values.shape, axes)
        part(self._specials, place)[...] |= specials

    def result(self) -> Bounded:
        """See `Total`."""
        error = spread(self._values, self._low, self._high)
        if not self._dtype.floating:
            return Bounded(self._values, error if error.any() else EXACT, NONE, self._dtype)
        farthest, infinity = (self._low, POSITIVE) if self._largest else (self._high, NEGATIVE)
        specials = self._specials & infinity | kinds(farthest)
        unordered = (self._specials & NAN != 0) | np.isnan(self._values)
        error = np.where(unordered, np.inf, error)
        specials = np.where(unordered, ANY, specials & ~kinds(self._values))
        return Bounded(self._values, error, specials, self._dtype)
