"""Words that were renamed: version 0.1 still reads their old spelling, with a warning.

A row of `RENAMED` says where an old word stands for the new one. Parsers are handed the new one at
the place of the old (`reading`), so nothing behind them knows of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

from lark import Token
from msgspec import Struct

from morello.language.diagnostics import Diagnostic
from morello.language.source import Source, Span

_NAME_FOLLOWS = r"(?=\s+(?!(?:in|if|and|or|not|else|of|at|step|dtype|layout|vector)\b)[A-Za-z_])"
_CALLED = r"(?=\s*\()"


class Renamed(Struct, frozen=True):
    """A word, what it is called now, and the terminals that this is, with their texts.

    ``before`` and ``after`` are patterns of what stands around it where it has this meaning.
    """

    old: str
    new: str
    terminals: tuple[tuple[str, str], ...]
    before: str = ""
    after: str = ""


def _function(old: str, new: str) -> Renamed:
    return Renamed(old, new, (("NAME", new),), after=_CALLED)


_FUNCTIONS = (
    _function("computed", "is_intermediate"),
    _function("in_turn", "first_to_move"),
    _function("lies_as", "has_layout"),
    _function("restricted", "partly_tileable"),
    _function("shared", "is_parallel"),
    _function("stays", "fits_argument_cache"),
)

RENAMED: Mapping[str, tuple[Renamed, ...]] = {
    "rules": (
        *_FUNCTIONS,
        Renamed("ahead", "prepack", (("PREPACK", "prepack"),), after=_NAME_FOLLOWS),
        Renamed("divided", "tileable", (("TILEABLE", "tileable"),), after=_NAME_FOLLOWS),
        Renamed(
            "per",
            "expanded over",
            (("EXPANDED", "expanded"), ("_ACROSS", "over")),
            after=_NAME_FOLLOWS,
        ),
        Renamed("staggered", "pipelined", (("PIPELINED", "pipelined"),), after=r"(?=\s+for\b)"),
    ),
    "target": (
        *_FUNCTIONS,
        Renamed(
            "grain", "capacity_unit", (("CAPACITY_UNIT", "capacity_unit"),), after=r"(?=\s+\d)"
        ),
        Renamed(
            "keeps",
            "copy_on_first_use",
            (("COPY_ON_FIRST_USE", "copy_on_first_use"),),
            after=_NAME_FOLLOWS,
        ),
        Renamed("meaning", "definition", (("DEFINITION", "definition"),), before=r"\bemit\s+"),
    ),
    "mspec": (),
}
"""By kind of file."""

_SKIPPED = r"""```.*?(?:```|\Z)|"(?:\\.|[^"\\\n])*"|\#[^\n]*"""

_READING: ContextVar[Mapping[int, Renamed]] = ContextVar("_READING")
"""Places of old words in the text that is being parsed."""


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    words = (rf"{r.before}\b(?P<w{n}>{r.old})\b{r.after}" for n, r in enumerate(RENAMED[kind]))
    return re.compile("|".join((_SKIPPED, *words)), re.DOTALL)


def old_words(text: str, kind: str) -> dict[int, Renamed]:
    """Where a text has old words, outside of comments and quoted texts."""
    found = {}
    if any(renamed.old in text for renamed in RENAMED[kind]):
        for match in _pattern(kind).finditer(text):
            if match.lastgroup is not None:
                found[match.start(match.lastgroup)] = RENAMED[kind][int(match.lastgroup[1:])]
    return found


@contextmanager
def reading(words: Mapping[int, Renamed]) -> Iterator[None]:
    """Have parsers, in this thread, read the words at these places as they are called now."""
    token = _READING.set(words)
    try:
        yield
    finally:
        _READING.reset(token)


def renamed(stream: Iterator[Token]) -> Iterator[Token]:
    """Tokens, old words among them as they are called now; the places are those of the text."""
    words = _READING.get({})
    return _replaced(stream, words) if words else stream


def _replaced(stream: Iterator[Token], words: Mapping[int, Renamed]) -> Iterator[Token]:
    for token in stream:
        word = None if token.start_pos is None else words.get(token.start_pos)
        if word is None:
            yield token
            continue
        for terminal, text in word.terminals:
            yield Token.new_borrow_pos(terminal, text, token)


def warnings(source: Source, words: Mapping[int, Renamed]) -> tuple[Diagnostic, ...]:
    """A warning for each old word of a file."""
    return tuple(
        Diagnostic(
            "W001",
            f"'{word.old}' is called '{word.new}' now",
            Span(source, place, place + len(word.old)),
            "an old word",
            f"write '{word.new}': the next version does not read '{word.old}'",
            "warning",
        )
        for place, word in words.items()
    )
