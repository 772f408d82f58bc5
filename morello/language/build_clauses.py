"""Lark trees of clauses to their values: a builder for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lark import Token, Tree

from morello.language import ast
from morello.language.build_common import Builder, children, kind_of
from morello.language.build_expressions import expressions
from morello.language.clauses import Clause, ClauseKind


def _conditions(builder: Builder, tree: Tree[Token]) -> tuple[ast.Expr, ...]:
    return tuple(c for part in children(tree) for c in expressions(builder, children(part)))


def _around(_: Builder, tree: Tree[Token]) -> tuple[str, str]:
    begin, _and, end = children(tree)
    return str(begin), str(end)


BUILDERS: Mapping[ClauseKind, Callable[[Builder, Tree[Token]], Any]] = {
    ClauseKind.FLAG: lambda *_: True,
    ClauseKind.CONDITIONS: _conditions,
    ClauseKind.OPERAND: lambda _, tree: str(*children(tree)),
    ClauseKind.AROUND: _around,
}


def clause_values(
    declared: Iterable[Clause], builder: Builder, trees: Iterable[Tree[Token]]
) -> dict[str, Any]:
    """The values of the clauses that a text says, by name."""
    kinds = {clause.name: clause.kind for clause in declared}
    named = {kind_of(tree): tree for tree in trees}
    return {name: BUILDERS[kinds[name]](builder, tree) for name, tree in named.items()}
