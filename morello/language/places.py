"""Finding the exact place of a word inside a node's span, for the caret of a diagnostic.

Syntax trees carry a span per node, not per word. A message about one word of a node (the base of a
target, a dtype, a property) narrows the node's span to that word here. Nothing else reads
text again.
"""

from __future__ import annotations

import re

from morello.language.source import Span

_UNREAD = re.compile(r'#[^\n]*|"[^"\n]*"')
"""Comments and strings: a word in them is not meant."""

_OPENING = re.compile(r'[#"]')


def within(span: Span, word: str, *, after: int | None = None) -> Span:
    """Span of the first whole ``word`` inside ``span``, comments and strings left out.

    Args:
        span: Where to look.
        word: A name, possibly dotted, or a number as it is written.
        after: Offset to start from, when the word may stand earlier with another meaning.

    Returns:
        The span of the word, or all of ``span`` if it is not there literally.
    """
    text, end = span.source.text, span.end
    place = span.start if after is None else after
    found = text.find(word, place, end)  # no pattern for each word: there may be thousands
    while found >= 0:
        opening = _OPENING.search(text, place, found)
        if opening is not None:
            unread = _UNREAD.match(text, opening.start(), end)
            place = opening.end() if unread is None else unread.end()
        elif _is_whole(text, found, found + len(word), end):
            return Span(span.source, found, found + len(word))
        else:
            place = found + 1
        if place > found:
            found = text.find(word, place, end)
    return span


def _is_whole(text: str, start: int, stop: int, end: int) -> bool:
    """Whether what stands there is no part of a longer name, in a text that ends at ``end``."""
    before, behind = text[start - 1 : start], text[stop : min(stop + 1, end)]
    return not (_in_word(before) or before == "." or _in_word(behind))


def _in_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def text_of(span: Span) -> str:
    """What is written there, on one line."""
    return " ".join(span.source.text[span.start : span.end].split())
