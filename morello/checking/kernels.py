"""Checks of microkernels: what they match, when, what they cost, and their templates.

That a kernel computes what it says is not checked here but by running it: see `morello.verify`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from morello.checking.kinds import KnownNames, Typed, expect, expect_guards
from morello.checking.lanes import instances
from morello.checking.lineages import clash
from morello.checking.patterns import check_pattern, check_ranks, check_rows, pattern_variables
from morello.checking.primitives import Table
from morello.checking.templates import Macros, check_scalars, check_template
from morello.ir.operators import Operator
from morello.ir.target import Microkernel, Target
from morello.ir.vector_axis import POINTWISE, ROW_KINDS
from morello.language import target_ast, traverse
from morello.language.clauses import ClauseKind
from morello.language.diagnostics import Collector, suggestion
from morello.language.indices import written
from morello.language.places import within


def check_kernels(
    files: Sequence[target_ast.TargetFile],
    targets: Mapping[str, Target],
    primitives: Mapping[str, Table],
    macros: Mapping[str, Macros],
    declared: Collection[str],
    operators: Mapping[str, Operator],
    collector: Collector,
    *,
    template_functions: Collection[str] | None,
) -> dict[str, tuple[Microkernel, ...]]:
    """Check the kernels of all targets.

    Args:
        files: Parsed ``.mtarget`` files.
        targets: Targets that could be built, each after its base.
        primitives: Of each of them, with those that it inherits.
        macros: Of each of them, as well.
        declared: Names of all targets, including those that could not be built.
        operators: Checked operators by name.
        collector: Takes the errors.
        template_functions: Functions that templates may call; none accepts any.

    Returns:
        For each target its own kernels, in the order of declaration.
    """
    kernels: dict[str, list[Microkernel]] = {}
    known: dict[str, list[target_ast.KernelDecl]] = {}
    every_macro = {name for of_target in macros.values() for name in of_target}
    for node in chain.from_iterable(f.kernels for f in files):
        others = known.setdefault(node.name, [])
        first = next((k for k in others if clash(node.target, k.target, targets)), None)
        if first is not None:
            _duplicate(node, first, collector)
            continue
        others.append(node)
        if node.target not in declared:
            message = f"kernel '{node.name}' is on '{node.target}', which is not a target"
            place = within(node.span, node.target, after=node.name_span.end)
            help = collector.suggestion(node.target, declared)
            collector.error("T041", message, place, "unknown", help)
            continue
        before = len(collector.diagnostics)
        for own in instances(node, targets, primitives, macros, collector):
            checker = _KernelChecker(own, targets[own.target], operators, collector)
            checker.check()
            checker.check_template(template_functions, macros[node.target], every_macro)
            kernels.setdefault(own.target, []).append(Microkernel.declared(own))
            if len(collector.diagnostics) > before:  # what is wrong with one is so with others
                break
    return {name: tuple(own) for name, own in kernels.items()}


def _duplicate(
    node: target_ast.KernelDecl, first: target_ast.KernelDecl, collector: Collector
) -> None:
    message = f"kernel '{node.name}' is declared twice"
    help = f"the first one is at {first.name_span}; rename or remove one of them"
    collector.error("T040", message, node.name_span, "second declaration", help)


class _KernelChecker:
    """Checks one kernel on its target."""

    def __init__(
        self,
        node: target_ast.KernelDecl,
        target: Target,
        operators: Mapping[str, Operator],
        collector: Collector,
    ) -> None:
        self.node = node
        self.match = node.match
        self.clauses = node.clauses
        self.target = target
        self.operators = operators
        self.operator = operators.get(node.match.operator or "")
        self.collector = collector

    def check(self) -> None:
        """Report everything that is wrong with the kernel."""
        if not self.node.doc.strip():
            message = f"kernel '{self.node.name}' has no sentence that says what it does"
            help = 'write it in quotes before "match"'
            self.collector.error("T042", message, self.node.name_span, help=help)
        if self.match.kind == "named":
            self._named()
        rows = self.match.kind in ROW_KINDS
        if rows:
            check_rows(self.node, self.collector)
        if self.node.streamed:
            self._streamed()
        if self.clauses.copied is not None:
            self._copied(self.clauses.copied)
        if self.clauses.fetched is not None:
            self._fetched(self.clauses.fetched)
        for pattern in self.match.operands:
            along = rows and pattern is self.match.operands[0]
            check_pattern(pattern, self.target, self.collector, along=along)
        names = self._names()
        expect_guards(
            self.node.guards, KnownNames(names), self.collector, kind="T050", never="T051"
        )
        cost_scope = KnownNames(names, numbers=self.target.coefficients)
        what, only = (
            "what is said of coefficients",
            KnownNames({}, numbers=self.target.coefficients),
        )
        for condition in chain(*self.clauses.of_kind(ClauseKind.CONDITIONS)):
            expect(condition, "truth", only, self.collector, code="T050", what=what)
        expect(self.node.cost, "number", cost_scope, self.collector, code="T052", what="a cost")

    # ------------------------------------------------------------------------- the match

    def _named(self) -> None:
        if self.operator is None:
            name = self.match.operator or ""
            message = f"unknown operator '{name}'"
            help = self.collector.suggestion(name, self.operators)
            place = self.match.operator_span
            self.collector.error("T043", message, place, "not an operator", help)
            return
        if self.match.accumulating is not False and self.operator.reduction is None:
            message = f"'{self.operator.name}' has no reduction, so it is never accumulating"
            place = self.match.operator_span
            self.collector.error("T044", message, place, "has one form", "name it alone")
        if self._operands(self.operator):
            check_ranks(self.match, self.operator, self.collector)

    def _operands(self, operator: Operator) -> bool:
        """Whether the operands are those of the operator, by number and name."""
        parameters, patterns = operator.parameters, self.match.operands
        form = ", ".join(f"{p.name}: {p.dtype}[{written(p.indices)}]" for p in parameters)
        help = f"{operator.name}({form}): inputs, then the output"
        if len(parameters) != len(patterns):
            wanted, given = len(parameters), len(patterns)
            message = f"'{operator.name}' has {wanted} operands, {given} given"
            place = self.match.operator_span
            self.collector.error("T045", message, place, f"{given} given", help)
            return False
        before = len(self.collector.diagnostics)
        for parameter, pattern in zip(parameters, patterns, strict=True):
            if parameter.name != pattern.name:
                message = f"operand '{pattern.name}' stands where '{parameter.name}' is declared"
                place = within(pattern.span, pattern.name)
                self.collector.error("T045", message, place, f"'{parameter.name}' expected", help)
        return len(self.collector.diagnostics) == before

    # ------------------------------------------------------------------------- expressions

    def _names(self) -> dict[str, Typed]:
        """Kinds of the names that guards and the cost may use."""
        given = () if self.operator is None else self.operator.given_scalars
        scalars = tuple((name, "number") for name in given)
        names = {"f": Typed("operation", members=scalars)}
        names |= {level.name: Typed("level") for level in self.target.levels}
        for pattern in self.match.operands:
            if pattern.name and pattern.name in names:
                self._taken(pattern.name, names[pattern.name].kind, pattern)
            elif pattern.name:
                names[pattern.name] = Typed("operand")
        if self.node.lanes in names.keys() | self.target.coefficients.keys():
            message = f"the parameter '{self.node.lanes}' names something else already"
            self.collector.error("T046", message, self.node.name_span, "choose another name")
        for variable, pattern in pattern_variables(self.match).items():
            if variable in names:
                self._taken(variable, names[variable].kind, pattern)
            names[variable] = Typed("number", sized=True)
        return names

    def _taken(self, name: str, kind: str, pattern: target_ast.KernelOperand) -> None:
        message = f"'{name}' already names the {kind} '{name}' of '{self.target.name}'"
        if kind in {"operand", "operation"}:
            message = f"'{name}' already names the {kind}"
        start = pattern.span.start + (len(pattern.name) if name != pattern.name else 0)
        place = within(pattern.span, name, after=start)
        self.collector.error("T046", message, place, "choose another name")

    def _streamed(self) -> None:
        """Only whole rows in memory are stored past the caches."""
        levels = self.target.level_by_name
        along = self.match.operands[0]
        in_memory = all(levels[n].addressable for n in along.levels if n in levels)
        if self.match.kind != POINTWISE or not in_memory:
            message = "only rows in memory, without a reduction, are stored past the caches"
            after = self.node.span.source.text.rfind("streamed", 0, self.node.span.end)
            place = within(self.node.span, "streamed", after=after)
            help = "pointwise op (f32[..., n] at mem vector 64; f32[...] at mem)"
            self.collector.error("T055", message, place, help=help)

    def _copied(self, name: str) -> None:
        """Kept is an input in memory, by a template that is right wherever that is."""
        why = self._read_by_template(name, "what is there is not kept for later")
        if not any(why) and any(name in traverse.names(guard) for guard in self.node.guards):
            why = "a guard speaks of it", "where it is read is not where it is kept"
        self._refuse("T056", "copy_on_first_use", f"copy '{name}'", name, why)

    def _fetched(self, name: str) -> None:
        """Fetched ahead is an input in memory, by a template."""
        why = self._read_by_template(name, "what is there need not be fetched")
        self._refuse("T058", "fetches_ahead", f"fetch '{name}' ahead", name, why)

    def _read_by_template(self, name: str, in_registers: str) -> tuple[str, str]:
        """Why no template reads an input of this name in memory, and advice; empty if one does."""
        inputs = [p for p in self.match.operands[:-1] if p.name]
        pattern = next((p for p in inputs if p.name == name), None)
        levels = self.target.level_by_name
        if pattern is None:
            return "it is no input", suggestion(name, [p.name for p in inputs])
        if not all(levels[n].addressable for n in pattern.levels if n in levels):
            return "it may be in registers", in_registers
        if self.node.template is None:
            return "there is no template", "only a template says how an input is read"
        return "", ""

    def _refuse(self, code: str, clause: str, what: str, name: str, why: tuple[str, str]) -> None:
        """Report why a clause cannot be said of an operand, if there is a reason."""
        reason, help = why
        if reason:
            after = within(self.node.span, clause, after=self.node.cost.span.end).end
            message = f"kernel '{self.node.name}' cannot {what}: {reason}"
            place = within(self.node.span, name, after=after)
            self.collector.error(code, message, place, help=help)

    def check_template(
        self, functions: Collection[str] | None, macros: Macros, every_macro: Collection[str]
    ) -> None:
        """Report what is wrong with the template, if there is one."""
        if self.node.template is not None:
            given = [p.name for p in self.match.operands if p.name]
            given += [target_ast.SPEC, *pattern_variables(self.match), *dict(self.node.given)]
            given += [target_ast.VECTOR] if self.node.vectors else []
            check_template(
                self.node, given, functions, self.collector, macros=macros, foreign=every_macro
            )
            scalars = () if self.operator is None else self.operator.given_scalars
            check_scalars(self.node, scalars, macros, self.collector)
