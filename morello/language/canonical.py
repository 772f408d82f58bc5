"""What a syntax tree says, without where and how it was written.

Two texts that differ in comments, white space, places or sentences have the same canonical form.
Names are kept as they are: a rule with another variable is another rule. No meaning is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from morello.language import ast

Canonical = str | int | float | bool | None | tuple["Canonical", ...]
"""Nested tuples of plain values. `repr` writes different ones differently, in every process."""

SENTENCE = "doc"
"""The field of a node that is for people only."""


def canonical(value: object) -> Canonical:
    """The canonical form of a node, or of a tuple of nodes and plain values."""
    if isinstance(value, ast.Node):
        return (type(value).__name__, *(canonical(v) for v in _said(value)))
    if isinstance(value, tuple):
        return tuple(canonical(v) for v in value)
    assert value is None or isinstance(value, str | int | float), f"no syntax: {value!r}"
    return value


def nodes(value: object) -> Iterator[ast.Node]:
    """Every node in a node, or in a tuple of nodes, outermost first."""
    if isinstance(value, ast.Node):
        yield value
        value = tuple(_said(value))
    if isinstance(value, tuple):
        for inner in value:
            yield from nodes(inner)


def _said(node: ast.Node) -> Iterator[object]:
    """Values of the fields that count."""
    return (getattr(node, name) for name in ast.fields_said(type(node)) if name != SENTENCE)
