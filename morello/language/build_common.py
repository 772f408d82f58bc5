"""What the builders of syntax trees share: spans, numbers, texts, names of several parts.

A `Builder` belongs to one file and collects the few errors that a grammar cannot see.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from lark import Token, Tree
from msgspec import Struct, field

from morello.language.diagnostics import Collector
from morello.language.source import Source, Span

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

MAX_INTEGER = (1 << 63) - 1  # what numpy's integers, and every size and address, can hold
_MAX_DIGITS = 400  # of a text that is still worth converting

Item = Tree[Token] | Token


class Builder(Struct, frozen=True):
    """Turns pieces of a lark tree into plain values, and notes errors.

    ``scalars`` are those of the operator that is being built. ``in_spec``: subscripts are any
    expressions.
    """

    source: Source
    errors: Collector = field(default_factory=Collector)
    scalars: frozenset[str] = frozenset()
    in_spec: bool = False

    def span(self, first: Item, last: Item | None = None) -> Span:
        """From the start of ``first`` to the end of ``last``, or of ``first`` itself."""
        return Span(self.source, _start(first), _end(first if last is None else last))

    def integer(self, token: Token, unit: Token | None = None) -> int:
        """A whole number, times its unit; 0 and an error if it is too large."""
        value = int(token) if len(token) <= _MAX_DIGITS else math.inf
        value *= UNITS[unit] if unit else 1
        if value <= MAX_INTEGER:
            return int(value)
        self.errors.error("E006", "this number is too large", self.span(token, unit))
        return 0

    def real(self, token: Token) -> float:
        """A number, as a float; 0 and an error if it is too large."""
        value = float(token)
        if math.isfinite(value):
            return value
        self.errors.error("E006", "this number is too large", self.span(token))
        return 0.0

    def number(self, token: Token, unit: Token | None) -> int | float:
        """A number, times its unit; whole bytes are an integer."""
        if token.type == "INTEGER":
            return self.integer(token, unit)
        value = self.real(token)
        if unit is None:
            return value
        value *= UNITS[unit]
        return int(value) if value.is_integer() else value

    def once(self, items: Iterable[tuple[str, Item]]) -> None:
        """Note an error for every name that comes again, but the first time."""
        seen: set[str] = set()
        for name, item in items:
            if name in seen:
                self.errors.error("E008", f"'{name}' is given twice", self.span(item), "again")
            seen.add(name)


def kind_of(tree: Tree[Token]) -> str:
    """A node's name, without the grammar that it was imported from."""
    return str(tree.data).rpartition("__")[2]


def slots(tree: Tree[Token]) -> list[Any]:
    """The places in a node: each a token, a tree or nothing, and which the grammar says."""
    return tree.children


def children(tree: Tree[Token] | None) -> list[Any]:
    """The parts of a node that are there; none of a node that is not."""
    return [] if tree is None else [child for child in tree.children if child is not None]


def text(token: Token | None) -> str:
    r"""What stands in quotes; only ``\"`` and ``\\`` are escapes. Empty if there is nothing."""
    return "" if token is None else re.sub(r'\\(["\\])', r"\1", token[1:-1])


def names(tokens: Iterable[object]) -> tuple[str, ...]:
    """Plain strings of tokens."""
    return tuple(str(token) for token in tokens)


def dotted(tree: Tree[Token]) -> str:
    """``cpu.wide``."""
    return ".".join(names(tree.children))


def _start(item: Item) -> int:
    start = item.start_pos if isinstance(item, Token) else item.meta.start_pos
    return start or 0


def _end(item: Item) -> int:
    end = item.end_pos if isinstance(item, Token) else item.meta.end_pos
    return end or 0
