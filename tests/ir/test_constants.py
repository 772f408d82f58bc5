"""Meanings with their constants in place, and what is worked out of them."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

from morello.errors import MorelloError
from morello.ir.dtypes import F32, S32
from morello.ir.graphs.constants import value_of
from morello.ir.operators import Operation
from morello.language import ast
from tests.checking.texts import operators
from tests.reference.declare import SPAN, binary, call, element, number

X = element("X[i...]")


def _operation(value: str, **scalars: float) -> Operation:
    names = f"; {', '.join(scalars)}" if scalars else ""
    text = f"op own(X: T[i...]{names}) -> Y: T[i...] {{ Y[i...] = {value} }}"
    return Operation(operators(text)["own"], 1, scalars=tuple(scalars.items()))


def test_what_is_constant_is_one_number() -> None:
    """Computed in float64 from what the element type holds."""
    tenth = float(np.float32(0.1))
    operation = _operation("X[i...] * (1 / s) + max(-s, 2 * s)", s=0.1)
    expected = binary("+", binary("*", X, number(1 / tenth)), number(2 * tenth))
    assert expected == value_of(operation, F32)


def test_elements_are_left_where_they_are() -> None:
    """Arithmetic is not regrouped: it would be rounded otherwise."""
    operation = _operation("2 * (X[i...] * 3)")
    assert binary("*", number(2), binary("*", X, number(3))) == value_of(operation, F32)


def test_conditions_are_not_numbers() -> None:
    """Their branches are."""
    operation = _operation("X[i...] if s > 1 else 1 + 1", s=2.0)
    condition = binary(">", number(2), number(1))
    expected = ast.Conditional(X, condition, number(2), span=SPAN)
    assert expected == value_of(operation, F32)


def test_integers_are_converted_and_left_alone() -> None:
    """Their arithmetic wraps around, and their quotients are cut."""
    operation = _operation("X[i...] + s * (1 + 4294967299)", s=-2.7)
    expected = binary("+", X, binary("*", number(-2), binary("+", number(1), number(3))))
    assert expected == value_of(operation, S32)


@pytest.mark.parametrize(("value", "expected"), [("1 / s", inf), ("-1 / s", -inf), ("s / s", None)])
def test_division_by_zero(value: str, expected: float | None) -> None:
    """As in the element type: infinite, or not a number."""
    found = value_of(_operation(f"X[i...] * ({value})", s=0.0), F32)
    assert isinstance(found, ast.Binary)
    assert isinstance(found.right, ast.Number)
    assert isnan(found.right.value) if expected is None else found.right.value == expected


def test_functions_are_arithmetic() -> None:
    operation = _operation("X[i...] + sqrt(s)", s=9.0)
    assert binary("+", X, number(3)) == value_of(operation, F32)
    operation = _operation("max(X[i...], sqrt(s))", s=9.0)
    assert call("max", X, number(3)) == value_of(operation, F32)


def test_every_scalar_has_a_value() -> None:
    operation = Operation(_operation("X[i...] * s", s=1.0).operator, 1)
    with pytest.raises(MorelloError, match="scalar 's' has no value"):
        value_of(operation, F32)
