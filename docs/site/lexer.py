"""Colours for the three languages: those that editors show, from the same grammar."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Token, _TokenType

from tests.language.textmate import scopes

GRAMMAR = Path(__file__).resolve().parents[2] / "grammar" / "morello.tmLanguage.json"

TOKENS = {
    "comment": Token.Comment,
    "string": Token.String,
    "constant.numeric": Token.Number,
    "constant": Token.Keyword.Constant,
    "keyword.operator": Token.Operator,
    "keyword": Token.Keyword,
    "storage": Token.Keyword.Declaration,
    "entity.name": Token.Name.Function,
    "support.type": Token.Keyword.Type,
    "support": Token.Name.Builtin,
    "variable": Token.Name.Variable,
    "punctuation": Token.Punctuation,
}
"""Of a scope that begins so; the first one counts."""


@cache
def _token(scope: str) -> _TokenType:
    return next((token for begin, token in TOKENS.items() if scope.startswith(begin)), Token.Text)


@cache
def _grammar() -> Any:
    return json.loads(GRAMMAR.read_text())


class MorelloLexer(Lexer):
    """Tokens of specs, rules and targets."""

    name = "Morello"
    aliases: ClassVar = ["mspec", "mrules", "mtarget"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Runs of characters that have the same colour."""
        tokens = map(_token, scopes(_grammar(), text))
        position = 0
        for token, run in groupby(tokens):
            length = len(list(run))
            yield position, token, text[position : position + length]
            position += length
