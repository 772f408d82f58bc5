"""Which primitives a meaning needs; one that the target lacks is named before any C is written."""

from __future__ import annotations

import pytest

import morello
from morello.definitions import load_definitions
from morello.ir.primitives import primitives_in, steps
from morello.language import ast
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.search.planning.unimplemented import NoImplementationError


def _text(value: str) -> str:
    return f'op own(X: T[i...]) -> Y: T[i...] "Own." {{ Y[i...] = {value} }}\n'


@pytest.mark.parametrize(
    ("value", "needed"),
    [
        ("X[i...]", []),
        ("-2 * X[i...]", ["mul", "constant"]),
        ("-X[i...] // 3 % 2", ["modulo", "floor_div", "neg", "constant", "constant"]),
        ("max(X[i...], 0, 1)", ["max", "max", "constant", "constant"]),
        ("X[i...] if X[i...] > 0", ["select", "constant", "greater", "truth"]),
        ("exp(-X[i...]) / (1 + exp(-X[i...]))", ["div", "exp", "neg", "add", "constant"]),
        ("-0.0 + 0.0", ["add", "constant", "constant"]),
    ],
)
def test_every_step_is_counted_once(value: str, needed: list[str]) -> None:
    """In whatever it is nested, and however often it is written."""
    (operator,) = parse_rules(Source("own.mrules", _text(value))).operators
    assert sorted(needed) == sorted(p for _, p in primitives_in(operator.statements[0].value))


def test_steps_are_of_the_type_that_they_are_computed_in() -> None:
    """Elements are converted to it, and what is computed in another type is."""
    (operator,) = parse_rules(Source("own.mrules", _text("X[i...] + 1"))).operators
    value = operator.statements[0].value
    whole = ast.Binary("*", ast.Computed(value, "s32", span=value.span), value, span=value.span)
    found = [(s.dtype, s.primitive) for s in steps(whole, "f32", {"X": "u8"})]
    assert found == [
        ("u8", ""),
        ("s32", "cast_u8"),
        ("s32", "constant"),
        ("s32", "add"),
        ("f32", "cast_s32"),
        ("f32", "cast_u8"),
        ("f32", "constant"),
        ("f32", "add"),
        ("f32", "mul"),
    ]


@pytest.mark.parametrize(("value", "missing"), [("sqrt(X[i...])", "sqrt"), ("X[i...] / 3", "div")])
def test_a_primitive_that_no_kernel_can_write_is_named(value: str, missing: str) -> None:
    """An operator that the language has and the target has not is refused by the search."""
    definitions = load_definitions([Source("own.mrules", _text(value))])
    spec = "spec s() { input x: u8[4]\n output y: u8[4]\n y = own(x) }"
    with pytest.raises(NoImplementationError, match=f"no primitive '{missing}' for u8"):
        morello.compile(spec, target="x86.scalar", definitions=definitions)
