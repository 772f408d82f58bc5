"""Conditions before any Spec is known: constants, contradictions, kinds and places."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.language.folding import conjuncts, constant, contradiction, normal, truth
from morello.language.parse import parse_rules
from morello.language.places import text_of, within
from morello.language.source import Source, Span

NOWHERE = Span(Source("nowhere", ""), 0, 0)
VALUES = (0, 1, 2)


class Assignment:
    """An environment of variables with values."""

    def __init__(self, values: dict[str, int]) -> None:
        self.values = values

    def name(self, node: ast.Name) -> Value:
        return self.values[node.id]

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        raise AssertionError

    def element(self, node: ast.Element) -> Value:
        raise AssertionError

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        raise AssertionError


def _combined(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    negated = inner.map(lambda e: ast.Unary(operator="not", operand=e, span=NOWHERE))
    joined = st.builds(
        ast.Binary,
        operator=st.sampled_from(["and", "or"]),
        left=inner,
        right=inner,
        span=st.just(NOWHERE),
    )
    return negated | joined


TERMS: st.SearchStrategy[ast.Expr] = st.builds(
    ast.Name, id=st.sampled_from("xy"), span=st.just(NOWHERE)
) | st.builds(ast.Number, value=st.sampled_from(VALUES), span=st.just(NOWHERE))
COMPARISONS: st.SearchStrategy[ast.Expr] = st.builds(
    ast.Binary,
    operator=st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    left=TERMS,
    right=TERMS,
    span=st.just(NOWHERE),
)
CONDITIONS = st.recursive(COMPARISONS, _combined, max_leaves=6)


def outcomes(expr: ast.Expr) -> list[bool]:
    """Whether a condition holds, for all values of x and y."""
    every = product(VALUES, repeat=2)
    return [bool(evaluate(expr, Assignment({"x": x, "y": y}))) for x, y in every]


@given(CONDITIONS)
def test_truth_is_right(condition: ast.Expr) -> None:
    """What is said to be always true or always false is."""
    known = truth(condition)
    assert known is None or set(outcomes(condition)) == {known}


@given(CONDITIONS)
def test_normal_form_means_the_same(condition: ast.Expr) -> None:
    """Normal forms, and the conjuncts together, hold exactly where the condition does."""
    assert outcomes(condition) == outcomes(normal(condition))
    parts = [outcomes(part) for part in conjuncts([condition])]
    assert outcomes(condition) == [all(held) for held in zip(*parts, strict=True)]


@given(st.lists(CONDITIONS, min_size=1, max_size=3), st.lists(COMPARISONS, max_size=2))
def test_contradictions_are_right(guards: list[ast.Expr], facts: list[ast.Expr]) -> None:
    """Guards that are refused hold for no values that agree with the facts."""
    if contradiction(guards, facts) is not None:
        together = [all(held) for held in zip(*map(outcomes, [*guards, *facts]), strict=True)]
        assert not any(together)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("ceil_div(7, 2)", 4),
        ("round(5 / 2) + floor(7 / 2)", 5),
        ("erf(0) + tanh(0) < 1", True),
        ("1 < 2 and not 3 < 3", True),
        ("1 // 0", None),
        ("volume(f)", None),
        ("exp(9999999999 * 9999999999)", None),
    ],
)
def test_constant(text: str, value: float | bool | None) -> None:
    """Constants are computed; the rest is left alone."""
    rule = f'rule r "R." match f: op where {text} yield f'
    (guard,) = parse_rules(Source("test.mrules", rule)).rules[0].guards
    assert constant(guard) == value


def test_place_of_a_word() -> None:
    """Whole words only, outside comments and strings; otherwise everything."""
    text = 'level "l1" l12 # l1\n at x.l1 l1 end'
    span = Span(Source("text", text), 0, len(text))
    found = within(span, "l1")
    assert (found.line, found.column, text_of(found)) == (2, 10, "l1")
    assert within(span, "l2") == span
    assert within(span, "end", after=found.end).column == 13
