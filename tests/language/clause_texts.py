"""Texts that say the clauses of the languages' tables."""

from __future__ import annotations

from collections.abc import Iterable

from morello.language.clauses import Clause

ARGUMENTS = {"CONDITION, ...": "c < 2, d < c", "OPERAND": "A", "BEGIN": "between", "END": "after_"}
"""What may stand for the words in capitals in a clause's form."""


def said(clause: Clause) -> str:
    """The clause, with all that it may have."""
    text = clause.form.replace("[", "").replace("]", "")
    for placeholder, argument in ARGUMENTS.items():
        text = text.replace(placeholder, argument)
    return text


def all_said(clauses: Iterable[Clause]) -> str:
    """All of them, in their order."""
    return " ".join(map(said, clauses))
