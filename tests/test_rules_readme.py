"""The examples in ``rules/README.md``: the good ones load, the bad ones are refused as they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from morello.checking.rules import check_rules
from morello.definitions import Definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_rules
from morello.language.source import Source
from morello.rewriting.progress import check_progress

PAGE = Path(__file__).resolve().parent.parent / "rules" / "README.md"


class Example(NamedTuple):
    """A block of the page; ``code`` is the error that it has to have, if any."""

    law: str
    good: bool
    code: str | None
    text: str


FENCE = re.compile(
    r"^## (?P<law>[^\n]*)$"
    r"|^```mrules (?P<kind>good|bad)(?: (?P<code>\w+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def _examples() -> list[Example]:
    examples = []
    law = ""
    for found in FENCE.finditer(PAGE.read_text()):
        if found["law"]:
            law = found["law"]
        else:
            examples.append(Example(law, found["kind"] == "good", found["code"], found["text"]))
    return examples


EXAMPLES = _examples()


def _codes(text: str, definitions: Definitions) -> set[str]:
    file = parse_rules(Source("README.md", text))
    collector = Collector()
    coefficients = {c for t in definitions.targets.values() for c in t.coefficients}
    rules = check_rules([file], definitions.operators, collector, coefficients)
    if not collector.diagnostics:
        check_progress(definitions.operators, rules, collector)
    return {diagnostic.code for diagnostic in collector.diagnostics}


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda e: f"{e.law.split('.')[0]}-{'good' if e.good else 'bad'}"
)
def test_an_example_does_what_the_page_says(example: Example, definitions: Definitions) -> None:
    """All and only the error that is named; none for a good example."""
    expected = {example.code} if example.code else set()
    assert _codes(example.text, definitions) == expected


def test_every_law_that_shows_rules_has_a_bad_and_a_good_example() -> None:
    """In that order, so that the page ends each law with what to do."""
    laws = dict.fromkeys(example.law for example in EXAMPLES)
    assert len(laws) >= 11
    for law in laws:
        assert [e.good for e in EXAMPLES if e.law == law] == [False, True], law
