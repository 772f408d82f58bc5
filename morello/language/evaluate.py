"""The one evaluator of expressions: Python numbers and numpy arrays alike.

An expression means the same for one Spec and for a whole box of Specs: arithmetic and comparison
work on numbers and, element by element, on arrays; there is no control flow that looks at values.
Names, attributes, elements and functions that ask about a Spec come from the `Environment`. Values
of another kind bring `Operations` of their own: numbers with bounds of their errors do
(`morello.reference.errors`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from morello.language import ast

Value = Any
"""A number, an array, a text, a list to choose from, or what an environment or operations make."""

Operations = Mapping[str, Callable[..., Value]]
"""What operators and functions do, by name: unary minus is `NEGATION`, ``if else`` `SELECTION`."""

NEGATION = "neg"
SELECTION = "select"


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


def _by_element(function: Callable[[float], float]) -> Callable[[Value], Value]:
    """A function that numpy lacks, of numbers and arrays, in float64."""
    of_objects = np.frompyfunc(function, 1, 1)
    return lambda value: np.asarray(of_objects(value), np.float64)[()]


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
    "log1p": np.log1p,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "erf": _by_element(math.erf),
    "erfc": _by_element(math.erfc),
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "floor": _whole(np.floor),
    "round": _whole(np.rint),
}


def _and(left: Value, right: Value) -> Value:
    plain = isinstance(left, bool | np.bool_) and isinstance(right, bool | np.bool_)
    return bool(left and right) if plain else np.logical_and(left, right)


def _or(left: Value, right: Value) -> Value:
    plain = isinstance(left, bool | np.bool_) and isinstance(right, bool | np.bool_)
    return bool(left or right) if plain else np.logical_or(left, right)


def _not(operand: Value) -> Value:
    return not operand if isinstance(operand, bool | np.bool_) else np.logical_not(operand)


OPERATIONS: Operations = {
    **BINARY,
    **ARITHMETIC,
    "and": _and,
    "or": _or,
    "not": _not,
    NEGATION: operator.neg,
    SELECTION: _select,
}
"""Of numbers and arrays."""

MAX_INTEGER = (1 << 63) - 1
"""The largest integer that an expression may have on the way to a size or a parameter."""


def _within_bound(operation: Callable[..., Value]) -> Callable[..., Value]:
    """An operation that raises `OverflowError` for a large integer, before the next one grows it.

    Repeated squaring doubles the digits each time.
    """

    def apply(*values: Value) -> Value:
        result = operation(*values)
        if isinstance(result, int) and abs(result) > MAX_INTEGER:
            raise OverflowError
        return result

    return apply


BOUNDED: Operations = {name: _within_bound(operation) for name, operation in OPERATIONS.items()}
"""The same where texts of anyone are evaluated: no integer has more than 63 bits and a sign."""


def evaluate(
    expr: ast.Expr, environment: Environment, operations: Operations = OPERATIONS
) -> Value:
    """Value of an expression. The checker has already ruled out what could fail here."""
    return _EVALUATED[type(expr)](expr, environment, operations)


def _call(node: ast.Call, environment: Environment, operations: Operations) -> Value:
    values = tuple([evaluate(a, environment, operations) for a in node.args])
    arithmetic = operations.get(node.function)
    return arithmetic(*values) if arithmetic else environment.call(node, values)


def _unary(node: ast.Unary, environment: Environment, operations: Operations) -> Value:
    value = evaluate(node.operand, environment, operations)
    return operations[NEGATION if node.operator == "-" else node.operator](value)


def _binary(node: ast.Binary, environment: Environment, operations: Operations) -> Value:
    left = evaluate(node.left, environment, operations)
    return operations[node.operator](left, evaluate(node.right, environment, operations))


def _attribute(node: ast.Attribute, environment: Environment, operations: Operations) -> Value:
    return environment.attribute(evaluate(node.base, environment, operations), node)


def _conditional(node: ast.Conditional, environment: Environment, operations: Operations) -> Value:
    condition = evaluate(node.condition, environment, operations)

    def branch(expr: ast.Expr | None) -> Value:
        return 0 if expr is None else evaluate(expr, environment, operations)

    if isinstance(condition, bool | np.bool_):  # only the branch that is taken need make sense
        return branch(node.then if condition else node.otherwise)
    return operations[SELECTION](condition, branch(node.then), branch(node.otherwise))


# What says its type is evaluated by no one: graphs of several types are, operation by operation.
_EVALUATED: Mapping[type[ast.Expr], Callable[[Any, Environment, Operations], Value]] = {
    ast.Number: lambda node, _, __: node.value,
    ast.Name: lambda node, environment, _: environment.name(node),
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Conditional: _conditional,
    ast.Element: lambda node, environment, _: environment.element(node),
}
