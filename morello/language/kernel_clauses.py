"""What a kernel may say between its cost and ``emit``: one field a clause."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from morello.language.ast import Expr
from morello.language.clauses import Clause, ClauseKind, clause, clauses_of


@dataclass(frozen=True, slots=True)
class KernelClauses:
    """The clauses of a kernel, in the order in which they stand in it.

    Attributes:
        flushes: Whether subnormal numbers may count as 0.
        direct: Conditions, which may be none at all; None where it is not said.
        copied: The name of an operand.
        fetched: The name of an operand.
        between: The names of two functions.
    """

    flushes: bool = clause(
        False,
        "flushes subnormals",
        ClauseKind.FLAG,
        "Floating-point numbers below the smallest normal one may count as 0, among operands and "
        "results. What may be lost so is [part of the bound](verification.md) for this kernel and "
        "for programs that use it. It belongs to instructions that always do that.",
        searched=False,
    )
    direct: tuple[Expr, ...] | None = clause(
        None,
        "direct",
        ClauseKind.CONDITIONS,
        "No program gains by converting first what the kernel takes. With conditions, this is so "
        "on targets whose coefficients satisfy them.",
        searched=True,
    )
    copied: str | None = clause(
        None,
        "copy_on_first_use",
        ClauseKind.OPERAND,
        "The template can store this input elsewhere as it reads it.",
        searched=False,
    )
    fetched: str | None = clause(
        None,
        "fetches_ahead",
        ClauseKind.OPERAND,
        "As the template reads a part of the rows of this input, it asks for what follows in them. "
        "So a level fetches more rows side by side than it has `streams`, for such operations.",
        searched=True,
    )
    between: tuple[str, str] | None = clause(
        None,
        "between",
        ClauseKind.AROUND,
        "These two [functions](#functions) without arguments are called before and after, for "
        "example to set up registers that belong to no one. Each thread calls them once, around "
        "all of its work that has the kernel in it. Nothing is charged for that.",
        searched=False,
    )

    def given(self) -> Iterator[tuple[Clause, Any]]:
        """The clauses that a kernel says, with their values."""
        values = ((own, getattr(self, own.name)) for own in CLAUSES)
        return ((own, value) for own, value in values if value != own.default)

    def of_kind(self, kind: ClauseKind) -> Iterator[Any]:
        """The values of the clauses of a kind that a kernel says."""
        return (value for own, value in self.given() if own.kind is kind)

    @property
    def searched(self) -> tuple[Any, ...]:
        """What the search asks for."""
        return tuple(getattr(self, own.name) for own in CLAUSES if own.searched)


CLAUSES = clauses_of(KernelClauses)
