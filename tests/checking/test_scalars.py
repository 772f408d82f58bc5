"""Scalars that the element type of a computation has no number for are refused."""

from __future__ import annotations

import pytest

import morello
from morello.language.diagnostics import DiagnosticsError


def _codes(dtype: str, call: str) -> list[str]:
    given = f"input x: {dtype}[8]" if "x" in call else ""
    text = f"target x86.scalar spec s() {{ {given} output y: {dtype}[8] y = {call} }}"
    try:
        morello.compile(text)
    except DiagnosticsError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("s8", "scale(x, factor = 0.5)"),
        ("s8", "scale(x, factor = 128)"),
        ("s8", "shift(x, amount = -129)"),
        ("u8", "shift(x, amount = -1)"),
        ("u8", "fill(value = 300)"),
        ("s32", "fill(value = 2147483648)"),
        ("s32", "fill(value = 0.1)"),
        ("f32", "fill(value = 1e39)"),
        ("bf16", "fill(value = -1e39)"),
    ],
)
def test_a_scalar_that_the_type_lacks(dtype: str, call: str) -> None:
    """It is an error, where results were 0, or wrapped around, in silence."""
    assert _codes(dtype, call) == ["S039"]


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("s8", "shift(x, amount = -128)"),
        ("s8", "scale(x, factor = 127)"),
        ("u8", "fill(value = 255)"),
        ("u8", "fill(value = -0.0)"),
        ("s32", "fill(value = -2147483648)"),
        ("f32", "fill(value = 0.1)"),
        ("f32", "fill(value = 3.4e38)"),
        ("f32", "scale(x, factor = 1e-46)"),
    ],
)
def test_a_scalar_that_the_type_has(dtype: str, call: str) -> None:
    """Both ends of integers are in it; floats are rounded, also to 0."""
    assert _codes(dtype, call) == []


def test_a_spec_that_python_builds_is_held_to_the_same() -> None:
    """The checks are those of texts."""
    spec = morello.SpecBuilder("s", target="x86.scalar")
    x = spec.input("x", "u8", (8,))
    spec.output("y", spec.op.shift(x, amount=-1))
    with pytest.raises(DiagnosticsError, match="scalar 'amount' of 'shift' is -1"):
        morello.compile(spec)


def test_the_advice_names_the_range() -> None:
    """What is wrong, where, and what to write instead."""
    with pytest.raises(DiagnosticsError) as caught:
        morello.compile("target x86.scalar spec s() { output y: u8[8] y = fill(value = 300) }")
    shown = str(caught.value)
    assert "scalar 'value' of 'fill' is 300; expected a number of u8" in shown
    assert "u8 has the whole numbers from 0 to 255" in shown
