"""Places of words within spans, for the carets of diagnostics."""

from __future__ import annotations

import pytest

from morello.language.places import within
from morello.language.source import Source, Span


@pytest.mark.parametrize(
    ("text", "word", "start"),
    [
        ("ab _a a1 b.a a", "a", 13),
        ("aa aaa", "aa", 0),
        ("# a\n a", "a", 5),
        ('"a # a" a', "a", 8),
        ('" a', "a", 2),
        ("x # x\n # x\n x.y", "x.y", 12),
    ],
)
def test_a_word_is_found_whole(text: str, word: str, start: int) -> None:
    """No part of a name, and nothing in comments and strings."""
    source = Source("test", text)
    found = within(Span(source, 0, len(text)), word)
    assert (found.start, found.end) == (start, start + len(word))


def test_only_the_span_is_read() -> None:
    """And from an offset on; what is not there has the span itself."""
    source = Source("test", "a a ab")
    span = Span(source, 0, 5)
    assert within(span, "a", after=1) == Span(source, 2, 3)
    assert within(span, "a", after=3) == Span(source, 4, 5)
    assert within(span, "b") == span
