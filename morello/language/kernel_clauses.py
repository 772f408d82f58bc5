"""What a kernel may say between its cost and ``emit``: one row a clause.

A new clause is a rule of ``grammar/target.lark``, with its words in ``morello.tmLanguage.json``, a
field of `target_ast.KernelClauses` and a row here. Lists of kernels show it then. Its checks are in
`morello.checking.kernels`. What the search asks of it belongs in `morello.memo.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lark import Token, Tree

from morello.language import ast, target_ast
from morello.language.build_common import Builder, children, kind_of
from morello.language.build_expressions import expressions
from morello.language.places import text_of


@dataclass(frozen=True, slots=True)
class Clause:
    """How a clause is built from its tree, and shown in lists.

    ``name`` is that of the field and of the grammar's rule. What is not said is not shown.
    """

    name: str
    build: Callable[[Builder, Tree[Token]], Any]
    shown: Callable[[Any], str]


def _conditions(builder: Builder, tree: Tree[Token]) -> tuple[ast.Expr, ...]:
    return tuple(c for part in children(tree) for c in expressions(builder, children(part)))


def _begin_and_end(_: Builder, tree: Tree[Token]) -> tuple[str, str]:
    begin, _and, end = children(tree)
    return str(begin), str(end)


CLAUSES = (
    Clause("flushes", lambda *_: True, lambda _: "subnormals"),
    Clause(
        "direct",
        _conditions,
        lambda conditions: ", ".join(text_of(c.span) for c in conditions) or "always",
    ),
    Clause("copied", lambda _, tree: str(*children(tree)), str),
    Clause("between", _begin_and_end, " and ".join),
)
"""In the order in which they stand in a kernel."""


def build_clauses(builder: Builder, trees: Iterable[Tree[Token]]) -> target_ast.KernelClauses:
    """Those of a kernel."""
    rows = {clause.name: clause for clause in CLAUSES}
    named = {kind_of(tree): tree for tree in trees}
    return target_ast.KernelClauses(
        **{n: rows[n].build(builder, tree) for n, tree in named.items()}
    )


def shown_clauses(clauses: target_ast.KernelClauses) -> dict[str, str]:
    """By name, as lists show them; empty where a kernel does not say it."""
    silent = target_ast.KernelClauses()
    values = {clause: getattr(clauses, clause.name) for clause in CLAUSES}
    return {
        clause.name: "" if value == getattr(silent, clause.name) else clause.shown(value)
        for clause, value in values.items()
    }
