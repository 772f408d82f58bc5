"""Text to lark tree: all syntax errors of a file, found one declaration at a time.

Every declaration begins with its keyword at the start of a line. After an error all up to the end
of the declaration that holds it is blanked, so that offsets stay, and the rest is parsed again.
How an error is put in words is in `morello.language.syntax_errors`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from morello.language.diagnostics import Collector
from morello.language.grammars import Kind, parser
from morello.language.source import Source, Span

MAX_ERRORS = 20
MAX_REREAD = 100_000
"""Characters to read again for more errors, a second or two: of a larger file fewer are found."""

MAX_DEPTH = 150  # an evaluator needs a few Python frames a level, and Python has 1000

# What is skipped (templates, texts, comments) may hold words that look like declarations.
_DECLARATION = re.compile(
    r'```.*?(?:```|\Z)|"(?:\\.|[^"\\\n])*"|\#[^\n]*'
    r"|^(?P<keyword>rule|op|target|primitives|function|macro|kernel|spec)\b",
    re.DOTALL | re.MULTILINE,
)


def parse_tree(source: Source, kind: Kind) -> Tree[Token]:
    """Parse a whole file.

    Raises:
        DiagnosticsError: every syntax error, at most one for each declaration.
    """
    collector = Collector()
    tree = _parse_declarations(source, kind, collector)
    collector.raise_if_any()
    _check_depth(tree, source, collector)
    collector.raise_if_any()
    return tree


def _parse_declarations(source: Source, kind: Kind, collector: Collector) -> Tree[Token]:
    """Parse, and parse again what is behind an error, until nothing is wrong."""
    lark = parser(kind)
    text = source.text
    borders = declaration_borders(text)
    places: set[int] = set()
    reread = 0
    while True:
        tree, error = _attempt(lark, text)
        if tree is not None:
            return tree
        assert error is not None
        # Only a text that is wrong needs the words and the table of advice.
        from morello.language.syntax_errors import explain  # noqa: PLC0415

        diagnostic = explain(lark, kind, source, text, error)
        start = diagnostic.span.start
        if start not in places:
            places.add(start)
            collector.diagnostics.append(diagnostic)
        text, left = _blank(text, borders, start)
        reread += left
        if len(places) >= MAX_ERRORS or reread > MAX_REREAD:
            collector.raise_if_any()


def _attempt(lark: Lark, text: str) -> tuple[Tree[Token] | None, UnexpectedInput | None]:
    try:
        return lark.parse(text), None
    except UnexpectedInput as error:
        return None, error


def declaration_borders(text: str) -> list[int]:
    """Offsets where declarations begin, with the two ends of the text, in order."""
    starts = [m.start() for m in _DECLARATION.finditer(text) if m["keyword"]]
    return sorted({0, *starts, len(text)})


def _blank(text: str, borders: list[int], position: int) -> tuple[str, int]:
    """The text behind the declaration that an error at ``position`` belongs to, and its length.

    An error at the very start of a declaration is one of the declaration before it, which ends too
    early, unless nothing is left there.
    """
    index = min(bisect_right(borders, position), len(borders) - 1) - 1
    before = borders[index - 1] if index else 0
    if borders[index] == position and text[before:position].strip():
        index -= 1
    end = borders[index + 1]
    return " " * end + text[end:], len(text) - end


def _check_depth(tree: Tree[Token], source: Source, collector: Collector) -> None:
    """Refuse what would exhaust Python's stack in any recursive walk."""
    pending: list[tuple[Tree[Token], int]] = [(tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_DEPTH:
            span = Span(source, node.meta.start_pos, node.meta.end_pos)
            message = f"nested more than {MAX_DEPTH} deep"
            collector.error("E007", message, span, help="split it into smaller parts")
            return
        pending += [(child, depth + 1) for child in node.children if isinstance(child, Tree)]
