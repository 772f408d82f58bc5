"""Old spellings of renamed words: read as what they are called now, each with a warning."""

from __future__ import annotations

import pytest

from morello.definitions import load_definitions
from morello.language import old_words
from morello.language.diagnostics import render
from morello.language.parse import parse_rules, parse_target
from morello.language.source import Source

RULES = """op twice(X: f32[m, n]) -> Y: f32[m, n]
  divided n
  "Twice divided by one: per element."   # ahead of all: shared(f)
{ Y[m, n] = 2 * X[m, n] }
rule r "Never ahead copy(X, Y)."
  match f: matmul, A: operand of f, W: weight of f
  choose per in levels(A), l in layouts(A, per)
  where in_turn(f, A, per) and not lies_as(A, l) and not computed(A) and not shared(f)
        and not restricted(f) and stays(bytes(A))
  yield staggered for f.m step 1 {
    with B = A per f.n step 4 at per layout l { ahead copy(A, B); f }
  }
"""

TARGET = """target t "A machine." {
  emitter c11
  level reg { capacity 16 vectors; vector 32; not addressable }
  level l1 { capacity 32 KiB; grain 64; line 64; cache }
}
kernel add on t "Adds." match any add(X: f32[n] at reg, Y: f32[n] at reg, Z: f32[n] at reg)
  cost 1 keeps X emit meaning
"""


def _spelled_anew(text: str, kind: str) -> str:
    for place, word in sorted(old_words.old_words(text, kind).items(), reverse=True):
        text = text[:place] + word.new + text[place + len(word.old) :]
    return text


@pytest.mark.parametrize(
    ("name", "text", "kind"), [("a.mrules", RULES, "rules"), ("a.mtarget", TARGET, "target")]
)
def test_old_and_new_spellings_are_the_same_tree(name: str, text: str, kind: str) -> None:
    """Every old word is in one of the two texts, and none in comments, quotes or names is taken."""
    parse = parse_rules if kind == "rules" else parse_target
    found = list(old_words.old_words(text, kind).values())
    assert sorted(w.old for w in found) == sorted(
        w.old for w in old_words.RENAMED[kind] if kind == "rules" or not w.after.endswith(r"\()")
    )
    anew = _spelled_anew(text, kind)
    assert old_words.old_words(anew, kind) == {}
    assert parse(Source(name, text)) == parse(Source(name, anew))


def test_the_warning_names_the_new_word() -> None:
    """Where the old one stands, and until when it is read."""
    (first, *_) = parse_target(Source("a.mtarget", TARGET)).warnings
    assert render(first).splitlines() == [
        "warning[W001]: 'grain' is called 'capacity_unit' now",
        " --> a.mtarget:4:31",
        "4 |   level l1 { capacity 32 KiB; grain 64; line 64; cache }",
        "  |                               ^^^^^ an old word",
        "  = help: write 'capacity_unit': the next version does not read 'grain'",
    ]


def test_definitions_warn_of_old_words() -> None:
    """Those of plugins, of options and of extra files alike; what is installed has none."""
    assert load_definitions().warnings == ()
    source = Source("a.mrules", RULES.split("rule r", maxsplit=1)[0])
    with pytest.warns(FutureWarning, match=r"'divided' is called 'tileable' now"):
        found = load_definitions([source])
    assert [w.code for w in found.warnings] == ["W001"]
    assert load_definitions([source], warn=False).warnings == found.warnings
