"""Programs as hardware runs them, in numpy: every operation rounds, products contract at will.

They are other values for the one evaluator: arrays in float64 of numbers that float32 has, but for
products that a fused multiply-add has not rounded yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np

from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.constants import value_of
from morello.ir.operators import Operation
from morello.language import ast
from morello.language.evaluate import OPERATIONS, SELECTION, Operations, Value, evaluate
from morello.reference.bounded import NAN, NEGATIVE, NONE, POSITIVE, Bounded, kinds
from morello.reference.errors import ULPS
from morello.reference.expressions import elements
from morello.reference.views import element_view
from tests.reference.declare import SPAN, binary, call, element, number

Array = np.ndarray[Any, np.dtype[Any]]

NORMAL = 2.0**-126


class Hardware:
    """Arithmetic in f32.

    ``fused``: products that are added are not rounded. ``flushes``: subnormal numbers are 0.
    """

    def __init__(
        self, rng: np.random.Generator, *, fused: bool = False, flushes: bool = False
    ) -> None:
        self._rng, self._fused, self._flushes = rng, fused, flushes
        self.operations: Operations = {
            **{name: partial(self._apply, name) for name in OPERATIONS},
            **{name: partial(self._function, name) for name in ULPS},
            "*": self._product,
            SELECTION: lambda c, a, b: np.where(c, self.rounded(a), self.rounded(b)),
        }

    def rounded(self, values: Value) -> Array:
        """Values that the type has."""
        with np.errstate(all="ignore"):
            result = np.asarray(values, np.float64).astype(np.float32).astype(np.float64)
        lost = self._flushes & (np.abs(result) < NORMAL)
        return np.where(lost, np.copysign(0.0, result), result)

    def run(
        self,
        operation: Operation,
        sizes: Sequence[int],
        inputs: Sequence[Array],
        old: Array | None = None,
    ) -> Array:
        """The output of an operation; what it reduces, in an order of its own."""
        size = dict(zip(operation.dims, sizes, strict=True))
        meaning = value_of(operation, DTYPES["f32"])
        cells = {}
        for read in elements(meaning):
            view = element_view(operation, read)
            axes = tuple(i for i, d in enumerate(operation.dims) if d not in view.dims)
            values = view.of(inputs[view.position], size)
            cells[read.tensor] = self.rounded(np.expand_dims(values, axes))
        environment = _Cells(cells, dict(operation.scalars))
        with np.errstate(all="ignore"):
            value = evaluate(meaning, environment, self.operations)
            terms = np.broadcast_to(value, tuple(sizes))
            reduction = operation.operator.reduction
            if reduction is not None:
                outputs = len(operation.output_dims)
                terms = terms.reshape((*terms.shape[:outputs], -1))
                given = [] if old is None else [self.rounded(old)]
                combine = self.operations[reduction]
                terms = self.reduced(terms, combine, given)
            return self.rounded(terms).astype(np.float32)

    def reduced(
        self, terms: Array, combine: Callable[[Value, Value], Value], given: Sequence[Array] = ()
    ) -> Array:
        """The last axis reduced one by one, in lanes, or in pairs as they come; from what is given.

        A product that is added first is not rounded, as by a fused multiply-add.
        """
        order = self._rng.permutation(terms.shape[-1])
        columns = [terms[..., k] for k in order]
        way = self._rng.integers(3)
        if way == 0:
            return self._one_by_one(columns, combine, given)
        if way == 1:
            lanes = [self._one_by_one(columns[i::4], combine) for i in range(min(4, len(columns)))]
            return self._one_by_one(lanes, combine, given)
        heap = [*map(self.rounded, columns), *given]
        while len(heap) > 1:
            heap = [*heap[2:], combine(heap[0], heap[1])]
        return heap[0]

    def _one_by_one(
        self,
        columns: Sequence[Array],
        combine: Callable[[Value, Value], Value],
        given: Sequence[Array] = (),
    ) -> Array:
        first, *others = [*given, *columns]
        return reduce(combine, others, self.rounded(first))

    def _apply(self, name: str, *operands: Value) -> Value:
        given = [np.asarray(operand) for operand in operands]
        if given[0].dtype == np.bool_:
            return OPERATIONS[name](*given)
        contracts = self._fused and name in ("+", "-")
        values = OPERATIONS[name](*(given if contracts else map(self.rounded, given)))
        return values if values.dtype == np.bool_ else self.rounded(values)

    def _product(self, left: Value, right: Value) -> Array:
        values = np.asarray(self.rounded(left) * self.rounded(right))
        return values if self._fused else self.rounded(values)

    def _function(self, name: str, operand: Value) -> Array:
        exact = np.asarray(OPERATIONS[name](self.rounded(operand)))
        beyond = ULPS[name] - 0.5  # half a unit is for the rounding that follows
        if beyond <= 0:
            return self.rounded(exact)
        unit = np.nan_to_num(np.spacing(np.abs(exact.astype(np.float32)))).astype(np.float64)
        return self.rounded(exact + self._rng.uniform(-beyond, beyond, exact.shape) * unit)


@dataclass(frozen=True)
class _Cells:
    """An environment of elements and scalars."""

    elements: Mapping[str, Array]
    scalars: Mapping[str, float]

    def element(self, node: ast.Element) -> Value:
        return self.elements[node.tensor]

    def name(self, node: ast.Name) -> Value:
        return self.scalars[node.id]

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise AssertionError(node)

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise AssertionError(node)


# --------------------------------------------------------------------------- what is computed

CONSTANTS = (0.0, 1.0, -1.0, 0.5, 2.0, 3.25, 2.0**-17, 100000.0)
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def random_expression(rng: np.random.Generator, depth: int, *, floating: bool = True) -> ast.Expr:
    """An expression of elements of X, Z and W that are indexed alike."""

    def inner() -> ast.Expr:
        return random_expression(rng, depth - 1, floating=floating)

    def condition() -> ast.Expr:
        found: ast.Expr = binary(str(rng.choice(COMPARISONS)), inner(), inner())
        if rng.random() < 0.2:
            found = binary(str(rng.choice(["and", "or"])), found, condition())
        return ast.Unary("not", found, span=SPAN) if rng.random() < 0.2 else found

    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.8:
            return element(f"{rng.choice(['X', 'Z', 'W'])}[i...]")
        return number(float(rng.choice(CONSTANTS)) if floating else int(rng.integers(-3, 6)))
    functions = ["abs", *ULPS] if floating else ["abs"]
    quotients = ["/", "/", "/", "//", "%"] if floating else ["*"]
    match int(rng.integers(10)):
        case 0 | 1 | 2:
            return binary(str(rng.choice(["+", "-"])), inner(), inner())
        case 3 | 4:
            return binary("*", inner(), inner())
        case 5:
            return binary(str(rng.choice(quotients)), inner(), inner())
        case 6:
            return call(str(rng.choice(["min", "max"])), inner(), inner())
        case 7:
            return call(str(rng.choice(functions)), inner())
        case 8:
            return ast.Unary("-", inner(), span=SPAN)
        case _:
            return ast.Conditional(inner(), condition(), inner(), span=SPAN)


# --------------------------------------------------------------------------- what it is off


def uncertain(rng: np.random.Generator, actual: Array, dtype: DType) -> Bounded:
    """A tensor with bounds that a program may hold as ``actual``: off, and special, here and there.

    Errors are of all sizes, and none at some elements; some elements may be anything.
    """
    shape = actual.shape
    if not dtype.floating:
        off = np.where(rng.random(shape) < 0.3, rng.integers(-60, 60, shape), 0)
        return Bounded((actual + off).astype(actual.dtype), np.abs(off) * 1.0, NONE, dtype)
    wide = actual.astype(np.float64)
    with np.errstate(all="ignore"):
        relative = np.abs(wide) * 10.0 ** rng.uniform(-9, 1, shape) * (rng.random(shape) < 0.7)
        absolute = 10.0 ** rng.uniform(-45, 3, shape) * (rng.random(shape) < 0.2)
        center = wide + (relative + absolute) * rng.choice([-1, 1], shape)
        error = np.abs(center - wide) * (1 + 2.0**-40)
    special = ~np.isfinite(wide)
    center, error = np.where(special, wide, center), np.where(special, 0.0, error)
    hidden = special & (rng.random(shape) < 0.5)  # the exact value is a number
    center = np.where(hidden, rng.uniform(-2, 2, shape), center)
    error = np.where(rng.random(shape) < 0.02, np.inf, np.where(hidden, rng.random(shape), error))
    also = rng.choice([POSITIVE, NEGATIVE, NAN], shape) * (rng.random(shape) < 0.05)
    specials = np.where(hidden, kinds(wide), NONE) | also.astype(np.uint8)
    return Bounded(center, error, specials & ~kinds(center), dtype)
