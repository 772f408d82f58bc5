"""The expression grammar: precedence, every kind of node, spans, and text -> tree -> text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morello.language import ast
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.language.unparse import unparse
from tests.language.shapes import (
    AT,
    attribute,
    binary,
    call,
    conditional,
    element,
    group,
    index,
    name,
    number,
    unary,
)

a, b, c, d = (name(text) for text in "abcd")


def parse(text: str) -> ast.Expr:
    file = parse_rules(Source("test", f'rule r "." match f: op where {text} yield f'))
    [guard] = file.rules[0].guards
    return guard


EXPRESSIONS = {
    # leaves
    "7": number(7),
    "0.5": number(0.5),
    "2e3": number(2000.0),
    "1.5e-3": number(0.0015),
    "48 KiB": number(49152),
    "2MiB": number(2097152),
    "0.5 GiB": number(536870912),
    "x_1": name("x_1"),
    "X.level": attribute(name("X"), "level"),
    "f.out.level": attribute(attribute(name("f"), "out"), "level"),
    "g(a).b": attribute(call("g", a), "b"),
    "g()": call("g"),
    "g(a, 1)": call("g", a, number(1)),
    "A[]": element("A"),
    "A[i..., 2 * r, h + r * 3]": element(
        "A", group("i"), index(("r", 2)), index(("h", 1), ("r", 3))
    ),
    # precedence, from loosest to tightest
    "a if b else c if d else a": conditional(a, b, conditional(c, d, a)),
    "a or b if c": conditional(binary(a, "or", b), c),
    "a or b and c": binary(a, "or", binary(b, "and", c)),
    "a or b or c": binary(binary(a, "or", b), "or", c),
    "not a and b": binary(unary("not", a), "and", b),
    "not not a": unary("not", unary("not", a)),
    "not a == b": unary("not", binary(a, "==", b)),
    "a + b <= c": binary(binary(a, "+", b), "<=", c),
    "a - b - c": binary(binary(a, "-", b), "-", c),
    "a - (b - c)": binary(a, "-", binary(b, "-", c)),
    "a + b * c": binary(a, "+", binary(b, "*", c)),
    "(a + b) * c": binary(binary(a, "+", b), "*", c),
    "a // b % c / d": binary(binary(binary(a, "//", b), "%", c), "/", d),
    "-a * b": binary(unary("-", a), "*", b),
    "a - -1": binary(a, "-", unary("-", number(1))),
    "-X.level": unary("-", attribute(name("X"), "level")),
    "(a if b) + c": binary(conditional(a, b), "+", c),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    """Each text has exactly this tree."""
    assert EXPRESSIONS[text] == parse(text)


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_comparison(operator: str) -> None:
    assert binary(a, operator, b) == parse(f"a {operator} b")


def test_whole_numbers_stay_integers() -> None:
    """Sizes must not become floats, with a unit either."""
    types = [type(parse(text).value) for text in ("7", "1 KiB", "0.5 KiB", "7.0")]  # type: ignore[union-attr]
    assert [int, int, int, float] == types


@pytest.mark.parametrize("word", ["op", "copy", "level", "n", "layout", "vector", "line", "step"])
def test_words_of_the_language_are_names_too(word: str) -> None:
    """A keyword is one only where it may stand."""
    assert call("size", name(word)) == parse(f"size({word})")


def test_spans() -> None:
    """A node's span is its text; parentheses belong to what they are an operand of."""
    text = "x + (a * 2 KiB)"
    tree = parse(text)
    assert isinstance(tree, ast.Binary)
    assert isinstance(tree.right, ast.Binary)

    def shown(node: ast.Expr) -> str:
        return node.span.source.text[node.span.start : node.span.end]

    nodes = tree, tree.left, tree.right, tree.right.left, tree.right.right
    assert [text, "x", "a * 2 KiB", "a", "2 KiB"] == [shown(node) for node in nodes]
    assert (tree.span.line, tree.span.column) == (1, 30)


# --------------------------------------------------------------------------- there and back

NAMES = st.sampled_from(["a", "b", "X", "level", "layout", "op", "x_1"])
INDICES = st.one_of(
    NAMES.map(group),
    st.lists(st.tuples(NAMES, st.integers(1, 9)), min_size=1, max_size=3).map(lambda t: index(*t)),
)
LEAVES = st.one_of(
    NAMES.map(name),
    st.integers(0, 2**40).map(number),
    st.floats(0, 1e20).map(number),
    st.builds(lambda n, i: element(n, *i), NAMES, st.lists(INDICES, max_size=3)),
)


def _larger(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    operators = ["or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%"]
    return st.one_of(
        st.builds(attribute, inner, NAMES),
        st.builds(lambda n, args: call(n, *args), NAMES, st.lists(inner, max_size=3)),
        st.builds(unary, st.sampled_from(["-", "not"]), inner),
        st.builds(binary, inner, st.sampled_from(operators), inner),
        st.builds(conditional, inner, inner, st.none() | inner),
    )


@given(st.recursive(LEAVES, _larger, max_leaves=12))
def test_unparse_is_undone_by_parse(tree: ast.Expr) -> None:
    """The text of any expression means that expression."""
    assert tree == parse(unparse(tree))


@pytest.mark.parametrize("text", [t for t in EXPRESSIONS if "iB" not in t and "e" not in t])
def test_unparse_adds_no_parentheses(text: str) -> None:
    """What is written with the parentheses that it needs comes back as it was."""
    canonical = text.replace("r * 3", "3 * r")
    assert canonical == unparse(parse(text))


def test_unparse_of_a_negative_number() -> None:
    """Folding makes numbers that no text has; they are put in parentheses where they must."""
    assert unparse(ast.Attribute(number(-3), "level", span=AT)) == "(-3).level"
    assert unparse(binary(a, "-", number(-3))) == "a - -3"
