"""Everything that can be done with a family: rules with their choices made, and kernels.

Structure only, no sizes: which families an alternative leads to, and which levels' capacity it
asks for. What a rule's tile size may be is left open: it is one more axis of the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from morello.language import ast
from morello.language.evaluate import evaluate
from morello.language.functions import FUNCTIONS
from morello.rewriting.functions import Scope
from morello.rewriting.kernels import KernelMatch, match_kernel
from morello.rewriting.references import TensorRef, spec_ref
from morello.rewriting.rule import Rule
from morello.rewriting.sized import is_sized, levels_asked
from morello.rewriting.steps import flatten, instantiate
from morello.spec.machine import Level, Target
from morello.spec.operators import Operator
from morello.spec.spec import Family


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rule or kernel did not apply: the clause, and the values that made it fail."""

    name: str
    choices: tuple[tuple[str, str], ...]
    reason: str

    def __str__(self) -> str:
        chosen = ", ".join(f"{n} = {v}" for n, v in self.choices)
        return f"{self.name}({chosen}): {self.reason}" if chosen else f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class RuleAlternative:
    """A rule with its structural choices made.

    ``axis`` names the tile size that is still open. ``children`` are the families it leads to;
    ``consumes`` the levels whose capacity it needs to know.
    """

    rule: Rule
    choices: tuple[tuple[str, Any], ...]
    axis: str | None
    children: tuple[Family, ...]
    consumes: frozenset[str]

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Place in the total order that breaks ties: rule name, then parameters."""
        return ("rule", self.rule.name, tuple(choice_text(v) for _, v in self.choices))


@dataclass(frozen=True)
class KernelAlternative:
    """A kernel that accepts the family."""

    match: KernelMatch
    consumes: frozenset[str]
    children: tuple[Family, ...] = ()
    axis: None = field(default=None, repr=False)

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Kernels come before rules."""
        return ("kernel", self.match.kernel.name, ())


Alternative = RuleAlternative | KernelAlternative


def choice_text(value: Any) -> str:
    """A chosen value as it is recorded and shown."""
    return value.name if isinstance(value, TensorRef | Level) else str(value)


@dataclass(frozen=True)
class Context:
    """What the search may use for one goal.

    ``page_possible``: whether a row of any tensor can be a multiple of the page long.
    """

    target: Target
    operators: Mapping[str, Operator]
    rules: tuple[Rule, ...]
    page_possible: bool = True

    def same_definitions(self, other: Context) -> bool:
        """Whether both use the very same target, operators and rules."""
        return (
            self.target is other.target
            and self.operators is other.operators
            and self.rules is other.rules
        )


class _Enumeration:
    """Makes the choices of one rule for one family."""

    def __init__(
        self, context: Context, rule: Rule, family: Family, refusals: list[Refusal] | None
    ):
        self.context = context
        self.rule = rule
        self.family = family
        self.refusals = refusals
        self.f = spec_ref(family)
        declaration = rule.declaration
        self.sizes = {
            c.variable
            for c in declaration.choices
            if isinstance(c.domain, ast.Call)
            and FUNCTIONS[c.domain.function].result == "list of size"
        }
        self.guards = [g for g in declaration.guards if not is_sized(g, self.sizes)]

    def _scope(self, variables: Mapping[str, Any]) -> Scope:
        return Scope(self.context.target, variables, {}, {})

    def run(self) -> Iterator[RuleAlternative]:
        """All alternatives of the rule."""
        variables: dict[str, Any] = {self.rule.declaration.match.variable: self.f}
        yield from self._operands(0, variables)

    def _operands(self, position: int, variables: dict[str, Any]) -> Iterator[RuleAlternative]:
        operands = self.rule.declaration.operands
        if position == len(operands):
            yield from self._choices(0, variables, None)
            return
        for tensor in self.f.tensors:
            name = operands[position].variable
            yield from self._operands(position + 1, {**variables, name: tensor})

    def _choices(
        self, position: int, variables: dict[str, Any], axis: str | None
    ) -> Iterator[RuleAlternative]:
        choices = self.rule.declaration.choices
        if position == len(choices):
            yield from self._finish(variables, axis)
            return
        choice = choices[position]
        if choice.variable in self.sizes and axis is None:
            yield from self._choices(position + 1, variables, choice.variable)
            return
        for value in evaluate(choice.domain, self._scope(variables)):
            bound = {**variables, choice.variable: value}
            yield from self._choices(position + 1, bound, axis)

    def _finish(self, variables: dict[str, Any], axis: str | None) -> Iterator[RuleAlternative]:
        names = (*self.rule.operand_variables, *self.rule.choice_variables)
        chosen = tuple((n, variables[n]) for n in names if n in variables)
        scope = self._scope(variables)
        for guard in self.guards:
            if not evaluate(guard, scope):
                self._refuse(chosen, guard)
                return
        context = self.context
        step = instantiate(
            context.target,
            context.operators,
            self.family,
            self.rule.declaration.result,
            variables,
            page_possible=context.page_possible,
        )
        uses = flatten(step).uses
        children = tuple(dict.fromkeys(u.leaf.family for u in uses))
        consumed = frozenset(n for u in uses for n in u.consumed)
        yield RuleAlternative(self.rule, chosen, axis, children, self._bounded(consumed))

    def _bounded(self, names: frozenset[str]) -> frozenset[str]:
        declaration = self.rule.declaration
        for expr in (*declaration.guards, *([declaration.cost] if declaration.cost else [])):
            names |= levels_asked(expr)
        return names & {level.name for level in self.context.target.bounded}

    def _refuse(self, chosen: tuple[tuple[str, Any], ...], guard: ast.Expr) -> None:
        if self.refusals is None:
            return
        text = guard.span.source.text[guard.span.start : guard.span.end]
        shown = tuple((n, choice_text(v)) for n, v in chosen)
        self.refusals.append(Refusal(self.rule.name, shown, f"'{text}' does not hold"))


def _rule_applies(rule: Rule, family: Family) -> bool:
    match = rule.declaration.match
    if not rule.may_match(family.operation.operator):
        return False
    if match.accumulating and not family.operation.accumulating:
        return False
    return not match.parallel or family.threads > 1


def alternatives(
    context: Context, family: Family, refusals: list[Refusal] | None = None
) -> list[Alternative]:
    """All alternatives of a family in the order that breaks ties."""
    found: list[Alternative] = []
    for rule in context.rules:
        if _rule_applies(rule, family):
            found += _Enumeration(context, rule, family, refusals).run()
    for kernel in context.target.kernels:
        match = match_kernel(kernel, context.target, family)
        if isinstance(match, KernelMatch):
            asked = frozenset[str]().union(
                *(levels_asked(e) for e in (*kernel.guards, kernel.cost))
            )
            found.append(KernelAlternative(match, asked))
        elif refusals is not None:
            refusals.append(Refusal(kernel.name, (), match))
    return sorted(found, key=lambda a: a.key)
