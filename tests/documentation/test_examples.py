"""The examples of the pages: good ones have no error, bad ones the error that they announce.

Each construct of the languages has both.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest
from lark import Lark
from lark.grammar import Rule
from lark.lexer import PatternStr

from morello.language.codes import CODES
from morello.language.grammars import Kind, parser
from tests.documentation.blocks import DEFINED, PAGES, PROJECT, Block, blocks_of
from tests.documentation.examples import diagnostics_of

LANGUAGES: dict[str, Kind] = {"mspec": "mspec", "mrules": "rules", "mtarget": "target"}

BY_LANGUAGE = {
    "mspec": ["specs.md"],
    "mrules": ["operators.md", "rules.md"],
    "mtarget": ["targets.md"],
}
"""The pages in `docs` that describe each language."""

UNSEEN = {"WHITESPACE", "COMMENT"}
"""Terminals that the parser never sees."""


class Example(NamedTuple):
    """A block of a page that is by itself."""

    page: str
    block: Block

    def __str__(self) -> str:
        return f"{self.page}:{self.block.line}"


def _examples(page: Path) -> list[Example]:
    return [
        Example(page.relative_to(PROJECT).as_posix(), block)
        for block in blocks_of(page.read_text())
        if block.language in DEFINED and (block.word in ("good", "bad") or _is_spec(block))
    ]


def _is_spec(block: Block) -> bool:
    """Specs may use what comes with Morello, and nothing else that stands in a page."""
    return block.language == "mspec" and block.word in ("", "from")


EXAMPLES = [example for page in PAGES for example in _examples(page)]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_is_what_it_says(example: Example) -> None:
    """All and only the error that is named; none otherwise."""
    block = example.block
    codes = {found.code for found in diagnostics_of(block, "example")}
    announced = {block.argument} if block.word == "bad" and block.argument else set()
    assert codes == announced


def test_every_law_of_rules_has_a_bad_and_a_good_example() -> None:
    """In that order, so that the page ends each law with what to do."""
    laws: dict[str, list[str]] = {}
    for example in _examples(PROJECT / "rules" / "README.md"):
        laws.setdefault(example.block.heading, []).append(example.block.word)
    assert len(laws) >= 11
    for law, words in laws.items():
        assert words == ["bad", "good"], law


@pytest.mark.parametrize("name", [name for names in BY_LANGUAGE.values() for name in names])
def test_every_good_example_has_a_counterpart(name: str) -> None:
    """Below the same heading: one that is refused with a code, not merely unwise."""
    examples = [e.block for e in _examples(PROJECT / "docs" / name)]
    good = {b.heading for b in examples if b.word == "good"}
    assert good == {b.heading for b in examples if b.word == "bad" and b.argument in CODES}


def test_every_construct_has_an_example() -> None:
    """The good ones use every rule and every word of the grammars.

    What languages have in common, such as expressions, is used in one of them.
    """
    named = {language: _named(parser(kind)) for language, kind in LANGUAGES.items()}
    used = {language: _used(language) for language in LANGUAGES}
    shared = set[str]()
    for one, other in combinations(named.values(), 2):
        shared |= one & other
    assert shared - set[str]().union(*used.values()) == set()
    for language in LANGUAGES:
        assert named[language] - shared - used[language] == set(), language


def _named(lark: Lark) -> set[str]:
    """Rules that make nodes of syntax trees, and terminals that mean something."""
    rules = {_name(rule.alias or rule.origin.name) for rule in lark.rules if _is_node(rule)}
    return {name for name in rules if not name.startswith("_")} | {*_words(lark).values()} - UNSEEN


def _words(lark: Lark) -> dict[str, str]:
    """Of each terminal what is written for it, or its name where that can be many things."""
    patterns = ((terminal.name, terminal.pattern) for terminal in lark.terminals)
    return {name: p.value if isinstance(p, PatternStr) else name for name, p in patterns}


def _is_node(rule: Rule) -> bool:
    return bool(rule.alias) or not rule.options.expand1


def _name(name: str) -> str:
    """Without the grammar that it was imported from."""
    return str(name).removeprefix("expressions__")


def _used(language: str) -> set[str]:
    """Rules and terminals that the good examples of a language make use of."""
    lark = parser(LANGUAGES[language])
    pages = [PROJECT / "docs" / name for name in BY_LANGUAGE[language]]
    used: set[str] = set()
    for example in (e.block for page in pages for e in _examples(page)):
        if example.word == "good" and example.language == language:
            tokens = lark.parse_interactive(example.text).iter_parse()
            used |= {_words(lark)[token.type] for token in tokens}
            used |= {_name(tree.data) for tree in lark.parse(example.text).iter_subtrees()}
    return used
