"""The TextMate grammar says of every token what the Lark grammars say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from lark import Token
from lark.lexer import PatternStr

from morello.language.grammars import KINDS, SUFFIXES, Kind, parser
from morello.language.kernel_clauses import CLAUSES

from .clause_texts import all_said
from .textmate import scopes

PROJECT = Path(__file__).resolve().parent.parent.parent
PLACES = {
    "rules": ("rules", "examples"),
    "target": ("targets", "examples"),
    "mspec": ("examples", "rules", "benchmarks"),
}

RARE: dict[Kind, str] = {
    "mspec": """\
spec rare(N = 1 if 2 > 1 and not 3 == 4 or 5 < 6 else 4 KiB // 2 + 2 MiB - 1 GiB, x = 2, op = 1,
m <= 8)
threads 2
{
  weight w: f32[N, x + op] layout (1, 0) panels 16
  input stride: f32[N, 2] stride (2 * N, 1)
  output target: f32[]; target = layout(w, match = 0.5e-3)
  a[i] = w[i, 2 * i]; a[i] += w[i, j]; a[i] max= w[i, j]; a[i] min= w[i, j]
  a[i + 1] = a[i] elsewhere -1
}
""",
    "rules": """\
op rare(A: T[i, 2 * j]; level, cost) -> B: T[i] tileable i "A \\"text\\"." where size(i) == 4 KiB
{
  B[i] max= A[i, j] if i < 2 and not j > 3 or i == 1 MiB else 2 GiB elsewhere 0;
  B[i] min= max(A[i, j], 1.5e3)
}
rule rare_rule "text"
  match f: parallel accumulating elementwise op except copy, X: weight of f
  choose dtype in layouts(X, at), operand in vectors(X)
  where weight == operand, layout != vector
  yield with Y = X at X.level dtype Y.dtype layout layout vector vector { f[X := Y] };
        with Z = X at level(at)
          dtype dtype layout
          first(layout) vector 4 { consuming f[X := Y]; producing f[X := Z] if reads(f, X) };
        ordered copy(X, f.layout[b..., i]); prepack copy(X, Y)
""",
    "target": """\
target a.level extends a.vector "text" {
  emitter vector; sizes 1, 2; page 4 KiB; flags "-a", "-b"; headers "h"
  features "f"; implied "i"; compiler "c"; runner "r"
  level line { capacity 2 vectors; arguments 1 GiB; streams 2; capacity_unit 1 MiB; line 64; vector
  4, 8;
               cache; not addressable; coefficient cycles = 1.5 cycles "text" }
}
primitives f32 x 4 on a.on { and "a"; or "b" x; not "c"; type "d" }
function on on a.b "text" emit ```static int f(void) { return 1; } # {{ x }} {# kernel #}
kernel ``` # the end
macro on(first, macro) on a.macro "text" emit ```{{ first }} {% if macro %}{% endif %}```
kernel match on a.b "text"
  match any op (any[..., n] at reg or l1 layout any panels 4 or 8 vector 32)
  where panels(X) == 1 and n <= 4 or not vector(n) if n else 0
  cost loads(f) CLAUSES emit definition
  streamed
kernel both on a.b "text" match any third(X: f32[n] at l1) cost 0 emit definition
kernel other on a.b "text" match pointwise op (f32[n] at reg layout (1, 0); any[...] at l1)
  cost 0 emit definition
kernel third on a.b "text" match reduction op (f32[n] at reg) cost f.out.level emit definition
""".replace("CLAUSES", all_said(CLAUSES)),
}
"""What shipped files do not have: rare words, and words that are keywords elsewhere as names."""


@cache
def _grammar() -> Mapping[str, Any]:
    text = (files("morello_grammar") / "morello.tmLanguage.json").read_text(encoding="utf-8")
    grammar: Mapping[str, Any] = json.loads(text)
    return grammar


@cache
def _scopes(text: str) -> list[str]:
    return scopes(_grammar(), text)


@cache
def _texts(kind: Kind) -> list[tuple[str, str]]:
    paths = [p for d in PLACES[kind] for p in sorted((PROJECT / d).rglob(f"*{SUFFIXES[kind]}"))]
    shipped = [(str(p.relative_to(PROJECT)), p.read_text(encoding="utf-8")) for p in paths]
    return [*shipped, ("rare", RARE[kind])]


def _keywords(kind: Kind) -> dict[str, str]:
    """Terminals that are words, and the words."""
    patterns = {t.name: t.pattern for t in parser(kind).terminals}
    return {
        name: pattern.value
        for name, pattern in patterns.items()
        if isinstance(pattern, PatternStr) and pattern.value[0].isalpha()
    }


@cache
def _tokens(kind: Kind, text: str) -> list[Token]:
    interactive = parser(kind).parse_interactive(text)
    return [token for token in interactive.exhaust_lexer() if token.type != "$END"]


def _belongs(token: Token, scope: str, keywords: Mapping[str, str]) -> bool:
    """Whether a scope is one for what Lark says that a token is."""
    parts = scope.split(".")
    if token.type in keywords:
        return "keyword" in parts
    match token.type:
        case "NAME":
            return parts[0] in {"variable", "entity", "support", "storage"} and (
                "keyword" not in parts
            )
        case "INTEGER" | "FLOAT":
            return parts[0] == "constant"
        case "STRING":
            return parts[0] == "string" or "escape" in parts
        case "TEMPLATE":
            return parts[0] in {"string", "meta"} or "jinja" in parts
        case _ if token in {*"(){}[],;:."}:
            return parts[0] == "punctuation"
        case _:
            return parts[:2] == ["keyword", "operator"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_token_has_the_scope_of_its_terminal(kind: Kind) -> None:
    """In all files that ship: of every character of every token that Lark reads."""
    keywords = _keywords(kind)
    wrong = []
    for name, text in _texts(kind):
        found = _scopes(text)
        for token in _tokens(kind, text):
            assert token.start_pos is not None
            of_token = found[token.start_pos : token.end_pos]
            wrong += [
                f"{name}:{token.line}:{token.column}: {token.type} '{token}' is '{scope}'"
                for scope in dict.fromkeys(of_token)
                if not _belongs(token, scope, keywords)
            ]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_have_every_keyword(kind: Kind) -> None:
    """So the test above tests each."""
    seen = {token.type for _, text in _texts(kind) for token in _tokens(kind, text)}
    assert set(_keywords(kind)) <= seen


@pytest.mark.parametrize("kind", KINDS)
def test_comments_are_comments(kind: Kind) -> None:
    """Lark passes over them; a comment that ends a line has no other scope."""
    comments = 0
    for _, text in _texts(kind):
        found = _scopes(text)
        for line in re.finditer(r"^[ \t]*#.*$", _without_templates(text), re.MULTILINE):
            comments += 1
            start = line.end() - len(line[0].lstrip())
            assert {s.split(".")[0] for s in found[start : line.end()]} == {"comment"}, line
    assert comments


def _without_templates(text: str) -> str:
    blank = re.compile(r"```.*?```", re.DOTALL)
    return blank.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _words(value: object) -> Iterator[str]:
    """The words in the expressions whose matches, or captures, are keywords."""
    if isinstance(value, list):
        for item in value:
            yield from _words(item)
    if not isinstance(value, dict):
        return
    for key in ("match", "begin"):
        captures = value.get("captures") or value.get("beginCaptures") or {}
        names = [value.get("name", ""), *(c["name"] for c in captures.values())]
        if key in value and any("keyword" in name.split(".") for name in names):
            bare = re.sub(r"\\.|\[[^\]]*\]|\(\?<?[:!=]", " ", value[key])
            yield from re.findall(r"[A-Za-z_]+=?", bare)
    for item in value.values():
        yield from _words(item)


def test_the_keywords_are_those_of_the_grammars() -> None:
    """All of them, and no other word."""
    expected = {word for kind in KINDS for word in _keywords(kind).values()}
    assert {"rule", "max=", "KiB", "x"} <= expected
    found = {word.rstrip("=") for word in _words(_grammar())}
    assert found == {word.rstrip("=") for word in expected}


def test_the_extension_in_the_documentation_has_the_grammar() -> None:
    """Its scope and its file, and the suffixes of all kinds."""
    page = (PROJECT / "docs" / "editors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json[^\n]*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    contributes = json.loads(block)["contributes"]
    assert contributes["grammars"][0]["scopeName"] == _grammar()["scopeName"]
    assert contributes["grammars"][0]["path"] == "./morello.tmLanguage.json"
    assert sorted(contributes["languages"][0]["extensions"]) == sorted(SUFFIXES.values())
    assert sorted(f".{name}" for name in _grammar()["fileTypes"]) == sorted(SUFFIXES.values())


def test_unfinished_texts_stay_within_their_line_or_declaration() -> None:
    """What is being written does not colour the declarations after it."""
    text = 'rule a "one\n  yield with Y =\nop b(X: T[i]) -> Y: T[i] "not closed\n{ Y[i] = X[i] }\n'
    found = _scopes(text)
    assert found[text.index("yield")] == "keyword.control.morello"
    assert found[text.index("op b")] == "keyword.declaration.morello"
    assert found[text.index("X[i] }")] == "variable.other.morello"


def test_what_has_no_scope_is_reported() -> None:
    """The comparison is not blind: a word that is a keyword to one side only is seen."""
    (token,) = _tokens("target", "target")
    assert _belongs(token, "keyword.declaration.morello", _keywords("target"))
    assert not _belongs(token, "variable.other.morello", _keywords("target"))
    assert not _belongs(Token("NAME", "target"), "keyword.other.morello", _keywords("target"))
