"""Parsers from tables that were kept do what parsers do that are built from the grammars."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

from morello.language import grammars
from morello.language.grammar_texts import grammar_texts
from morello.language.grammars import KINDS, SUFFIXES, Kind, build, load
from morello.language.syntax_advice import ADVICE

PROJECT = Path(__file__).resolve().parent.parent.parent
DIRECTORIES = {"rules": "rules", "target": "targets", "mspec": "examples"}


@pytest.fixture
def kept(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lark:
    """A parser that is read and not built."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("MORELLO_CACHE", raising=False)
    load(kind)
    monkeypatch.setattr(grammars, "build", None)
    return load(kind)


def _outcome(parser: Lark, text: str) -> object:
    try:
        return parser.parse(text)
    except UnexpectedInput as error:
        return (type(error), error.pos_in_stream, getattr(error, "accepts", None))


@pytest.mark.parametrize("kind", KINDS)
def test_trees_and_errors_are_the_same(kind: Kind, kept: Lark) -> None:
    """On all that ships, and on all the broken examples of the table of advice."""
    paths = sorted((PROJECT / DIRECTORIES[kind]).rglob(f"*{SUFFIXES[kind]}"))
    assert paths
    broken = [example for _, examples in ADVICE[kind] for example in examples]
    built = build(kind)
    for text in [*(path.read_text() for path in paths), *broken]:
        assert _outcome(kept, text) == _outcome(built, text)


@pytest.mark.parametrize("kind", KINDS)
def test_places_and_terminals_are_the_same(kind: Kind, kept: Lark) -> None:
    """Diagnostics need both."""
    built = build(kind)
    assert {t.name: t.pattern.value for t in kept.terminals} == {
        t.name: t.pattern.value for t in built.terminals
    }
    path = min((PROJECT / DIRECTORIES[kind]).rglob(f"*{SUFFIXES[kind]}"))
    ends = [
        [(node.data, node.meta.start_pos, node.meta.end_pos) for node in tree.iter_subtrees()]
        for tree in (kept.parse(path.read_text()), built.parse(path.read_text()))
    ]
    assert ends[0] == ends[1]


def test_all_grammars_are_texts() -> None:
    """Those that others import as well."""
    names = sorted(p.name for p in files("morello_grammar").iterdir() if p.name.endswith(".lark"))
    assert list(grammar_texts()) == names
