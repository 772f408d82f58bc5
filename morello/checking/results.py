"""Checks of what a rule yields: loops, buffers and applied operators, and the names in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from morello.checking.kinds import CHOICES, KnownNames, Typed, article, counted, expect, fits, infer
from morello.checking.parallel import check_parallel, writes
from morello.checking.pipelined import check_pipelined
from morello.checking.views import check_views
from morello.ir.operators import Operator, size_name
from morello.ir.rule import Rule
from morello.language import ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.traverse import Leaf, names
from morello.language.unparse import unparse


class ResultChecker:
    """Walks the result of one rule.

    Attributes:
        used: Every name that the result refers to; complete after `check`.
    """

    def __init__(
        self,
        rule: Rule,
        kinds: Mapping[str, Typed],
        operators: Mapping[str, Operator],
        declared: Collection[str],
        collector: Collector,
    ) -> None:
        """Args are those of `check_rules`; ``kinds`` are the variables that the rule binds."""
        self.rule = rule
        self.kinds = kinds
        self.operators = operators
        self.declared = declared
        self.collector = collector
        self.used: set[str] = set()
        # What is the operand of a name: also buffers of it, where they are in scope.
        self._members = rule.members

    def check(self) -> None:
        """Report everything that is wrong with the result."""
        self._block(self.rule.declaration.result, self.kinds)
        for leaf in self.rule.leaves():
            self._ahead(leaf)
            self._batch(leaf)
        check_parallel(self.rule, self.operators, self.collector)
        check_pipelined(self.rule, self.operators, self.collector)

    def _block(self, block: ast.Block, kinds: Mapping[str, Typed]) -> None:
        for step in block.steps:
            match step:
                case ast.ForLoop():
                    self._loop(step, kinds)
                case ast.With():
                    self._with(step, kinds)
                case ast.Reapply():
                    self._reapply(step, kinds)
                case ast.Apply():
                    self._apply(step, kinds)

    def _expect(
        self, expr: ast.Expr, kind: str, kinds: Mapping[str, Typed], code: str, what: str
    ) -> Typed:
        """Kind of an expression in the result; it may not depend on sizes."""
        self.used |= names(expr)
        found = expect(
            expr, kind, KnownNames(kinds, choices=CHOICES), self.collector, code=code, what=what
        )
        if found.sized and kind != "size":
            message = f"{what} may not depend on sizes"
            help = "it decides which Specs there are, before any size is known"
            self.collector.error("R012", message, expr.span, "depends on sizes", help)
        return found

    def _condition(self, condition: ast.Expr | None, kinds: Mapping[str, Typed]) -> None:
        if condition is not None:
            self._expect(condition, "truth", kinds, "R008", "the condition of a step")

    # ------------------------------------------------------------------------- loops

    def _loop(self, loop: ast.ForLoop, kinds: Mapping[str, Typed]) -> None:
        self._steps(loop, kinds)
        self._block(loop.body, kinds)

    def _steps(self, loop: ast.ForLoop | ast.Expanded, kinds: Mapping[str, Typed]) -> None:
        self._expect(loop.dimension, "dim", kinds, "R013", "what a loop divides")
        if not _is_positive(loop.step):
            self._expect(loop.step, "size", kinds, "R013", "the step of a loop")

    # ------------------------------------------------------------------------- buffers

    def _with(self, node: ast.With, kinds: Mapping[str, Typed]) -> None:
        self._operand(node.operand, node, kinds, after=len("with ") + len(node.variable))
        if node.expanded is not None:
            self._steps(node.expanded, kinds)
        self._expect(node.level, "level", kinds, "R013", "where a buffer is")
        if node.dtype is not None:
            self._expect(node.dtype, "dtype", kinds, "R013", "the element type of a buffer")
        if node.layout is not None:
            self._expect(node.layout, "layout", kinds, "R013", "the layout of a buffer")
        if node.vector is not None:
            self._expect(node.vector, "number", kinds, "R013", "a vector width")
        if node.layout is None:
            self._held_by_cache(node)
        if node.layout is None and node.dtype is not None:
            message = f"'{node.variable}' has no layout, so nothing converts it"
            help = "give a layout and copy: what a cache holds has the element type that it had"
            self.collector.error("R019", message, node.dtype.span, "no conversion", help)
        place = within(node.span, node.variable)
        if node.variable in kinds:
            message = f"variable '{node.variable}' is bound twice in rule '{self.rule.name}'"
            self.collector.error("R003", message, place, "bound before")
        before, self.used = self.used, set()
        outside = self._members
        if node.operand in outside and node.expanded is None:
            self._members = {**outside, node.variable: outside[node.operand]}
        self._block(node.body, {**kinds, node.variable: Typed("operand")})
        self._members = outside
        if node.variable not in self.used:
            message = f"'{node.variable}' is bound but never used"
            self.collector.error("R011", message, place, "unused")
        self.used = before | (self.used - {node.variable})

    def _held_by_cache(self, node: ast.With) -> None:
        """Without a layout no code moves the data, so the level has to be a cache."""
        if node.operand in self.rule.nowhere:
            message = f"'{node.operand}' is computed here, so '{node.variable}' is a buffer"
            self.collector.error("R015", message, node.span, "no layout", "give it a layout")
            return
        required = ast.Call(function="cache", args=(node.level,), span=node.span)
        if required in self.rule.conditions:
            return
        level = node.level.id if isinstance(node.level, ast.Name) else "level"
        message = f"'{node.variable}' has no layout, so nothing moves it to '{level}'"
        help = f"add the guard 'cache({level})', or give a layout and copy"
        self.collector.error("R015", message, node.level.span, "may not be a cache", help)

    def _operand(
        self, name: str, node: ast.Node, kinds: Mapping[str, Typed], after: int = 0
    ) -> None:
        """A word that has to be the variable of an operand."""
        self.used.add(name)
        found = kinds.get(name)
        if found is not None and fits(found, "operand"):
            return
        known = [n for n, typed in kinds.items() if typed.kind == "operand"]
        problem = "not bound" if found is None else article(found.kind)
        message = f"'{name}' is not an operand of this rule"
        place = within(node.span, name, after=node.span.start + after)
        help = self.collector.suggestion(name, known)
        if not known:
            help = f"give it a variable in the match: '{name}: operand of f', or 'Y: f.NAME'"
        self.collector.error("R016", message, place, problem, help)

    # ------------------------------------------------------------------------- leaves

    def _reapply(self, step: ast.Reapply, kinds: Mapping[str, Typed]) -> None:
        variable = self.rule.declaration.match.variable
        self.used.add(step.variable)
        if step.variable != variable:
            place = within(step.span, step.variable)
            message = f"'{step.variable}' is not the matched operation"
            self.collector.error("R004", message, place, "not bound", f"did you mean '{variable}'?")
        replaced: set[str] = set()
        for old, new in step.substitutions:
            self._operand(old, step, kinds)
            self._operand(new, step, kinds)
            if old in replaced:
                message = f"operand '{old}' is replaced twice"
                self.collector.error("R017", message, step.span, f"'{old}' twice")
            if old not in self.rule.operand_variables and kinds.get(old) == Typed("operand"):
                message = f"'{old}' is a buffer, so '{variable}' has no such operand to replace"
                self.collector.error(
                    "R017", message, within(step.span, old), "not an operand of it"
                )
            replaced.add(old)
        self._part(step)
        self._seen(step)
        if step.without is not None:
            self._expect(step.without, "dim", kinds, "R013", "a dimension that is left out")
        self._condition(step.condition, kinds)

    def _part(self, step: ast.Reapply) -> None:
        """A part of the matched operation is told by an intermediate, and only by that."""
        cut = [old for old, _ in step.substitutions if old in self.rule.intermediates]
        if bool(cut) == (step.part is not None) and len(cut) < 2:
            return
        f = self.rule.declaration.match.variable
        message = f"this does not say which part of '{f}' is meant"
        help = (
            f"'producing {f}[T := Y]' computes the intermediate T into the buffer Y, and "
            f"'consuming {f}[T := Y]' is the rest; {f} as a whole has no operand T"
        )
        self.collector.error("R022", message, step.span, "which part?", help)

    def _batch(self, leaf: Leaf) -> None:
        """A dimension that is left out is a batch's, in a loop that leaves one element of it."""
        if not isinstance(leaf.step, ast.Reapply) or leaf.step.without is None:
            return
        left_out, f = leaf.step.without, self.rule.declaration.match.variable
        domain = self.rule.domain(left_out.id)
        chosen = isinstance(domain, ast.Call) and domain.function == "batch_dims"
        single = any(
            loop.dimension == left_out and loop.step == ast.Number(1, span=loop.step.span)
            for loop in leaf.loops
        )
        if not (chosen and single):
            message = f"'{left_out.id}' may have more than one element here, or be no batch"
            help = (
                f"choose it from batch_dims({f}), and write 'for {left_out.id} step 1 {{ ... }}' "
                "around"
            )
            self.collector.error("R038", message, left_out.span, "not one of a batch", help)

    def _seen(self, step: ast.Reapply) -> None:
        """An intermediate is an operand only where it can be seen in it, R032."""
        for old, new in step.substitutions:
            if old not in self.rule.intermediates or new not in self.rule.operand_variables:
                continue
            written = writes(step.variable, new, step)
            read = ast.Unary("not", written, span=step.span)
            names = (ast.Name(id=n, span=step.span) for n in (step.variable, old, new))
            same = ast.Call(function="rearranged", args=tuple(names), span=step.span)
            needed = {same, written if step.part == "producing" else read}
            if not needed <= {*self.rule.conditions}:
                message = f"'{new}' may be something else than '{old}'"
                shown = " and ".join(sorted(f"'{unparse(guard)}'" for guard in needed))
                help = f"it is where {shown}"
                self.collector.error("R032", message, step.span, "not a buffer of it", help)

    def _apply(self, step: ast.Apply, kinds: Mapping[str, Typed]) -> None:
        operator = self.operators.get(step.operator)
        if operator is not None:
            self._applied(step, operator, kinds)
        else:
            self._unknown(step, kinds)
        self._condition(step.condition, kinds)

    def _unknown(self, step: ast.Apply, kinds: Mapping[str, Typed]) -> None:
        if step.operator not in self.declared:
            match = self.rule.declaration.match
            help = self.collector.suggestion(step.operator, [*self.operators, match.variable])
            message = f"unknown operator '{step.operator}'"
            self.collector.error("R005", message, step.operator_span, "not an operator", help)
        for argument in step.arguments:
            expr = argument.operand if isinstance(argument, ast.View) else argument
            self.used |= names(expr)
            infer(expr, KnownNames(kinds, choices=CHOICES), self.collector)

    def _applied(self, step: ast.Apply, operator: Operator, kinds: Mapping[str, Typed]) -> None:
        before = len(self.collector.diagnostics)
        self._counts(step, operator)
        self._no_sizes(step, operator)
        self._one_statement(step, operator)
        if step.accumulating and operator.reduction is None:
            message = f"'{operator.name}' has no reduction, so it has no accumulating form"
            self.collector.error("R026", message, step.span, "never accumulating")
        operands = len(operator.parameters)
        for position, argument in enumerate(step.arguments):
            kind, what = (
                ("operand", "an operand") if position < operands else ("number", "a scalar")
            )
            expr = argument.operand if isinstance(argument, ast.View) else argument
            self._expect(expr, kind, kinds, "R013", what)
        matched = self.operators.get(self.rule.declaration.match.operator or "")
        self._somewhere(step, operands)
        right = all(o is None or {*o.least} <= {*o.scalars} for o in (operator, matched))
        if right and len(self.collector.diagnostics) == before:  # wrong ones are shown elsewhere
            check_views(step, operator, matched, self._members, self.collector)

    def _somewhere(self, step: ast.Apply, operands: int) -> None:
        """What is computed on the way is nowhere, but in the buffers that the rule makes for it."""
        for argument in step.arguments[:operands]:
            if isinstance(argument, ast.Name) and argument.id in self.rule.nowhere:
                message = f"'{argument.id}' is computed on the way, so no operator can be on it"
                help = f"make a buffer: with Y = {argument.id} at level layout L {{ ... }}"
                self.collector.error("R031", message, argument.span, "is nowhere", help)

    def _no_sizes(self, step: ast.Apply, operator: Operator) -> None:
        """What a rule applies may be a part: it does not know the sizes of the whole."""
        if operator.sizes:
            name, size = operator.name, size_name(operator.sizes[0])
            message = f"'{name}' asks for '{size}', which a rule does not know of the whole"
            help = "apply an operator that is given the number as a scalar"
            self.collector.error("R023", message, step.operator_span, help=help)

    def _one_statement(self, step: ast.Apply, operator: Operator) -> None:
        """What a rule applies is computed by kernels, or by other rules."""
        if operator.parts:
            message = f"'{operator.name}' has several statements, so a rule cannot apply it"
            help = "apply an operator for each of its statements"
            self.collector.error("R030", message, step.operator_span, "several statements", help)

    def _ahead(self, leaf: Leaf) -> None:
        """What is done ahead of all calls has to fill a buffer of a weight, at the same level."""
        if not isinstance(leaf.step, ast.Apply) or not leaf.step.prepack:
            return
        weights = {o.variable for o in self.rule.declaration.operands if o.kind == "weight"}
        match leaf.around:
            case (ast.With(variable=buffer, operand=weight, level=level, layout=layout),):
                operands = [o.id for o in leaf.step.arguments if isinstance(o, ast.Name)]
                stays = isinstance(level, ast.Attribute) and level.base == ast.Name(
                    id=weight, span=level.span
                )
                if stays and weight in weights and layout and operands == [weight, buffer]:
                    return
        message = "this cannot be done ahead of all calls"
        form = "with Y = X at X.level layout L { prepack OPERATOR(X, Y); ... }"
        help = f"only a buffer of a weight can be filled ahead, in no loop: '{form}'"
        self.collector.error("R020", message, leaf.step.span, "may differ by the call", help)

    def _counts(self, step: ast.Apply, operator: Operator) -> None:
        form = ", ".join((*(p.name for p in operator.parameters), *operator.given_scalars))
        help = f"{operator.name}({form}): inputs, then the output, then scalars"
        operands = len(operator.parameters)
        arguments = len(step.arguments)
        for what, wanted, given in (
            ("operand", operands, min(arguments, operands)),
            ("scalar", len(operator.given_scalars), max(arguments - operands, 0)),
        ):
            if wanted != given:
                message = f"'{operator.name}' takes {counted(wanted, what)}, {given} given"
                self.collector.error("R018", message, step.span, f"{given} given", help)


def _is_positive(step: ast.Expr) -> bool:
    """Whether the step of a loop is written as a number."""
    return isinstance(step, ast.Number) and isinstance(step.value, int) and step.value > 0
