"""The parsers of the three kinds of file, built from `morello.language.grammar_texts`.

One `lark.Lark` a kind, when first asked for; its tables are kept in the start-up cache. What is
done with a text, right or wrong, is in `morello.language.syntax`; trees are turned into nodes by
the modules `build_*`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from typing import Literal

import lark
from lark import Lark, Token
from lark.lark import PostLex

from morello.language.grammar_texts import grammar_texts
from morello.language.old_words import renamed
from morello.startup.cache import entry

Kind = Literal["rules", "target", "mspec"]

KINDS: tuple[Kind, ...] = ("rules", "target", "mspec")

SUFFIXES: dict[Kind, str] = {"rules": ".mrules", "target": ".mtarget", "mspec": ".mspec"}


class _WholeWords(PostLex):
    """Lets a word or a number be read in every state of the parser.

    Without it a state in which only the keyword ``rule`` may follow would read ``rules`` as
    ``rule`` and ``s``. So a keyword is one only as a whole word, and only where it may stand.
    """

    always_accept = ("NAME", "INTEGER", "FLOAT")

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        return renamed(stream)


def _import(_base: str | None, file_name: str) -> tuple[str, str]:
    """Resolve an ``%import``; lark tries its own library when this raises `OSError`."""
    try:
        return file_name, grammar_texts()[file_name]
    except KeyError:
        raise FileNotFoundError(file_name) from None


def build(kind: Kind, *, strict: bool = False) -> Lark:
    """A new parser; ``strict`` refuses grammars whose terminals collide (needs interegular)."""
    return Lark(
        grammar_texts()[f"{kind}.lark"],
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
    """The parser of one kind of file, one for the process."""
    return load(kind)


def load(kind: Kind) -> Lark:
    """A parser from the tables in the start-up cache; they are made where they are not there."""
    place = entry(f"parser-{kind}", lark.__version__, *grammar_texts().values())
    tables = place.read()
    if tables is not None:
        return Lark.load(io.BytesIO(tables))
    built = build(kind)
    saved = io.BytesIO()
    built.save(saved)
    place.write(saved.getvalue())
    return built
