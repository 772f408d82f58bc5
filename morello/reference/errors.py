"""Running error analysis: what operators and functions do to values with bounds of their errors.

As in N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.3, with bounds that
hold and are not only estimates. Of every value there is the exact one, in float64, and how far from
it a right program may be (`Bounded`). Each operation carries the errors of its operands on:

    a + b       ea + eb
    a * b       |a| eb + ea (|b| + eb)
    a / b       (ea + |a / b| eb) / (|b| - eb), unbounded where b may be 0
    f(a)        what f of both ends of a's interval is from f(a), for a function that only rises

and adds one rounding to the output's type: u times what the result may be in size, u half the
spacing at 1, and half the smallest number where it may underflow. Of exact operands the rounding
itself is known, and taken. A function that is not rounded correctly has an error in units in the
last place, each 2 u. Where a fused multiply-add, or a wider type, saves a rounding, the result is
nearer, and inside.

Where the outcome of a comparison depends on errors, both are possible, and what is chosen by it may
be either. A rounding to integers is a function that only rises, in steps.

A value beyond the range of the type may overflow: then it is an infinity, or whatever that becomes.
Where subnormal numbers may count as 0 (``flushes``), each operand and each result may be 0 that may
be below the smallest normal number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from morello.ir.conversion import convert_number
from morello.ir.dtypes import DType
from morello.ir.numeric import Array
from morello.ir.primitives import FUNCTION_ULPS
from morello.language.evaluate import NEGATION, OPERATIONS, SELECTION, Operations, Value
from morello.reference.arithmetic import Products, Shape, Total
from morello.reference.bounded import (
    CERTAINLY,
    EXACT,
    NONE,
    NOWHERE,
    Bounded,
    bounded,
    converted,
    covering,
    kinds,
    spread,
)
from morello.reference.bounded_totals import BoundedElements, BoundedExtreme, BoundedSum
from morello.reference.rounding import CORRECT, Rounding
from morello.reference.specials import decided, outcomes

ULPS = {"sqrt": CORRECT, "floor": 0.0, "round": 0.0, **FUNCTION_ULPS}
"""How far the functions may be off, in units in the last place; 0 where nothing is rounded."""

DOMAINS = {"sqrt": 0.0, "log": 0.0, "log1p": -1.0}
"""Where functions begin that are not defined everywhere."""

FALLING = frozenset({"erfc"})
"""Functions that only fall."""

WAVES = frozenset({"sin", "cos"})
"""Functions between -1 and 1 that are nowhere steeper than 1. All others only rise."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class Truth(Struct, frozen=True, eq=False):
    """Arrays of booleans: whether a condition holds, and whether no error can change that."""

    value: Array
    certain: Array

    def negated(self) -> Truth:
        """Where the condition does not hold."""
        return Truth(~self.value, self.certain)

    def both(self, other: Truth) -> Truth:
        """Where both conditions hold."""
        # One that is certainly false decides, whatever the other one is.
        false = self.certain & ~self.value | other.certain & ~other.value
        return Truth(self.value & other.value, self.certain & other.certain | false)


class Errors:
    """The operations on values with bounds, in one element type.

    Attributes:
        operations: For `morello.language.evaluate.evaluate`.
    """

    def __init__(self, dtype: DType, *, flushes: bool = False) -> None:
        self.dtype = dtype
        self.rounding = Rounding.to(dtype, flushes=flushes)
        self.operations: Operations = {
            **{name: partial(self._sum, name) for name in ("+", "-")},
            **{name: partial(self._comparison, name) for name in COMPARISONS},
            **{name: partial(self._extreme, name) for name in ("min", "max")},
            **{name: partial(self._function, name) for name in ULPS},
            "*": self._product,
            "/": self._quotient,
            "//": self._floor_quotient,
            "%": self._remainder,
            "ceil_div": self._ceiling_quotient,
            "abs": self._absolute,
            NEGATION: self._negation,
            SELECTION: self._selection,
            "and": lambda a, b: a.both(b),
            "or": lambda a, b: a.negated().both(b.negated()).negated(),
            "not": Truth.negated,
        }

    # ---------------------------------------------------------------- values

    def constant(self, value: float) -> Bounded:
        """See `Arithmetic`."""
        return self.rounding.flushed(
            bounded(np.asarray(convert_number(value, self.dtype)), self.dtype)
        )

    def operand(self, tensor: Array | Bounded) -> Bounded:
        """What is read of a tensor, as elements of the type that is computed in."""
        return self.rounding.flushed(converted(tensor, self.dtype))

    def value(self, value: Value) -> Bounded:
        """The value of an expression, which may be a plain number; integers are converted back."""
        known = self._value(value)
        if self.dtype.floating or known.values.dtype == self.dtype.numpy:
            return known
        ends = (bounded(end, self.dtype).values.astype(np.float64) for end in known.interval())
        values = bounded(known.values, self.dtype).values
        error = EXACT if known.exact else spread(values, *ends)
        return Bounded(values, error, NONE, self.dtype)

    def stored(self, result: Bounded) -> Bounded:
        """See `Arithmetic`; the last operation's rounding is in the error."""
        return result

    def total(self, reduction: str | None, shape: Shape, terms: int, old: Bounded | None) -> Total:
        """See `Arithmetic`."""
        if reduction is None:
            return BoundedElements(self.rounding, shape)
        if reduction == "+":
            return BoundedSum(self.rounding, shape, terms, old)
        return BoundedExtreme(self.rounding, reduction, shape, old)

    def sum_of_products(
        self, products: Products, shape: Shape, terms: int, old: Bounded | None
    ) -> Bounded:
        """See `Arithmetic`."""
        total = BoundedSum(self.rounding, shape, terms, old)
        total.put_products(products)
        return total.result()

    def _value(self, value: Value) -> Bounded:
        return value if isinstance(value, Bounded) else self.constant(value)

    def _result(
        self,
        function: Callable[..., Array],
        operands: Sequence[Bounded],
        error: Array,
        ulps: float = CORRECT,
        *,
        values: Array | None = None,
        undefined: Array = NOWHERE,
    ) -> Bounded:
        """What an operation gives, rounded.

        Args:
            function: What it does to arrays.
            operands: What it is done to.
            error: How far off the result is for operands that are off, and numbers; NaN or infinite
                where that has no bound.
            ulps: The error of the operation itself; 0: it does not round.
            values: The exact results, if they are known.
            undefined: Where operands may be numbers that it is not defined for.
        """
        specials, rounding = NONE, self.rounding
        if values is None:
            values = function(*(operand.values for operand in operands))
        if not self.dtype.floating:
            return Bounded(values, rounding.wrapped(values, error), NONE, self.dtype)
        if not all(operand.exact for operand in operands):
            error, specials = outcomes(
                function, operands, values, error, rounding.largest, undefined=undefined
            )
        if ulps:
            error = rounding.error(values, error, ulps)
            specials = _union(specials, rounding.overflows(values, error))
        return rounding.flushed(Bounded(values, error, specials, self.dtype))

    # ---------------------------------------------------------------- arithmetic

    def _sum(self, name: str, left: Value, right: Value) -> Bounded:
        a, b = self._value(left), self._value(right)
        return self._result(OPERATIONS[name], (a, b), _plus(a.error, b.error))

    def _product(self, left: Value, right: Value) -> Bounded:
        a, b = self._value(left), self._value(right)
        error = EXACT
        if a.error is not EXACT or b.error is not EXACT:
            error = a.magnitude() * b.error + a.error * (b.magnitude() + b.error)
        return self._result(operator.mul, (a, b), error)

    def _quotient(self, left: Value, right: Value) -> Bounded:
        a, b = self._value(left), self._value(right)
        error = EXACT
        if not (a.exact and b.exact):
            room = b.magnitude() - b.error
            error = (a.error + np.abs(a.values / b.values) * b.error) / room
            error = np.where((room > 0) | (b.error == 0), error, np.inf)
        return self._result(operator.truediv, (a, b), error)

    def _floor_quotient(self, left: Value, right: Value) -> Bounded:
        a, b = self._value(left), self._value(right)
        values = a.values // b.values
        if not self.dtype.floating and a.exact and b.exact:
            return Bounded(values, EXACT, NONE, self.dtype)
        quotient = self._quotient(a, b)
        error = spread(values, *(np.floor(end) for end in quotient.interval()))
        # A quotient by an infinity is 0, or -1 where the signs differ.
        return self._either(operator.floordiv, (a, b), error, quotient)

    def _ceiling_quotient(self, left: Value, right: Value) -> Bounded:
        return self._negation(self._floor_quotient(self._negation(left), right))

    def _remainder(self, left: Value, right: Value) -> Bounded:
        a, b = self._value(left), self._value(right)
        values = a.values % b.values
        if not self.dtype.floating and a.exact and b.exact:
            return Bounded(values, EXACT, NONE, self.dtype)
        rest = self._sum("-", a, self._product(b, self._floor_quotient(a, b)))
        return self._either(operator.mod, (a, b), rest.error, rest)

    def _either(
        self,
        function: Callable[[Array, Array], Array],
        operands: tuple[Bounded, Bounded],
        error: Array,
        steps: Bounded,
    ) -> Bounded:
        """A function that is computed at once, or in steps that may overflow.

        At once, an infinity has no quotient that is rounded down: it is NaN. In steps it is one.
        """
        infinite = np.isinf(operands[1].values)
        result = self._result(function, operands, error, 0, undefined=infinite)
        apart = _union(steps.specials, kinds(steps.values)) & ~kinds(result.values)
        specials = _union(result.specials, apart)
        return Bounded(result.values, result.error, specials, self.dtype)

    def _negation(self, operand: Value) -> Bounded:
        a = self._value(operand)
        return self._result(operator.neg, (a,), a.error, 0)

    def _absolute(self, operand: Value) -> Bounded:
        a = self._value(operand)
        error = a.error
        if error is not EXACT and not self.dtype.floating:
            low, high = a.interval()  # the least integer has no absolute value
            wraps = (low < 0) & (low <= np.iinfo(self.dtype.numpy).min)
            error = np.where(wraps, np.inf, spread(a.values, low, high))
        return self._result(np.abs, (a,), error, 0)

    # ---------------------------------------------------------------- functions

    def _function(self, name: str, operand: Value) -> Bounded:
        a, function = self._value(operand), OPERATIONS[name]
        values, error, undefined = function(a.values), EXACT, NOWHERE
        if not a.exact:
            low, high = a.interval()
            begin = DOMAINS.get(name, -np.inf)
            undefined = low < begin
            # The part of an interval that is in the domain counts. One that is all outside stays:
            # both ends then give NaN.
            if undefined.any():
                low = np.where(high < begin, low, np.maximum(low, begin))
            if name in WAVES:
                off = np.maximum(high - a.values, a.values - low)
                error = np.fmin(off, 1 + np.abs(values))
            else:
                ends = function(low), function(high)
                error = spread(values, *(reversed(ends) if name in FALLING else ends))
        return self._result(function, (a,), error, ULPS[name], values=values, undefined=undefined)

    def _extreme(self, name: str, first: Value, *others: Value) -> Bounded:
        choose, found = OPERATIONS[name], self._value(first)
        for other in map(self._value, others):
            values, error = choose(found.values, other.values), EXACT
            if not (found.exact and other.exact):
                ends = zip(found.interval(), other.interval(), strict=True)
                error = spread(values, *(choose(a, b) for a, b in ends))
            found = self._result(choose, (found, other), error, 0, values=values)
        return found

    # ---------------------------------------------------------------- choices

    def _comparison(self, name: str, left: Value, right: Value) -> Truth:
        a, b = self._value(left), self._value(right)
        value = OPERATIONS[name](a.values, b.values)
        if a.exact and b.exact:
            return Truth(value, CERTAINLY)
        (low, high), (least, most) = a.interval(), b.interval()
        if name in ("==", "!="):
            certain = (high < least) | (most < low) | (low == high) & (least == most)
        else:
            # At these two corners the difference of both is least and largest.
            certain = OPERATIONS[name](low, most) == OPERATIONS[name](high, least)
        certain = decided(OPERATIONS[name], (a, b), value, certain, self.rounding.largest)
        return Truth(value, certain)

    def _selection(self, condition: Truth, then: Value, otherwise: Value) -> Bounded:
        a, b = self._value(then), self._value(otherwise)
        values = np.where(condition.value, a.values, b.values)
        if a.exact and b.exact and condition.certain.all():
            return Bounded(values, EXACT, NONE, self.dtype)
        maybe = ~condition.certain
        choices = [(condition.value | maybe, a), (~condition.value | maybe, b)]
        return covering(values, choices, self.dtype)


def _plus(left: Array, right: Array) -> Array:
    return right if left is EXACT else left if right is EXACT else left + right


def _union(left: Array, right: Array) -> Array:
    return right if left is NONE else left if right is NONE else left | right
