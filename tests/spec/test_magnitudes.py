"""Bounds of expressions by absolute values, on numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.spec.magnitudes import bounded_by_magnitudes, magnitude, majorant
from tests.reference.declare import binary, call, name, number

NAMES = ("x", "y", "z")
VALUES = st.integers(-9, 9)

LEAVES = st.sampled_from(NAMES).map(name) | VALUES.map(number)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(binary, st.sampled_from("+-*"), inner, inner),
        st.builds(call, st.sampled_from(["min", "max"]), inner, inner),
        st.builds(lambda e: call("abs", e), inner),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class _At:
    """An environment of numbers."""

    values: Mapping[str, int]

    def name(self, node: ast.Name) -> Value:
        return self.values[node.id]

    def element(self, node: ast.Element) -> Value:
        raise AssertionError(node)

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise AssertionError(node)

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise AssertionError(node)


def _value(expr: ast.Expr, values: Mapping[str, int]) -> int:
    return int(evaluate(expr, _At(values)))


@given(EXPRESSIONS, st.tuples(VALUES, VALUES, VALUES), st.sets(st.sampled_from(NAMES)))
def test_both_bound_the_value_and_the_sums_bound_changes(
    expr: ast.Expr, numbers: tuple[int, int, int], zeros: set[str]
) -> None:
    """However many of the variables become 0."""
    values = dict(zip(NAMES, numbers, strict=True))
    left = {n: 0 if n in zeros else v for n, v in values.items()}
    sizes, sizes_left = ({n: abs(v) for n, v in d.items()} for d in (values, left))
    assert abs(_value(expr, values)) <= _value(magnitude(expr), sizes)
    assert _value(magnitude(expr), sizes) <= _value(majorant(expr), sizes)
    change = abs(_value(expr, values) - _value(expr, left))
    assert change <= _value(majorant(expr), sizes) - _value(majorant(expr), sizes_left)
    assert bounded_by_magnitudes(expr)


def test_of_a_product_the_bound_is_exact() -> None:
    product = binary("*", name("x"), name("y"))
    assert majorant(product) == magnitude(product) == product


@pytest.mark.parametrize("function", ["exp", "log", "sqrt"])
def test_some_functions_have_no_bound(function: str) -> None:
    assert not bounded_by_magnitudes(binary("+", name("x"), call(function, name("y"))))
    assert not bounded_by_magnitudes(binary("/", name("x"), name("y")))
