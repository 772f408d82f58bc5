"""How diagnostics are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from morello.language.diagnostics import LONGEST_LINE, Diagnostic, render
from morello.language.source import Source, Span


def _shown(text: str, start: int, end: int) -> tuple[str, str]:
    """The source line and the caret line, without the gutter."""
    span = Span(Source("a.mspec", text), start, end)
    lines = render(Diagnostic("E003", "wrong", span)).split("\n")
    return lines[2].removeprefix("1 | "), lines[3].removeprefix("  | ")


def test_a_short_line_is_shown_whole() -> None:
    """The carets stand under what the span covers."""
    assert _shown("spec s(N = x)", 11, 12) == ("spec s(N = x)", "           ^")


@given(st.integers(0, 5000), st.integers(1, 400), st.integers(0, 5000))
def test_of_a_long_line_the_part_around_the_caret_is_shown(
    before: int, length: int, after: int
) -> None:
    """However long the line is, little is printed, and the carets stand under the span."""
    text = "a" * before + "x" * length + "b" * after
    line, carets = _shown(text, before, before + length)
    assert len(line) <= LONGEST_LINE + len("......")
    under = line[len(carets) - len(carets.lstrip()) : len(carets)]
    assert under
    assert set(under) == {"x"}
