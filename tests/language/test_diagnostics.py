"""How diagnostics are shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from morello.language.diagnostics import (
    LONGEST_LINE,
    MOST_NAMES,
    MOST_SUGGESTIONS,
    Collector,
    Diagnostic,
    render,
    suggestion,
)
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


def test_a_name_is_compared_with_so_many_others_only() -> None:
    """Thousands of unknown names among thousands of known ones are reported in seconds."""
    names = [f"name{number}" for number in range(MOST_NAMES)]
    assert "did you mean 'name7'?" == suggestion("nam7", names)
    assert "" == suggestion("nam7", [*names, "another"])


def test_so_many_errors_of_a_stage_suggest_a_name_only() -> None:
    """Each suggestion compares names, and thousands of them help nobody."""
    collector, span = Collector(), Span(Source("a.mspec", "nam"), 0, 3)
    for number in range(MOST_SUGGESTIONS + 1):
        help = collector.suggestion("nam", ["name"])
        assert help == ("did you mean 'name'?" if number < MOST_SUGGESTIONS else "")
        collector.error("S022", "unknown tensor 'nam'", span, help=help)
