"""What can be said of a condition before any Spec is known: constants and contradictions.

Used to find guards that can never hold. Sound, not complete: a guard that is not refused here may
still never hold for reasons that only sizes or levels show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from morello.language import ast
from morello.language.evaluate import BOUNDED, Value, evaluate
from morello.records import replace

MIRRORED = {">": "<", ">=": "<="}
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class _NotConstantError(Exception):
    """The expression depends on something that is not known yet."""


class _Nothing:
    """An environment in which nothing is known."""

    def name(self, node: ast.Name) -> Value:
        raise _NotConstantError

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise _NotConstantError

    def element(self, node: ast.Element) -> Value:
        raise _NotConstantError

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise _NotConstantError


def constant(expr: ast.Expr) -> Value | None:
    """Value of an expression that depends on nothing, else none."""
    try:
        with np.errstate(all="ignore"):
            return evaluate(expr, _Nothing(), BOUNDED)
    except (_NotConstantError, ArithmeticError, TypeError):  # numpy: integers of over 64 bits
        return None


def truth(expr: ast.Expr) -> bool | None:
    """Whether a condition is always true, always false, or neither that anyone could tell."""
    match expr:
        case ast.Unary(operator="not", operand=operand):
            inner = truth(operand)
            return None if inner is None else not inner
        case ast.Binary(operator="and" | "or" as operator, left=left, right=right):
            decisive = operator == "or"
            sides = (truth(left), truth(right))
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
    value = constant(expr)
    return None if value is None else bool(value)


def normal(expr: ast.Expr) -> ast.Expr:
    """One spelling for equal conditions: ``<`` and ``<=`` only, no ``not`` before a comparison."""
    match expr:
        case ast.Unary(operator="not", operand=ast.Unary(operator="not", operand=operand)):
            return normal(operand)
        case ast.Unary(operator="not", operand=ast.Binary(operator=operator) as comparison) if (
            operator in NEGATED
        ):
            return normal(replace(comparison, operator=NEGATED[operator], span=expr.span))
        case ast.Binary(operator=operator, left=left, right=right) if operator in MIRRORED:
            return replace(expr, operator=MIRRORED[operator], left=right, right=left)
        case _:
            return expr


def conjuncts(guards: Iterable[ast.Expr]) -> Iterator[ast.Expr]:
    """The conditions that must all hold, in normal form."""
    for guard in guards:
        match guard:
            case ast.Binary(operator="and", left=left, right=right):
                yield from conjuncts((left, right))
            case _:
                yield normal(guard)


def _excluded(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    """Conditions, in normal form, that cannot hold together with a normal one."""
    match expr:
        case ast.Unary(operator="not", operand=operand):
            return (operand,)
        case ast.Binary(operator="<", left=left, right=right):
            swapped = replace(expr, left=right, right=left)
            equal = (replace(expr, operator="=="), replace(swapped, operator="=="))
            return (swapped, replace(swapped, operator="<="), *equal)
        case ast.Binary(operator="==", left=left, right=right):
            other = replace(expr, operator="!=")
            return (other, replace(other, left=right, right=left))
        case _:
            return ()


def contradiction(
    guards: Sequence[ast.Expr], facts: Sequence[ast.Expr] = ()
) -> tuple[ast.Expr, ast.Expr | None] | None:
    """A guard that can never hold.

    Args:
        guards: Conditions that must all hold.
        facts: Conditions that are known to hold, such as what a match implies.

    Returns:
        The condition that is always false, and the other one that excludes it (none if it is false
        by itself); or none if nothing is wrong that can be seen.
    """
    earlier = list(conjuncts(facts))
    for condition in conjuncts(guards):
        if truth(condition) is False:
            return condition, None
        for other in earlier:
            if condition in _excluded(other) or other in _excluded(condition):
                return condition, other
        earlier.append(condition)
    return None
