"""How optional clauses of a declaration are declared: each is a field of a dataclass.

The field has the name of the clause's rule in the grammar. Its default is what holds where a text
does not say the clause. `clause` adds the rest: the words, a kind, a sentence. From that, trees are
built (`build_clauses`), lists are filled (`shown`), pages and colours are written
(``python -m tests.documentation.written``), and tests are derived.
"""

from __future__ import annotations

from dataclasses import field, fields
from enum import Enum
from typing import Any

from msgspec import Struct

from morello.language.ast import Node
from morello.language.places import text_of


class ClauseKind(Enum):
    """What stands after the words of a clause; the value is how that is written.

    Each has a builder in `build_clauses`. What a kind needs to be checked for is checked once, for
    all clauses of the kind.
    """

    FLAG = ""
    CONDITIONS = "[where CONDITION, ...]"
    OPERAND = "OPERAND"
    AROUND = "BEGIN and END"


class Clause(Struct, frozen=True):
    """One clause.

    Attributes:
        name: The field's, and that of the grammar's rule.
        default: The field's value where a text does not say it.
        words: What it begins with.
        kind: What comes after that.
        doc: What it says, in a sentence or two, as Markdown.
        searched: Whether the search asks for it, so that what is kept in memos depends on it.
    """

    name: str
    default: Any
    words: str
    kind: ClauseKind
    doc: str
    searched: bool

    @property
    def form(self) -> str:
        """How it is written."""
        return f"{self.words} {self.kind.value}".rstrip()

    def shown(self, value: Any) -> str:
        """A value that a text gives, as lists show it."""
        match value:
            case True:
                return self.words.split()[-1]
            case str():
                return value
            case _:
                parts = [text_of(p.span) if isinstance(p, Node) else str(p) for p in value]
                joint = " and " if self.kind is ClauseKind.AROUND else ", "
                return joint.join(parts) or "always"


def clause(default: Any, words: str, kind: ClauseKind, doc: str, *, searched: bool) -> Any:
    """A field for a clause; see `Clause`."""
    return field(default=default, metadata={"clause": (words, kind, doc, searched)})


def clauses_of(declared: type) -> tuple[Clause, ...]:
    """Those of a dataclass, in the order in which they stand in a text."""
    return tuple(Clause(f.name, f.default, *f.metadata["clause"]) for f in fields(declared))
