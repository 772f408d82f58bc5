"""Scalars whose values decide something in a search, beside those in indices and sizes.

A rule or a kernel may look at the value of a scalar: in a guard, a cost, or a number that it works
out for another operator. What is only handed on is not looked at, unless it decides something
there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.ir.target import Microkernel
from morello.language import ast
from morello.language.canonical import nodes
from morello.language.traverse import names

Scalar = tuple[str, str]
"""An operator's name, and that of one of its scalars."""


class DecidingScalars:
    """Those of each operator, for given rules and kernels."""

    def __init__(
        self,
        rules: Iterable[Rule],
        kernels: Iterable[Microkernel],
        operators: Mapping[str, Operator],
    ) -> None:
        self._rules = tuple(rules)
        self._kernels = tuple(kernels)
        self._operators = operators
        self._known: dict[str, frozenset[str]] = {}

    def of(self, operator: Operator) -> frozenset[str]:
        """Scalars of an operator whose values decide something."""
        if operator.name not in self._known:
            found = (s for s in operator.scalars if self._decides(operator, s))
            self._known[operator.name] = frozenset(found)
        return self._known[operator.name]

    def _decides(self, operator: Operator, scalar: str) -> bool:
        """Whether it does, here or in what it is handed on to."""
        seen: set[Scalar] = set()
        pending = [(operator, scalar)]
        while pending:
            own, name = pending.pop()
            if (own.name, name) in seen:
                continue
            seen.add((own.name, name))
            looked_at, handed_on = self._uses(own, name)
            if looked_at or name in own.least:
                return True
            pending += [(self._operators[other], given) for other, given in handed_on]
        return False

    def _uses(self, operator: Operator, scalar: str) -> tuple[bool, set[Scalar]]:
        """Whether something looks at a scalar, and those that it is handed on to as it is."""
        elsewhere = operator.statement.elsewhere
        fills = elsewhere is not None and scalar in names(elsewhere)
        handed_on: set[Scalar] = set()
        looked_at = False
        for kernel in self._kernels:
            by_name = kernel.match.kind == "named" and kernel.match.operator == operator.name
            if by_name or fills:
                said = (kernel.guards, kernel.cost, kernel.clauses.direct)
                looked_at |= any(_says(node, scalar, fills) for node in nodes(said))
        for rule in self._rules:
            by_name = rule.declaration.match.operator == operator.name
            if by_name or fills:
                given = {id(node): to for node, to in self._handed_on(rule)}
                for node in nodes(rule.declaration):
                    if _says(node, scalar, fills):
                        looked_at |= id(node) not in given
                        handed_on |= {given[id(node)]} if id(node) in given else set()
        return looked_at, handed_on

    def _handed_on(self, rule: Rule) -> Iterator[tuple[ast.Expr | ast.View, Scalar]]:
        """Arguments of a rule's result that are scalars, each with what it is the value of."""
        for step in nodes(rule.declaration.result):
            if isinstance(step, ast.Apply):
                operator = self._operators[step.operator]
                arguments = step.arguments[len(operator.parameters) :]
                for argument, name in zip(arguments, operator.scalars, strict=True):
                    yield argument, (operator.name, name)


def _says(node: ast.Node, scalar: str, fills: bool) -> bool:
    """Whether an expression is the value of a scalar: by its name, or of a margin."""
    match node:
        case ast.Attribute(name=name):
            return name == scalar
        case ast.Call(function="margin"):
            return fills
    return False
