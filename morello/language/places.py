"""Finding the exact place of a word inside a node's span, for the caret of a diagnostic.

Syntax trees carry a span per node, not per word. A message about one word of a node (the base of a
target, a dtype, a property) narrows the node's span to that word here. Nothing else reads
text again.
"""

from __future__ import annotations

import re

from morello.language.source import Span


def within(span: Span, word: str, *, after: int | None = None) -> Span:
    """Span of the first whole ``word`` inside ``span``, comments and strings left out.

    Args:
        span: Where to look.
        word: A name, possibly dotted, or a number as it is written.
        after: Offset to start from, when the word may stand earlier with another meaning.

    Returns:
        The span of the word, or all of ``span`` if it is not there literally.
    """
    pattern = re.compile(rf'#[^\n]*|"[^"\n]*"|(?<![\w.])({re.escape(word)})(?!\w)')
    start = span.start if after is None else after
    for found in pattern.finditer(span.source.text, start, span.end):
        if found.group(1) is not None:
            return Span(span.source, *found.span(1))
    return span


def text_of(span: Span) -> str:
    """What is written there, on one line."""
    return " ".join(span.source.text[span.start : span.end].split())
