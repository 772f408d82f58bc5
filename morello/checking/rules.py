"""From declared rewrite rules to checked ones: names, kinds, variables, guards, and the result.

Codes ``R...`` are errors of a rule, ``K...`` of an expression in it. That every rule makes progress
is checked on the result of this stage, in `morello.rewriting.progress`; that both sides mean the
same is found by executing them, in `morello.verify`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from morello.checking.kinds import (
    CHOICES,
    LIST,
    UNKNOWN,
    KnownNames,
    Typed,
    article,
    expect,
    expect_guards,
    infer,
)
from morello.checking.results import ResultChecker
from morello.ir.operators import Operator
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.traverse import names


def check_rules(
    files: Sequence[ast.RulesFile],
    operators: Mapping[str, Operator],
    collector: Collector,
    coefficients: Collection[str] | None = None,
) -> tuple[Rule, ...]:
    """Check every rule of all files together.

    Args:
        files: Parsed ``.mrules`` files, in any order.
        operators: Checked operators by name.
        collector: Takes the errors; the result may be used only if it stayed empty.
        coefficients: Names of the coefficients that a ``cost`` may use; none accepts any name.

    Returns:
        The rules in the order of declaration, without duplicates.
    """
    rules: dict[str, Rule] = {}
    # An operator that was declared but did not pass its own checks is no second error here.
    declared = {o.name for f in files for o in f.operators} - set(operators)
    for declaration in chain.from_iterable(f.rules for f in files):
        first = rules.get(declaration.name)
        if first is not None:
            _duplicate(declaration, first.declaration, collector)
            continue
        matched = operators.get(declaration.match.operator or "")
        pattern = matched if matched is not None and matched.parts else None
        rule = Rule(declaration.name, declaration.doc, declaration, pattern)
        _RuleChecker(rule, operators, declared, coefficients, collector).check()
        rules[rule.name] = rule
    return tuple(rules.values())


def _duplicate(declaration: ast.RuleDecl, first: ast.RuleDecl, collector: Collector) -> None:
    collector.error(
        "R001",
        f"rule '{declaration.name}' is declared twice",
        declaration.name_span,
        "second declaration",
        help=f"the first one is at {first.name_span}; rename or remove one of them",
    )


class _RuleChecker:
    """Checks one rule. ``kinds`` grows as variables are bound, in the order of the text."""

    def __init__(
        self,
        rule: Rule,
        operators: Mapping[str, Operator],
        declared: Collection[str],
        coefficients: Collection[str] | None,
        collector: Collector,
    ) -> None:
        self.rule = rule
        self.declaration = rule.declaration
        self.operators = operators
        self.declared = declared
        self.coefficients = coefficients
        self.collector = collector
        self.kinds: dict[str, Typed] = {}

    def check(self) -> None:
        """Report everything that is wrong with the rule."""
        if not self.rule.doc.strip():
            message = f"rule '{self.rule.name}' has no sentence that says what it does"
            help = 'write it in quotes after the name: "Compute the output tile by tile."'
            self.collector.error("R002", message, self.declaration.name_span, help=help)
        self._match()
        for choice in self.declaration.choices:
            self._choice(choice)
        expect_guards(
            self.declaration.guards,
            self._scope(),
            self.collector,
            kind="R008",
            never="R009",
            unreduced=self._unreduced(),
        )
        self._cost()
        result = ResultChecker(self.rule, self.kinds, self.operators, self.declared, self.collector)
        result.check()
        self._unused(result.used)

    def _bind(self, variable: str, typed: Typed, node: ast.Node) -> None:
        if variable in self.kinds:
            place = within(node.span, variable)
            message = f"variable '{variable}' is bound twice in rule '{self.rule.name}'"
            self.collector.error("R003", message, place, "bound before")
        self.kinds[variable] = typed

    # ------------------------------------------------------------------------- the match

    def _match(self) -> None:
        match = self.declaration.match
        operator = self.operators.get(match.operator or "")
        self._bind(match.variable, Typed("operation", members=_members(operator)), match)
        if match.operator is not None:
            self._operator(match.operator, match)
        for exception in match.exceptions:
            self._operator(exception.id, exception)
        self._possible(match)
        for operand in self.declaration.operands:
            if operand.owner != match.variable:
                place = within(operand.span, operand.owner, after=_end_of_name(operand))
                message = f"'{operand.owner}' is not the matched operation"
                help = f"write '{operand.variable}: {operand.kind} of {match.variable}'"
                self.collector.error("R004", message, place, "not an operation", help)
            if operand.kind == "member":
                self._member(operand, operator)
            self._bind(operand.variable, Typed("operand"), operand)

    def _member(self, operand: ast.MatchOperand, operator: Operator | None) -> None:
        """``X: f.M`` has to be a tensor of the operator that is matched by its name."""
        if self.declaration.match.operator in self.declared:
            return
        known = [] if operator is None else [p.name for p in operator.parameters]
        known += [] if operator is None else [part.output.name for part in operator.parts]
        if operand.member in known:
            return
        message = f"'{operand.owner}' has no tensor '{operand.member}'"
        help = self.collector.suggestion(operand.member, known) or "match an operator by its name"
        name = f"{operand.owner}.{operand.member}"
        place = within(operand.span, name, after=_end_of_name(operand))
        self.collector.error("R028", message, place, "not a tensor of it", help)

    def _operator(self, name: str, node: ast.Node) -> None:
        if name in self.operators or name in self.declared:
            return
        start = node.span.start + (len(node.variable) if isinstance(node, ast.MatchOperator) else 0)
        place = within(node.span, name, after=start)
        help = self.collector.suggestion(name, self.operators)
        message = f"unknown operator '{name}'"
        self.collector.error("R005", message, place, "not an operator", help)

    def _possible(self, match: ast.MatchOperator) -> None:
        """A match that no operation can pass, whatever the guards say."""
        operator = self.operators.get(match.operator or "")
        if operator is not None and operator.name in {e.id for e in match.exceptions}:
            message = f"'{operator.name}' is matched and excepted, so the rule never matches"
            self.collector.error("R006", message, match.span)
        if operator is not None and operator.parts and operator.scalars:
            message = (
                f"no rule can match '{operator.name}', which has several statements and scalars"
            )
            help = (
                "match an operator of one statement, or one without scalars and sizes of dimensions"
            )
            self.collector.error("R029", message, match.span, "cannot be matched", help)
        if not match.accumulating:
            return
        if match.kind == "elementwise" or (operator is not None and operator.reduction is None):
            what = "an elementwise operator" if operator is None else f"'{operator.name}'"
            message = f"{what} has no reduction, so it is never accumulating"
            self.collector.error("R006", message, match.span, "never matches")

    # ------------------------------------------------------------------------- the clauses

    def _scope(self, coefficients: Collection[str] | None = ()) -> KnownNames:
        return KnownNames(self.kinds, numbers=coefficients, choices=CHOICES)

    def _choice(self, choice: ast.Choice) -> None:
        found = infer(choice.domain, self._scope(), self.collector)
        if found is not UNKNOWN and not found.kind.startswith(LIST):
            message = f"a variable is chosen from a list, not from {article(found.kind)}"
            label = f"this is {article(found.kind)}"
            help = "such as output_dims(f), tile_sizes(d), nearer(X.level)"
            self.collector.error("R007", message, choice.domain.span, label, help)
            found = UNKNOWN
        if found.sized:
            message = "what can be chosen may not depend on sizes"
            help = "choose from a longer list, and write the condition as a guard"
            self.collector.error("R012", message, choice.domain.span, "depends on sizes", help)
        kind = found.kind.removeprefix(LIST)
        typed = UNKNOWN if found is UNKNOWN else Typed(kind, sized=kind == "size")
        self._bind(choice.variable, typed, choice)

    def _unreduced(self) -> list[ast.Expr]:
        """What holds where the match says that there is nothing to reduce."""
        match = self.declaration.match
        operator = self.operators.get(match.operator or "")
        no_reduction = operator is not None and operator.reduction is None
        if not (match.accumulating or match.kind == "elementwise" or no_reduction):
            return []
        variable = ast.Name(id=match.variable, span=match.span)
        reduces = ast.Call(function="reduces", args=(variable,), span=match.span)
        return [ast.Unary(operator="not", operand=reduces, span=match.span)]

    def _cost(self) -> None:
        if self.declaration.cost is not None:
            scope = self._scope(self.coefficients)
            cost = self.declaration.cost
            expect(cost, "number", scope, self.collector, code="R010", what="a cost")

    def _unused(self, used_in_result: Collection[str]) -> None:
        declaration = self.declaration
        clauses = [c.domain for c in declaration.choices] + list(declaration.guards)
        clauses += [] if declaration.cost is None else [declaration.cost]
        used = set(used_in_result).union(*(names(c) for c in clauses))
        bound = [(o.variable, o.span) for o in declaration.operands]
        bound += [(c.variable, c.span) for c in declaration.choices]
        for variable, span in bound:
            if variable not in used:
                message = f"'{variable}' is bound but never used"
                place = within(span, variable)
                help = "remove it: every value of it would be tried for nothing"
                self.collector.error("R011", message, place, "unused", help)


def _members(operator: Operator | None) -> tuple[tuple[str, str], ...]:
    """What an operation of a known operator has by name: operands, scalars and dimensions."""
    if operator is None:
        return ()
    single = (i for p in operator.parameters for i in p.indices if not i.group)
    return (
        *((dim, "dim") for index in single for dim, _ in index.terms),
        *((name, "number") for name in operator.given_scalars),
        *((p.name, "operand") for p in operator.parameters),
    )


def _end_of_name(operand: ast.MatchOperand) -> int:
    return operand.span.start + len(operand.variable)
