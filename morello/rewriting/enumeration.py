"""Everything that can be done with a family: rules with their choices made, and kernels.

Structure only, no sizes: which families an alternative leads to, and which levels' capacity it
asks for. What a rule's tile size may be is left open: it is one more axis of the box.
"""

from __future__ import annotations

from collections.abc import Iterator

from morello.ir.pruning import prunes
from morello.ir.rule import Rule
from morello.ir.spec import Family
from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.language.unparse import unparse
from morello.rewriting.alternatives import (
    Alternative,
    KernelAlternative,
    Refusal,
    RuleAlternative,
    choice_text,
    matched,
    matches,
)
from morello.rewriting.context import Context
from morello.rewriting.functions import Scope
from morello.rewriting.instantiate import instantiate
from morello.rewriting.lifetimes import read_too_late
from morello.rewriting.matching import KernelMatch, match_kernel
from morello.rewriting.references import SpecRef, TensorRef, Variables
from morello.rewriting.renaming import is_renaming
from morello.rewriting.steps import Step, flatten


class _Enumeration:
    """Makes the choices of one rule for one family."""

    def __init__(self, context: Context, rule: Rule, f: SpecRef, refusals: list[Refusal] | None):
        self.context = context
        self.rule = rule
        self.f = f
        self.refusals = refusals
        self.bounded = {level.name for level in context.target.bounded}

    def run(self) -> Iterator[RuleAlternative]:
        """All alternatives of the rule."""
        variables: Variables = {self.rule.declaration.match.variable: self.f}
        if self._allowed(0, variables):
            yield from self._operands(0, variables)

    def _allowed(self, bound: int, variables: Variables) -> bool:
        """Whether the guards hold that the variables bound so far decide."""
        context = self.context
        scope = Scope(
            context.target,
            variables,
            {},
            {},
            view_maps=context.view_maps,
            direct=context.takes_directly,
        )
        for guard in self.rule.decided[bound]:
            if not evaluate(guard, scope):
                if self.refusals is not None:  # to say why takes longer than to find out
                    self._refuse(variables, f"'{unparse(guard)}' does not hold")
                return False
        return True

    def _operands(self, position: int, variables: Variables) -> Iterator[RuleAlternative]:
        operands = self.rule.declaration.operands
        if position == len(operands):
            yield from self._choices(0, variables, None)
            return
        for tensor in self._candidates(operands[position]):
            bound = {**variables, operands[position].variable: tensor}
            if self._allowed(position + 1, bound):
                yield from self._operands(position + 1, bound)

    def _candidates(self, operand: ast.MatchOperand) -> Iterator[TensorRef]:
        """What an operand of the match can stand for."""
        match operand.kind:
            case "intermediate":
                yield from self.f.intermediates(self.context.target)
            case "member":
                found = self.f.member(operand.member, self.context.target)
                assert isinstance(found, TensorRef)
                yield found
            case kind:
                yield from (t for t in self.f.tensors if kind != "weight" or t.operand.weight)

    def _choices(
        self, position: int, variables: Variables, axis: str | None
    ) -> Iterator[RuleAlternative]:
        choices = self.rule.declaration.choices
        if position == len(choices):
            yield from self._finish(variables, axis)
            return
        choice = choices[position]
        # One tile size is an axis of the box. Of a second one each value is an alternative.
        if choice.variable in self.rule.size_variables and axis is None:
            yield from self._choices(position + 1, variables, choice.variable)
            return
        depth = 1 + len(self.rule.declaration.operands) + position
        scope = Scope(self.context.target, variables, {}, {}, requests=self.context.requests)
        for value in evaluate(choice.domain, scope):
            bound = {**variables, choice.variable: value}
            if self._allowed(depth, bound):
                yield from self._choices(position + 1, bound, axis)

    def _finish(self, variables: Variables, axis: str | None) -> Iterator[RuleAlternative]:
        context = self.context
        step = instantiate(
            context.target,
            context.operators,
            self.f,
            self.rule.declaration.result,
            variables,
        )
        flat = flatten(step)
        if any(required is False for required in flat.required):
            self._refuse(variables, "an operand cannot be seen like this, or a scalar not be given")
            return
        late = read_too_late(self.f, step)
        if late is not None:
            self._refuse(variables, f"'{late}' lies where the output does, and is read too late")
            return
        uses = flat.uses
        places = self.rule.places
        below: list[Family | None] = [None] * len(places)
        for use in uses:
            below[places[id(use.leaf.node)]] = context.searched(use.leaf.family)
        children = tuple(dict.fromkeys(f for f in below if f is not None))
        consumed = self.rule.asked.union(*(u.consumed for u in uses)) & self.bounded
        # What costs something, or holds for some sizes only, is more than another name.
        free = self.rule.declaration.cost is None and not self.rule.sized_guards
        renames = free and is_renaming(self.f, step)
        yield RuleAlternative(
            self.rule,
            self._chosen(variables),
            axis,
            children,
            consumed,
            tuple(below),
            renames=renames,
            divides="" if axis is None else self._divided(axis, variables),
        )

    def _divided(self, axis: str, variables: Variables) -> str:
        """The dimension that a tile size is of."""
        domain = self.rule.domain(axis)
        assert isinstance(domain, ast.Call)
        scope = Scope(self.context.target, variables, {}, {})
        return str(evaluate(domain.args[0], scope))

    def _chosen(self, variables: Variables) -> tuple[tuple[str, Value], ...]:
        order = (*self.rule.operand_variables, *self.rule.choice_variables)
        return tuple((n, variables[n]) for n in order if n in variables)

    def _refuse(self, variables: Variables, reason: str) -> None:
        if self.refusals is not None:
            shown = tuple((n, choice_text(v)) for n, v in self._chosen(variables))
            self.refusals.append(Refusal(self.rule.name, shown, reason))


def result_in(context: Context, alternative: RuleAlternative, scope: Scope) -> Step:
    """What a rule's result becomes in the alternative's scope."""
    declaration = alternative.rule.declaration
    f: SpecRef = scope.variables[declaration.match.variable]
    target, operators = context.target, context.operators
    return instantiate(
        target, operators, f, declaration.result, scope.variables, scope.sizes, scope.used
    )


def rule_alternatives(
    context: Context, rule: Rule, family: Family, refusals: list[Refusal] | None = None
) -> list[RuleAlternative]:
    """One rule with every choice that its guards leave, on a family; none if it does not match."""
    if not matches(rule, family):
        return []
    return list(_Enumeration(context, rule, matched(rule, family), refusals).run())


def alternatives(
    context: Context, family: Family, refusals: list[Refusal] | None = None
) -> tuple[Alternative, ...]:
    """All alternatives of a family in the order that breaks ties.

    Where a rule says that the operation is another one under a new name, all that can be done with
    any operation is done with that one; what is left is that, and what is for this operator alone.
    Where a rule takes a batch apart, nothing comes before it but what is done ahead of all calls.
    """
    if refusals is not None:
        return _alternatives(context, family, refusals)
    if family not in context.alternatives:
        context.alternatives[family] = _alternatives(context, family, None)
    return context.alternatives[family]


def _alternatives(
    context: Context, family: Family, refusals: list[Refusal] | None
) -> tuple[Alternative, ...]:
    found: list[Alternative] = []
    for rule in context.rules_for(family):
        found += _Enumeration(context, rule, matched(rule, family), refusals).run()
    # Kernels that cannot match are asked only where somebody wants to know why.
    kernels = context.kernels_for(family) if refusals is None else context.target.kernels
    for kernel in kernels:
        match = match_kernel(kernel, context.target, family)
        if isinstance(match, KernelMatch):
            found.append(KernelAlternative(match, context.asked(kernel)))
        elif refusals is not None:
            refusals.append(Refusal(kernel.name, (), match))
    if any(map(_leaves_out_batch, found)) and prunes("batches"):
        found = [a for a in found if _leaves_out_batch(a) or _packs_ahead(a)]
    if any(map(_renames, found)) and prunes("renamed"):
        found = [a for a in found if _is_named(a) or _renames(a)]
    return tuple(sorted(found, key=lambda a: a.key))


def _renames(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.renames


def _leaves_out_batch(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.rule.leaves_out_batch


def _packs_ahead(alternative: Alternative) -> bool:
    return isinstance(alternative, RuleAlternative) and alternative.rule.packs_ahead


def _is_named(alternative: Alternative) -> bool:
    """Whether an alternative is for an operator by its name."""
    if isinstance(alternative, RuleAlternative):
        return alternative.rule.declaration.match.kind == "named"
    return alternative.match.kernel.match.kind == "named"
