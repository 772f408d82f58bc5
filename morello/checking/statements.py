"""Checks of what a spec computes: its statements, in order, and which tensors they read and write.

Calls may be nested; each becomes a tensor of its own. What becomes of the calls is in
`morello.checking.computations`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import chain

from morello.checking.batches import as_batches
from morello.checking.products import Step
from morello.checking.sizes import Sizes
from morello.checking.subscripts import SubscriptsChecker
from morello.checking.use import CallChecker, Checked
from morello.ir.goal import GoalTensor, Lookup
from morello.ir.operators import Operator
from morello.language import ast, spec_ast
from morello.language.diagnostics import Collector
from morello.language.places import within
from morello.language.source import Span
from morello.language.traverse import subexpressions


class StatementsChecker:
    """Checks the statements of one spec."""

    def __init__(
        self,
        spec: spec_ast.SpecDecl,
        declared: Mapping[str, spec_ast.TensorDecl],
        tensors: dict[str, GoalTensor],
        operators: Mapping[str, Operator],
        sizes: Sizes,
    ) -> None:
        """``declared`` has every tensor, ``tensors`` those without errors; locals are added."""
        self.spec = spec
        self.declared = declared
        self.tensors = tensors
        self.operators = operators
        self.sizes = sizes
        self.collector = sizes.collector
        self.results = {use.result for use in spec.uses}
        self.computed: dict[str, Span] = {}
        self.in_parts = _computed_in_parts(spec.uses)
        self.parts: dict[str, list[GoalTensor]] = {name: [] for name in self.in_parts}
        self.nested = 0
        self.checked: list[Checked] = []
        self.lookups: dict[str, Lookup] = {}

    def check(self) -> list[Checked]:
        """Report everything that is wrong; the calls, each after those whose results it reads."""
        self._roles()
        for use in self.spec.uses:
            place = within(use.span, use.result)
            if isinstance(use, spec_ast.Statement):
                self._statement(use)
            else:
                self._call(use.call, use.result, place)
            if self.in_parts.get(use.result, use) is not use:
                continue  # more of it is to come
            if use.result in self.in_parts:
                self._together(use, place)
            elif use.result in self.computed:
                message = f"'{use.result}' is computed twice"
                help = f"the first statement is at {self.computed[use.result]}"
                self.collector.error("S025", message, place, "second time", help)
            self.computed[use.result] = place
        if not self.spec.uses:
            message = f"spec '{self.spec.name}' computes nothing"
            help = "add a statement, such as: y = f(x); 'morello operators' lists all"
            self.collector.error("S024", message, self.spec.name_span, help=help)
        return self.checked

    # ------------------------------------------------------------------------- tensors

    def _roles(self) -> None:
        """Every tensor has a use, and every output, and no input, is computed."""
        uses = self.spec.uses
        read = {name.id for use in uses for name in _names(use)}
        computed = {use.result for use in uses}
        for use in uses:
            self._result(use, read)
        if not uses or not read <= set(self.declared) | computed:
            return  # a tensor without use is most likely the one that is missing or misspelt
        for node in self.declared.values():
            place = within(node.span, node.name, after=node.span.start + len(node.role))
            if node.role in ("output", "local") and node.name not in computed:
                if node.role == "output" and not computed <= set(self.declared) | read:
                    continue  # some result is unknown, most likely this one
                message = f"{node.role} '{node.name}' is never computed"
                help = f"add a statement: {node.name} = ..."
                self.collector.error("S021", message, place, "no value", help)
            elif node.role != "output" and node.name not in read:
                if node.role != "local" and node.name in computed:
                    continue  # that it is computed is the error
                message = f"{node.role} '{node.name}' is never used"
                self.collector.error("S020", message, place, "unused", "remove it, or use it")

    def _result(self, use: _Use, read: set[str]) -> None:
        place = within(use.span, use.result)
        node = self.declared.get(use.result)
        if node is None and use.result not in read:
            outputs = [n.name for n in self.declared.values() if n.role == "output"]
            if self.results.issuperset(outputs):
                message = f"'{use.result}' is computed, but nothing reads it"
                help = f"remove it, or make it an output: output {use.result}"
                self.collector.error("S022", message, place, "never read", help)
                return
            message = f"unknown tensor '{use.result}'"
            help = (
                self.collector.suggestion(use.result, outputs)
                or "declare it as an output, or read it"
            )
            self.collector.error("S022", message, place, "not declared, and never read", help)
        elif node is not None and node.role in ("input", "weight"):
            message = f"'{use.result}' is declared as {node.role}, so it cannot be computed"
            help = "declare it as an output"
            self.collector.error("S023", message, place, f"this is an {node.role}", help)

    # ------------------------------------------------------------------------- statements

    def _statement(self, node: spec_ast.Statement) -> None:
        """An operator in place, and what cuts the parts out that it reads."""
        name = node.result
        read = {tensor.id: tensor for tensor in _names(node)}
        tensors = {own: self._argument(tensor, name) for own, tensor in read.items()}
        known = {own: tensor for own, tensor in tensors.items() if tensor is not None}
        declared = self.declared.get(name)
        unknown = declared is not None and declared.dtype is not None and name not in self.tensors
        if len(known) < len(tensors) or unknown:
            return
        checker = self._checker(node, known, self.sizes)
        found = self._as_products(checker, checker.check())
        self.checked += found
        self.lookups |= checker.lookups
        if found and name in self.in_parts:
            self.parts[name].append(found[-1].tensors[-1])
        elif found:
            self.tensors.setdefault(name, found[-1].tensors[-1])

    def _checker(
        self,
        node: spec_ast.Statement,
        known: Mapping[str, GoalTensor],
        sizes: Sizes,
        first: GoalTensor | None = None,
    ) -> SubscriptsChecker:
        """That of a statement; ``first`` is its result where the text has none of that name."""
        name = node.result
        declared = self.declared.get(name)
        result = self.tensors.get(name, name) if first is None else first
        return SubscriptsChecker(
            node,
            known,
            result,
            declared.role if declared else "local",
            self.declared.keys() | self.results,
            self.operators,
            sizes,
            in_parts=name in self.in_parts,
        )

    def _as_products(self, checker: SubscriptsChecker, found: list[Checked]) -> list[Checked]:
        """The calls of a statement, or of several that compute the same with declared products."""
        if self._all_known(found):
            return found
        for steps in checker.products() if found else ():
            calls = self._tried(steps, checker.tensors)
            if self._all_known(calls):
                return calls
        return found

    def _tried(self, steps: Sequence[Step], known: Mapping[str, GoalTensor]) -> list[Checked]:
        """The calls of statements that are no text of anyone; none where one of them is wrong."""
        sizes = copy(self.sizes)
        sizes.collector = Collector()
        tensors, calls = dict(known), list[Checked]()
        for step in steps:
            own = self._checker(step.statement, tensors, sizes, step.result).check()
            if not own:
                return []
            calls += own
            if step.result is not None:
                tensors[step.result.name] = step.result
        return calls

    def _all_known(self, calls: Sequence[Checked]) -> bool:
        """Whether rules know all that is reduced, as declared operators; not without calls."""
        in_parts = {*self.in_parts, *self.lookups}
        operators = [
            call.operation.operator for call in as_batches(calls, self.operators, in_parts)
        ]
        known = (o.reduction is None or not o.text or o.seen_as is not None for o in operators)
        return bool(operators) and all(known)

    def _together(self, last: _Use, place: Span) -> None:
        """The parts of a tensor are all of it, each element once; all are known but after errors.

        ``last``: the last of the statements that compute them.
        """
        name, parts = last.result, self.parts[last.result]
        statements = sum(use.result == name for use in self.spec.uses)
        if len(parts) < statements or name not in self.tensors:
            return
        for later, part in enumerate(parts):
            for other in parts[:later]:
                if all(
                    low < their_low + their_size and their_low < low + size
                    for low, size, their_low, their_size in zip(
                        part.lows, part.box, other.lows, other.box, strict=True
                    )
                ):
                    message = f"'{part.name}' and '{other.name}' have elements in common"
                    help = "each element gets its value from one statement"
                    self.collector.error("S025", message, place, "more than once", help)
                    return
        if sum(part.elements for part in parts) < self.tensors[name].elements:
            message = f"not all of '{name}' gets a value"
            known = ", ".join(part.name for part in parts)
            self.collector.error("S036", message, place, help=f"these parts do: {known}")

    # ------------------------------------------------------------------------- calls

    def _call(self, call: spec_ast.OperatorCall, result: str, place: Span) -> GoalTensor | None:
        """The tensor that a call computes, or none after errors."""
        inputs: list[GoalTensor] = []
        complete = True
        for argument in call.arguments:
            tensor = self._argument(argument, result)
            complete = complete and tensor is not None
            inputs += [] if tensor is None else [tensor]
        node = self.declared.get(result)
        unknown = node is not None and node.dtype is not None and result not in self.tensors
        if not complete or unknown:
            # What can be said without the operands.
            CallChecker(call, (), result, place, self.operators, self.sizes).check_names()
            return None
        known, role = self.tensors.get(result, result), node.role if node else "local"
        checker = CallChecker(call, inputs, known, place, self.operators, self.sizes, role)
        found = checker.check()
        if found is None:
            return None
        self.checked.append(found)
        return self.tensors.setdefault(result, found.tensors[-1])

    def _argument(
        self, argument: ast.Name | spec_ast.OperatorCall, result: str
    ) -> GoalTensor | None:
        if isinstance(argument, spec_ast.OperatorCall):
            self.nested += 1
            inner = f"{argument.operator}.{self.nested}"
            return self._call(argument, inner, argument.operator_span)
        name = argument.id
        node = self.declared.get(name)
        if name == result:
            message = f"'{name}' is input and output of the same operator"
            help = "declare another tensor for the result; nothing is computed in place"
            self.collector.error("S031", message, argument.span, "also the result", help)
        elif name in self.computed or (node is not None and node.role in ("input", "weight")):
            return self.tensors.get(name)
        elif name in self.results:
            message = f"'{name}' is read before it is computed"
            help = "its parts come first, all of them" if name in self.in_parts else ""
            self.collector.error("S031", message, argument.span, "no value yet", help)
        elif node is not None:
            message = f"'{name}' is never computed, so it has no value to read"
            self.collector.error("S031", message, argument.span, f"this is an {node.role}")
        else:
            known = (n.name for n in self.declared.values() if n.role != "output")
            message = f"unknown tensor '{name}'"
            help = self.collector.suggestion(name, chain(known, self.computed))
            self.collector.error("S022", message, argument.span, "not declared", help)
        return None


_Use = spec_ast.OperatorUse | spec_ast.Statement


def _computed_in_parts(uses: Sequence[_Use]) -> dict[str, _Use]:
    """What several statements with subscripts compute, and the last of these."""
    found: dict[str, list[_Use]] = {}
    for use in uses:
        found.setdefault(use.result, []).append(use)
    return {
        name: own[-1]
        for name, own in found.items()
        if len(own) > 1 and all(isinstance(use, spec_ast.Statement) for use in own)
    }


def _names(node: _Use | spec_ast.OperatorCall) -> Iterator[ast.Name]:
    """The tensors that a statement or a call reads, with those that are nested in it."""
    match node:
        case spec_ast.OperatorUse():
            yield from _names(node.call)
        case spec_ast.Statement():
            for element in subexpressions(node.value):
                if isinstance(element, ast.Subscripted):
                    yield ast.Name(element.tensor, span=within(element.span, element.tensor))
        case spec_ast.OperatorCall():
            for argument in node.arguments:
                if isinstance(argument, spec_ast.OperatorCall):
                    yield from _names(argument)
                else:
                    yield argument
