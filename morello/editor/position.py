"""What stands at a place of a text that may be half written: the word, and what it may be.

The parser of the language itself reads the declaration up to the place; what it cannot use, it
passes over. The tokens that it has read say which kinds of name may follow, and the state that it
is in says which keywords.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.lexer import PatternStr
from lark.parsers.lalr_interactive_parser import InteractiveParser

from morello.editor.expected import Expected, expected
from morello.language.grammars import Kind, parser
from morello.language.source import Source, Span
from morello.language.syntax import declaration_borders

_SKIPPED = re.compile(r'```.*?(?:```|\Z)|"(?:\\.|[^"\\\n])*"?|\#[^\n]*', re.DOTALL)
_WORD_BEFORE = re.compile(r"[A-Za-z_]\w*\Z")
_DOTTED_BEFORE = re.compile(r"[A-Za-z_][\w.]*\Z")
_REST_OF_WORD = re.compile(r"\w*")
_REST_OF_DOTTED = re.compile(r"[\w.]*")


@dataclass(frozen=True)
class Place:
    """A place of a text.

    ``word`` is what the cursor is in, or after; it may be empty. ``before`` are the tokens of the
    declaration up to it, ``tokens`` all of the declaration.
    """

    word: Span
    expected: Expected
    keywords: tuple[str, ...]
    before: tuple[Token, ...]
    tokens: tuple[Token, ...]

    @property
    def text(self) -> str:
        """The word."""
        return self.word.source.text[self.word.start : self.word.end]


def place_at(source: Source, kind: Kind, offset: int) -> Place | None:
    """What stands at an offset; none within comments, texts in quotes and templates."""
    text = source.text
    if _is_skipped(text, offset):
        return None
    borders = declaration_borders(text)
    # At the first letter of a declaration, the cursor is in it and not at the end of another.
    start = max((b for b in borders[:-1] if b <= offset), default=0)
    following = bisect_right(borders, offset)
    end = borders[following] if following < len(borders) else len(text)
    found = _WORD_BEFORE.search(text, start, offset)
    first = found.start() if found else offset
    lark = parser(kind)
    interactive, before, sound = _read(lark, text[start:first], start)
    accepts = interactive.accepts()  # type: ignore[no-untyped-call]  # lark gives it no types
    what = expected(kind, before) if "NAME" in accepts or not sound else Expected()
    rest = _REST_OF_WORD
    if "target" in what.kinds:  # the one kind of name with dots in it
        found = _DOTTED_BEFORE.search(text, start, offset)
        first, rest = (found.start() if found else offset), _REST_OF_DOTTED
    after = rest.match(text, offset)
    last = after.end() if after else offset
    _, tokens, _ = _read(lark, text[start:end], start)
    word = Span(source, first, last)
    return Place(word, what, _keywords(lark, accepts), tuple(before), tuple(tokens))


def _is_skipped(text: str, offset: int) -> bool:
    for found in _SKIPPED.finditer(text):
        if found.start() >= offset:
            return False
        ends_open = found[0].startswith("#") or len(found[0]) < 2 or found[0][-1] not in '"`'
        if offset < found.end() or (offset == found.end() and ends_open):
            return True
    return False


def _read(lark: Lark, text: str, start: int) -> tuple[InteractiveParser, list[Token], bool]:
    """The parser after a text, the tokens, and whether nothing had to be passed over."""
    interactive = lark.parse_interactive(text)
    tokens: list[Token] = []
    sound = True
    state = interactive.lexer_thread.state
    assert state is not None
    while True:
        try:
            for token in interactive.iter_parse():
                tokens.append(_moved(token, start))
            return interactive, tokens, sound
        except UnexpectedToken as error:
            sound = False
            if error.token.type != "$END":
                tokens.append(_moved(error.token, start))
        except UnexpectedCharacters:
            sound = False
            position = state.line_ctr.char_pos
            state.line_ctr.feed(Token("UNKNOWN", text[position : position + 1]))


def _moved(token: Token, start: int) -> Token:
    """A token with its place in the whole text."""
    first, last = token.start_pos or 0, token.end_pos or 0
    return Token(token.type, token.value, start_pos=first + start, end_pos=last + start)


def _keywords(lark: Lark, accepts: Iterable[str]) -> tuple[str, ...]:
    patterns = (lark.get_terminal(name).pattern for name in accepts if name != "$END")
    words = (p.value for p in patterns if isinstance(p, PatternStr))
    return tuple(sorted(word for word in words if word.isidentifier()))


def bound_names(kind: Kind, tokens: Sequence[Token]) -> dict[str, Token]:
    """Names that a declaration gives to operands, sizes and choices, where each first stands."""
    found: dict[str, Token] = {}
    brackets: list[str] = []
    for number, token in enumerate(tokens):
        before = tokens[number - 1].type if number else ""
        after = tokens[number + 1].type if number + 1 < len(tokens) else ""
        if token.type in ("LPAR", "LSQB", "LBRACE"):
            brackets.append(token.type)
        elif token.type in ("RPAR", "RSQB", "RBRACE") and brackets:
            brackets.pop()
        elif token.type == "NAME" and _binds(kind, tokens[0].type, before, after, brackets):
            found.setdefault(str(token), token)
    return found


def _binds(kind: Kind, head: str, before: str, after: str, brackets: Sequence[str]) -> bool:
    """Whether a name is given here, by its neighbours and the brackets around it."""
    if before == "DOT" or after in ("LPAR", "DOT") or (before == "COLON" and after == "LSQB"):
        return False
    if after in ("COLON", "IN") or before == "WITH":
        return True
    if head in ("OP", "KERNEL") and brackets:
        return brackets[-1] == "LSQB" or before == "SEMICOLON" or after == "LSQB"
    in_head = list(brackets) == ["LPAR"] and before in ("LPAR", "COMMA", "SEMICOLON")
    return kind == "mspec" and in_head
