"""A small interpreter of TextMate grammars: what tests need, by Python's regular expressions.

Texts are read line by line. Of the constructs: ``match``, ``begin``/``end``, captures, ``include``
of the repository; what is included from other grammars is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

Rule = Mapping[str, Any]

_compiled = cache(re.compile)


@dataclass(frozen=True)
class Frame:
    """A ``begin`` that was found and whose ``end`` is awaited."""

    patterns: Sequence[Rule]
    end: str | None = None
    end_captures: Rule = field(default_factory=dict)
    outer: str = ""
    inner: str = ""


def scopes(grammar: Rule, text: str) -> list[str]:
    """The innermost scope of every character; empty where there is none."""
    found: list[str] = []
    stack = [Frame(grammar["patterns"])]
    for line in text.splitlines(keepends=True):
        found += _line(grammar, line, stack)
    return found


def _line(grammar: Rule, line: str, stack: list[Frame]) -> list[str]:
    content = line.removesuffix("\n")
    found = [""] * len(line)
    position = 0
    seen: set[tuple[int, int]] = set()  # a place and a depth: nothing is entered there twice
    while True:
        frame = stack[-1]
        best = _first(grammar, frame, content, position)
        if best is None or (best[0].end() == position and (position, len(stack)) in seen):
            _fill(found, position, len(line), frame.inner)
            return found
        match, rule = best
        seen.add((position, len(stack)))
        _fill(found, position, match.start(), frame.inner)
        if rule is None:
            _fill(found, match.start(), match.end(), frame.outer)
            _captures(found, match, frame.end_captures)
            stack.pop()
        elif "begin" in rule:
            name = rule.get("name", frame.inner)
            _fill(found, match.start(), match.end(), name)
            _captures(found, match, rule.get("beginCaptures", {}))
            inner = rule.get("contentName", name)
            ends = rule.get("endCaptures", {})
            stack.append(Frame(rule.get("patterns", ()), rule["end"], ends, name, inner))
        else:
            _fill(found, match.start(), match.end(), rule.get("name", frame.inner))
            _captures(found, match, rule.get("captures", {}))
        position = match.end()


def _first(
    grammar: Rule, frame: Frame, line: str, position: int
) -> tuple[re.Match[str], Rule | None] | None:
    """The match that begins first; of several at one place ``end``, then the first in the list."""
    best: tuple[re.Match[str], Rule | None] | None = None
    if frame.end is not None:
        match = _compiled(frame.end).search(line, position)
        best = None if match is None else (match, None)
    for rule in _rules(grammar, frame.patterns):
        match = _compiled(rule.get("begin") or rule["match"]).search(line, position)
        if match is not None and (best is None or match.start() < best[0].start()):
            best = match, rule
    return best


def _rules(grammar: Rule, patterns: Sequence[Rule]) -> Iterator[Rule]:
    for rule in patterns:
        include = rule.get("include", "")
        if include.startswith("#"):
            yield from _rules(grammar, [grammar["repository"][include[1:]]])
        elif "match" in rule or "begin" in rule:
            yield rule
        elif not include:
            yield from _rules(grammar, rule["patterns"])


def _captures(found: list[str], match: re.Match[str], captures: Rule) -> None:
    for group, capture in captures.items():
        if match[int(group)] is not None:
            _fill(found, *match.span(int(group)), capture["name"])


def _fill(found: list[str], start: int, end: int, scope: str) -> None:
    found[start:end] = [scope] * (end - start)
