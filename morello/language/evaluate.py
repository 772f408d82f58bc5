"""The one evaluator of expressions: Python numbers and numpy arrays alike.

An expression means the same for one Spec and for a whole box of Specs: arithmetic and comparison
work on numbers and, element by element, on arrays; there is no control flow that looks at values.
Names, attributes, elements and functions that ask about a Spec come from the `Environment`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from morello.language import ast

Value = Any


class Environment(Protocol):
    """What an expression may refer to."""

    def name(self, node: ast.Name) -> Value:
        """Value of a variable."""

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """``base.name``."""

    def element(self, node: ast.Element) -> Value:
        """An element of a tensor."""

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        """A function that is not arithmetic."""


def _ceil_div(a: Value, b: Value) -> Value:
    return -(-a // b)


def _fold(choose: Callable[[Value, Value], Value]) -> Callable[..., Value]:
    def apply(first: Value, *rest: Value) -> Value:
        result = first
        for other in rest:
            result = choose(result, other)
        return result

    return apply


def _select(condition: Value, then: Value, otherwise: Value) -> Value:
    if isinstance(condition, bool | np.bool_):
        return then if condition else otherwise
    return np.where(condition, then, otherwise)


_EXACT = 2.0**53  # from here on not every integer is a float
_ERF = np.frompyfunc(math.erf, 1, 1)


def _erf(value: Value) -> Value:
    return np.asarray(_ERF(value), np.float64)[()]


def _whole(rounded: np.ufunc) -> Callable[[Value], Value]:
    """A rounding. Arrays keep their type; a plain number becomes an integer, so as to be a size."""

    def apply(value: Value) -> Value:
        if np.asarray(value).dtype.kind in "iu":
            return value
        result = rounded(value)
        return int(result) if type(value) is float and abs(result) < _EXACT else result

    return apply


BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

ARITHMETIC: Mapping[str, Callable[..., Value]] = {
    "ceil_div": _ceil_div,
    # As x86 and C's ?: do it: the second operand where one is not a number.
    "min": _fold(lambda a, b: _select(a < b, a, b)),
    "max": _fold(lambda a, b: _select(a > b, a, b)),
    "abs": abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": _erf,
    "floor": _whole(np.floor),
    "round": _whole(np.rint),
}


def _logical(name: str, left: Value, right: Value) -> Value:
    if isinstance(left, bool | np.bool_) and isinstance(right, bool | np.bool_):
        return bool(left and right) if name == "and" else bool(left or right)
    return np.logical_and(left, right) if name == "and" else np.logical_or(left, right)


def evaluate(expr: ast.Expr, environment: Environment) -> Value:
    """Value of an expression. The checker has already ruled out what could fail here."""
    match expr:
        case ast.Number(value=value):
            return value
        case ast.Name():
            return environment.name(expr)
        case ast.Attribute(base=base):
            return environment.attribute(evaluate(base, environment), expr)
        case ast.Call(function=function, args=args):
            values = tuple(evaluate(a, environment) for a in args)
            arithmetic = ARITHMETIC.get(function)
            return arithmetic(*values) if arithmetic else environment.call(expr, values)
        case ast.Unary(operator="-", operand=operand):
            return -evaluate(operand, environment)
        case ast.Unary(operand=operand):
            value = evaluate(operand, environment)
            return not value if isinstance(value, bool | np.bool_) else np.logical_not(value)
        case ast.Binary(operator="and" | "or" as name, left=left, right=right):
            return _logical(name, evaluate(left, environment), evaluate(right, environment))
        case ast.Binary(operator=name, left=left, right=right):
            return BINARY[name](evaluate(left, environment), evaluate(right, environment))
        case ast.Conditional(then=then, condition=condition, otherwise=otherwise):
            return _conditional(then, evaluate(condition, environment), otherwise, environment)
        case ast.Element():
            return environment.element(expr)


def _conditional(
    then: ast.Expr, condition: Value, otherwise: ast.Expr | None, environment: Environment
) -> Value:
    if isinstance(condition, bool | np.bool_):  # only the branch that is taken need make sense
        if condition:
            return evaluate(then, environment)
        return 0 if otherwise is None else evaluate(otherwise, environment)
    other = 0 if otherwise is None else evaluate(otherwise, environment)
    return np.where(condition, evaluate(then, environment), other)
