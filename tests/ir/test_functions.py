"""Functions in C: which names a text calls, and what a program needs."""

from __future__ import annotations

import pytest

from morello.ir.functions import Function, called, needed
from morello.language import target_ast
from morello.language.source import Source, Span

AT = Span(Source("by hand", ""), 0, 0)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("y = f(g (x), h[2]);", ["f", "g"]),
        ("f(f(x)) + (x)", ["f"]),
        ("/* f(x) */ g(x); // h(x)\n k(x)", ["g", "k"]),
        ("/* f(\n g( */ a_2(x)", ["a_2"]),
        ("2(x) x.f(1) + g(1.0f)", ["g"]),
        ("f", []),
    ],
)
def test_calls_are_words_before_parentheses(text: str, names: list[str]) -> None:
    """Not those in comments, nor members; each once."""
    assert list(called(text)) == names


def _functions(calls: dict[str, tuple[str, ...]]) -> dict[str, Function]:
    return {
        name: Function(
            name, "", "", "", own, target_ast.FunctionDecl(name, AT, "", "", "", span=AT)
        )
        for name, own in calls.items()
    }


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("x = 1;", []),
        ("x = d(1);", ["d"]),
        ("x = a(1);", ["d", "b", "c", "a"]),
        ("x = c(b(1));", ["d", "c", "b"]),
        ("x = other(1);", []),
    ],
)
def test_what_is_needed_stands_after_what_it_calls(line: str, names: list[str]) -> None:
    """In the order of the text otherwise, each once."""
    functions = _functions({"a": ("b", "c"), "b": ("d",), "c": ("d",), "d": (), "e": ("a",)})
    assert [f.name for f in needed(functions, ["/* e(1) */", line, line])] == names
