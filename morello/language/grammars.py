"""The parsers of the three kinds of file, built from the texts in the package `morello_grammar`.

One `lark.Lark` a kind, built when first asked for. What is done with a text, right or wrong, is in
`morello.language.syntax`; trees are turned into nodes by the modules `build_*`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal

from lark import Lark, Token
from lark.lark import PostLex

Kind = Literal["rules", "target", "mspec"]

KINDS: tuple[Kind, ...] = ("rules", "target", "mspec")

SUFFIXES: dict[Kind, str] = {"rules": ".mrules", "target": ".mtarget", "mspec": ".mspec"}

GRAMMAR_PACKAGE = "morello_grammar"


class _WholeWords(PostLex):
    """Lets a word or a number be read in every state of the parser.

    Without it a state in which only the keyword ``rule`` may follow would read ``rules`` as
    ``rule`` and ``s``. So a keyword is one only as a whole word, and only where it may stand.
    """

    always_accept = ("NAME", "INTEGER", "FLOAT")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return stream


def _text(file_name: str) -> str:
    return files(GRAMMAR_PACKAGE).joinpath(file_name).read_text(encoding="utf-8")


def _import(_base: str | None, file_name: str) -> tuple[str, str]:
    """Resolve an ``%import``; lark tries its own library when this raises `OSError`."""
    return file_name, _text(file_name)


def build(kind: Kind, *, strict: bool = False) -> Lark:
    """A new parser; ``strict`` refuses grammars whose terminals collide (needs interegular)."""
    return Lark(
        _text(f"{kind}.lark"),
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        import_paths=[_import],
        source_path=f"{kind}.lark",
        postlex=_WholeWords(),
        strict=strict,
    )


@cache
def parser(kind: Kind) -> Lark:
    """The parser of one kind of file."""
    return build(kind)
