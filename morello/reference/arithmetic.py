"""What the reference computes with: numbers alone, or numbers with bounds of their errors.

Here are the numbers alone. Those with bounds are in `morello.reference.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from morello.ir.conversion import convert, convert_number
from morello.ir.dtypes import DType
from morello.ir.numeric import Array
from morello.ir.operators import IDENTITIES
from morello.language.evaluate import OPERATIONS, Operations, Value
from morello.reference.views import part

REDUCTIONS: Mapping[str, np.ufunc] = {"+": np.add, "max": np.maximum, "min": np.minimum}

Place = tuple[slice, ...]
Axes = tuple[int, ...]
Shape = Sequence[int]


class Products(Struct, frozen=True):
    """Products to be summed. ``factors``: each with the dimensions of its axes, as numbers.

    ``outputs``: the dimensions of the result; ``order``: how numpy may look for one of contraction.
    """

    factors: Sequence[tuple[Value, list[int]]]
    outputs: list[int]
    order: tuple[str, int] | bool

    def sum(self, arrays: Sequence[Array]) -> Array:
        """The sum with an array in place of each factor.

        To numpy a factor that terms have in common is one of their sum. So infinite terms are
        counted: where they are of both signs, the sum is NaN.
        """
        known = [np.isfinite(array) for array in arrays]
        if all(each.all() for each in known):
            return self._sum(arrays)
        total = self._sum([np.where(k, array, 0) for k, array in zip(known, arrays, strict=True)])
        signs = [np.where(array < 0, -1.0, np.where(array > 0, 1.0, 0.0)) for array in arrays]
        finite = [np.where(k, sign, 0.0) for k, sign in zip(known, signs, strict=True)]
        # A term without a sign has a 0 or NaN for a factor.
        infinite = self._sum([*map(np.abs, signs)]) - self._sum([*map(np.abs, finite)])
        above = self._sum(signs) - self._sum(finite)
        beyond = self._sum(list(map(np.ones_like, finite)))
        beyond -= self._sum([np.where(k, 1.0, 0.0) for k in known])
        one_sign = (np.abs(above) == infinite) & (beyond == infinite)
        limit = np.where(one_sign, np.copysign(np.inf, above), np.nan)
        return np.where(beyond > 0, limit, total)

    def _sum(self, arrays: Sequence[Array]) -> Array:
        arguments: list[Array | list[int]] = []
        for array, (_, axes) in zip(arrays, self.factors, strict=True):
            arguments += [array, axes]
        return np.asarray(np.einsum(*arguments, self.outputs, optimize=self.order))


class Total(Protocol):
    """The elements of an output while their values come in."""

    def put(self, place: Place, values: Value, axes: Axes) -> None:
        """Values for a part of the output; ``axes`` are to be reduced."""

    def result(self) -> Value:
        """The output."""


class Arithmetic(Protocol):
    """Values of one element type: how they are read, computed and collected."""

    operations: Operations

    def constant(self, value: float) -> Value:
        """A number of the meaning, or a scalar, in the type that is computed in."""

    def operand(self, tensor: Value) -> Value:
        """What is read of a tensor, as elements of the type that is computed in."""

    def value(self, value: Value) -> Value:
        """The value of an expression, which may be a plain number."""

    def stored(self, result: Value) -> Value:
        """A result as it is in memory."""

    def total(self, reduction: str | None, shape: Shape, terms: int, old: Value | None) -> Total:
        """What collects an output of this shape, each element from so many terms.

        ``old``: what is there already, as `operand` gives it.
        """

    def sum_of_products(
        self, products: Products, shape: Shape, terms: int, old: Value | None
    ) -> Value:
        """An output that is a sum of products, at once; arguments as in `total`."""


class Numbers:
    """See `Arithmetic`: arrays of numbers, in float64 where the type is floating."""

    operations: Operations = OPERATIONS

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self._wide = np.dtype(np.float64) if dtype.floating else dtype.numpy

    def constant(self, value: float) -> Value:
        """See `Arithmetic`; in numpy's type, so that 1 / 0 is infinite, and integers wrap."""
        return self._wide.type(convert_number(value, self._dtype))

    def operand(self, tensor: Array) -> Array:
        """See `Arithmetic`."""
        elements: Array = convert(tensor, self._dtype).astype(self._wide, copy=False)
        return elements

    def value(self, value: Value) -> Array:
        """See `Arithmetic`."""
        values = np.asarray(value)
        return values.astype(self._wide) if self._dtype.floating else convert(values, self._dtype)

    def stored(self, result: Array) -> Array:
        """See `Arithmetic`; rounded to its type."""
        return convert(result, self._dtype)

    def total(self, reduction: str | None, shape: Shape, terms: int, old: Array | None) -> Total:
        """See `Arithmetic`."""
        if old is not None:
            return NumberTotal(reduction, old.copy())
        start = 0 if reduction is None else convert_number(IDENTITIES[reduction], self._dtype)
        return NumberTotal(reduction, np.full(shape, start, self._wide))

    def sum_of_products(
        self, products: Products, shape: Shape, terms: int, old: Array | None
    ) -> Array:
        """See `Arithmetic`."""
        total = products.sum([factor for factor, _ in products.factors])
        return total if old is None else old + total


class NumberTotal:
    """See `Total`. ``values``: those to begin with."""

    def __init__(self, reduction: str | None, values: Array) -> None:
        self._ufunc = None if reduction is None else REDUCTIONS[reduction]
        self._values = values

    def put(self, place: Place, values: Array, axes: Axes) -> None:
        """See `Total`."""
        target = part(self._values, place)
        if self._ufunc is None:
            target[...] = values
            return
        reduced = self._ufunc.reduce(values, axis=axes, dtype=target.dtype) if axes else values
        target[...] = self._ufunc(target, reduced)

    def result(self) -> Array:
        """See `Total`."""
        return self._values
