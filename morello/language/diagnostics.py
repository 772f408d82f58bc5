"""Diagnostics: what is wrong, where, and what to do; collected, sorted by place, shown together."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Literal

from msgspec import Struct

from morello.errors import MorelloError
from morello.language.source import Span

LONGEST_LINE = 160
"""Characters of a source line that are shown; of a longer one, those around the caret."""

MOST_NAMES = 500
"""Known names that an unknown one is compared with; of more, each error would take long."""

MOST_SUGGESTIONS = 200
"""Errors of a stage that may say which name was meant; who made more has another problem."""

Severity = Literal["error", "warning", "note"]
"""An error has to be mended, a warning soon (``W001``), and a note (``N001``) is worth knowing."""


class Diagnostic(Struct, frozen=True):
    """One finding. ``code`` is stable (``E012``); ``label`` stands under the caret."""

    code: str
    message: str
    span: Span
    label: str = ""
    help: str = ""
    severity: Severity = "error"


class DiagnosticsError(MorelloError):
    """All errors of one stage."""

    def __init__(self, diagnostics: Iterable[Diagnostic], *, help: str = "") -> None:
        self.diagnostics = by_place(diagnostics)
        super().__init__("\n".join(render(d) for d in self.diagnostics), help=help)


def by_place(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Each once, in the order of files, places and codes."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: (d.span.source.name, d.span.start, d.code))


class Collector:
    """Gathers the errors of a stage; `raise_if_any` ends the stage."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []

    def error(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> None:
        """Note one error and go on."""
        self.diagnostics.append(Diagnostic(code, message, span, label, help))

    def suggestion(self, word: str, known: Iterable[str]) -> str:
        """What `suggestion` says, as long as few errors were noted."""
        return suggestion(word, known) if len(self.diagnostics) < MOST_SUGGESTIONS else ""

    def raise_if_any(self) -> None:
        """End the stage if anything was noted."""
        if self.diagnostics:
            raise DiagnosticsError(self.diagnostics)


def suggestion(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?``, or the whole list where it is short, or nothing."""
    names = sorted(set(islice(known, MOST_NAMES + 1)))
    if len(names) > MOST_NAMES:
        return ""
    close = get_close_matches(word, names, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    if 0 < len(names) <= 12:
        return "known: " + ", ".join(names)
    return ""


def _window(text: str, column: int, width: int) -> tuple[str, int, int]:
    """The part of an overlong line around the caret, and where the caret is in it."""
    if len(text) <= LONGEST_LINE:
        return text, column, width
    first = max(0, min(column - 1 - LONGEST_LINE // 4, len(text) - LONGEST_LINE))
    last = first + LONGEST_LINE
    before, after = "..." if first else "", "..." if last < len(text) else ""
    column += len(before) - first
    width = min(width, len(before) + LONGEST_LINE - column + 1)
    return f"{before}{text[first:last]}{after}", column, width


def render(diagnostic: Diagnostic) -> str:
    """Plain text: message, place, source line, caret, where a program made it, help."""
    span = diagnostic.span
    line, column = span.source.position(span.start)
    text = span.source.line(line).expandtabs(1)
    width = max(1, min(span.end - span.start, len(text) - column + 1))
    gutter = " " * len(str(line))
    shown, column, width = _window(text, column, width)
    lines = [
        f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}",
        f"{gutter}--> {span}",
        f"{line} | {shown}",
        f"{gutter} | {' ' * (column - 1)}{'^' * width} {diagnostic.label}".rstrip(),
    ]
    if line in span.source.origins:
        lines.append(f"{gutter} = from: {span.source.origins[line]}")
    if diagnostic.help:
        lines.append(f"{gutter} = help: {diagnostic.help}")
    return "\n".join(lines)
