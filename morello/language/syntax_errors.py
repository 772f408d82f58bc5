"""Syntax errors in words: what was expected, what was found, and what to do about it.

Advice for single mistakes is in the table of `morello.language.syntax_advice`.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from morello.language.diagnostics import Diagnostic
from morello.language.grammars import SUFFIXES, Kind, parser
from morello.language.source import Source, Span
from morello.language.syntax_advice import ADVICE

Signature = tuple[int, frozenset[str], str]
"""State of the parser, terminals that it accepts, terminal that it found."""

END = "$END"

_WORDS = {
    "NAME": "a name",
    "INTEGER": "a whole number",
    "FLOAT": "a number",
    "STRING": "a text in quotes",
    "TEMPLATE": "a template in triple backticks",
    "COMPARISON": "a comparison",
    "OVER": "'/'",
    END: "the end of the file",
}

_EXPRESSION = frozenset({"NAME", "INTEGER", "FLOAT", "LPAR", "MINUS"})
_SHAPE = frozenset({"LSQB"})
_OPERATORS = frozenset({"PLUS", "MINUS", "TIMES", "OVER"})
# What may follow an operand besides an operator: not worth a word each.
_CONTINUATIONS = frozenset(
    {"COMPARISON", "AND", "OR", "IF", "DOT", "LPAR", "LSQB", "KIB", "MIB", "GIB"}
)

_POWERS = "there is no operator for powers: write x * x, or exp(a * log(x)) where x > 0"

_CHARACTERS = {
    "'": "texts stand in double quotes",
    "\u201c": "texts stand in plain double quotes",
    "\u201d": "texts stand in plain double quotes",
    "&": "write 'and'; of whole numbers, x % 16 is the low 4 bits",
    "&&": "write 'and'",
    "|": "write 'or'; there are no operators for bits",
    "||": "write 'or'",
    "!": "write 'not'",
    "^": _POWERS,
    "\u00d7": "multiply with '*'",
    "\u2212": "subtract with '-'",
    "\u2013": "subtract with '-'",
    "\u2026": "write three dots: '...'",
    "\u00a0": "use a plain space",
    "`": "a template stands between triple backticks",
    "\\": "a line needs no mark to go on",
}

_HOMES: dict[str, tuple[Kind, ...]] = {
    "rule": ("rules",),
    "op": ("rules", "target"),
    "target": ("target", "mspec"),
    "primitives": ("target",),
    "function": ("target",),
    "kernel": ("target",),
    "spec": ("mspec",),
}


def explain(
    lark: Lark, kind: Kind, source: Source, text: str, error: UnexpectedInput
) -> Diagnostic:
    """The diagnostic of one error that ``lark`` raised for ``text``.

    ``text`` is the source's text, perhaps with parts blanked.
    """
    if isinstance(error, UnexpectedToken):
        return _unexpected_token(lark, kind, source, text, error.token)
    assert isinstance(error, UnexpectedCharacters)
    return _unexpected_character(source, text, error.pos_in_stream or 0)


# --------------------------------------------------------------------------- characters


def _unexpected_character(source: Source, text: str, start: int) -> Diagnostic:
    character = text[start]
    if text.startswith("```", start):
        message = "this template is not closed"
        return Diagnostic("E005", message, Span(source, start, start + 3), help="close it with ```")
    if character == '"':
        line_end = text.find("\n", start)
        span = Span(source, start, len(text) if line_end < 0 else line_end)
        return Diagnostic(
            "E005", "this text is not closed", span, help="close it with '\"' on the same line"
        )
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    advice = _CHARACTERS.get(text[start : start + 2]) or _CHARACTERS.get(character, "")
    if character.isalpha():
        advice = "names are made of a-z, A-Z, 0-9 and '_'"
    message = f"{shown} has no meaning here"
    return Diagnostic("E004", message, Span(source, start, start + 1), help=advice)


# --------------------------------------------------------------------------- tokens


def _unexpected_token(
    lark: Lark, kind: Kind, source: Source, text: str, token: Token
) -> Diagnostic:
    state, accepts, end = _state_before(lark, text, token)
    words = _expected(lark, accepts)
    message = f"expected {_alternatives(words)}, found {_found(token)}"
    signature = state, accepts, _token_kind(lark, token)
    advice = (
        _misspelt(kind, token, words) or _advice(kind).get(signature) or _hint(text, token, accepts)
    )
    if accepts == _SHAPE and "\n" in text[end : token.start_pos]:
        # It was left out: what stands on a later line has nothing to do with it.
        return Diagnostic("E003", message, Span(source, end, end), "it belongs here", advice)
    return Diagnostic("E003", message, _span(source, token), "not expected here", advice)


def _state_before(lark: Lark, text: str, failed: Token) -> tuple[int, frozenset[str], int]:
    """State of the parser when it met the token, before it reduced anything because of it.

    The error itself carries the state after the reductions, which knows less of what could follow.
    The last number is the end of the token before.
    """
    end = 0
    interactive = lark.parse_interactive(text)
    try:
        for token in interactive.iter_parse():
            if failed.type != END and token.start_pos == failed.start_pos:
                break
            end = token.end_pos or 0
    except UnexpectedInput:  # the lexer gave up: at the same place
        pass
    accepts = interactive.accepts()  # type: ignore[no-untyped-call]  # lark gives it no types
    return interactive.parser_state.position, frozenset(accepts), end


def _span(source: Source, token: Token) -> Span:
    start, end = token.start_pos or 0, token.end_pos or 0
    return Span(source, end, end) if token.type == END else Span(source, start, end)


def _found(token: Token) -> str:
    match token.type:
        case "$END":
            return _WORDS[END]
        case "TEMPLATE":
            return "a template"
        case "STRING":
            return f"the text {token}" if len(token) <= 40 else f'the text {token[:36]}..."'
        case _:
            return f"'{token}'" if len(token) <= 40 else f"'{token[:36]}...'"


def _alternatives(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _expected(lark: Lark, accepts: frozenset[str]) -> list[str]:
    """Words for the terminals that could have followed, groups first, sorted."""
    groups = []
    rest = accepts
    if rest >= _EXPRESSION:
        groups.append("an expression")
        rest -= _EXPRESSION | {"NOT"}
    if rest >= _OPERATORS:
        groups.append("an operator")
        rest -= _OPERATORS | _CONTINUATIONS
    if "FLOAT" in rest:
        rest -= {"INTEGER"}
    return groups + sorted(_word(lark, terminal) for terminal in rest)


def _word(lark: Lark, terminal: str) -> str:
    if terminal in _WORDS:
        return _WORDS[terminal]
    return f"'{lark.get_terminal(terminal).pattern.value}'"


def _token_kind(lark: Lark, token: Token) -> str:
    """The token's terminal, or the keyword that it is elsewhere in the same grammar."""
    return _keywords(lark).get(str(token), token.type)


@cache
def _keywords(lark: Lark) -> dict[str, str]:
    patterns = ((t.name, t.pattern) for t in lark.terminals)
    return {p.value: name for name, p in patterns if isinstance(p, PatternStr)}


# --------------------------------------------------------------------------- advice


def _misspelt(kind: Kind, token: Token, words: list[str]) -> str:
    """Advice for a word that was meant to be another, or for another kind of file."""
    homes = _HOMES.get(str(token), (kind,))
    if kind not in homes:
        return f"'{token}' belongs in a {SUFFIXES[homes[0]]} file"
    if token.type != "NAME":
        return ""
    expected = [word.strip("'") for word in words if word.startswith("'")]
    close = get_close_matches(str(token), expected, n=1, cutoff=0.85)
    return f"did you mean '{close[0]}'?" if close else ""


def _hint(text: str, token: Token, accepts: frozenset[str]) -> str:
    """Advice that depends on what was found and what could follow, wherever that was."""
    if token == "*" and text.endswith("*", 0, token.start_pos):
        return _POWERS
    if token == "=" and "COMPARISON" in accepts:
        return "compare with '=='"
    if token.type == "COMPARISON" and "AND" in accepts:
        return "comparisons do not chain: write 'a < b and b < c'"
    if token == "//":
        return "comments begin with '#'"
    return ""


@cache
def _advice(kind: Kind) -> dict[Signature, str]:
    """The table of advice by the state in which each of its broken examples fails."""
    lark = parser(kind)
    table: dict[Signature, str] = {}
    for advice, examples in ADVICE[kind]:
        for example in examples:
            table.setdefault(_signature(lark, example), advice)
    return table


def _signature(lark: Lark, broken: str) -> Signature:
    try:
        lark.parse(broken)
    except UnexpectedToken as error:
        state, accepts, _ = _state_before(lark, broken, error.token)
        return state, accepts, _token_kind(lark, error.token)
    raise ValueError(f"an example of the table of advice is no syntax error: {broken!r}")
