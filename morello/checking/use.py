"""Checks of the operator that a spec uses: its arguments, their ranks, dtypes and dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from morello.checking.kinds import counted
from morello.checking.operators import show
from morello.checking.sizes import Sizes
from morello.language import ast
from morello.language.diagnostics import suggestion
from morello.language.places import within
from morello.language.source import Span
from morello.spec.dtypes import DTYPES
from morello.spec.goal import GoalTensor
from morello.spec.operators import Operation, Operator

Checked = tuple[Operation | None, tuple[int, ...], tuple[int, ...]]
NOTHING: Checked = (None, (), ())


@dataclass(frozen=True, slots=True)
class _Bound:
    """A size of a dimension, and the tensor that it comes from."""

    size: int
    tensor: str
    position: int

    def __str__(self) -> str:
        return f"{self.size} in dimension {self.position + 1} of '{self.tensor}'"


class UseChecker:
    """Checks one statement ``result = operator(arguments, scalars)``."""

    def __init__(
        self,
        use: ast.OperatorUse,
        declared: Mapping[str, ast.TensorDecl],
        tensors: Mapping[str, GoalTensor],
        operators: Mapping[str, Operator],
        sizes: Sizes,
    ) -> None:
        """``declared`` has every tensor, ``tensors`` only those without errors."""
        self.use = use
        self.declared = declared
        self.tensors = tensors
        self.operators = operators
        self.sizes = sizes
        self.collector = sizes.collector

    def check(self) -> Checked:
        """Report everything that is wrong.

        Returns:
            The operation, for each of its operands the position of its tensor, and the size of each
            of its dimensions; without the operation if the arguments do not fit it.
        """
        operator = self.operators.get(self.use.operator)
        if operator is None:
            message = f"unknown operator '{self.use.operator}'"
            help = suggestion(self.use.operator, self.operators)
            place = self.use.operator_span
            self.collector.error("S030", message, place, "not an operator", help)
        known = self._arguments()
        scalars = self._scalars(operator)
        if operator is None or not self._count(operator) or not known:
            return NOTHING
        tensors = [self.tensors.get(n) for n in self._operand_names()]
        operands = [t for t in tensors if t is not None]
        if len(operands) < len(tensors):
            return NOTHING
        self._dtypes(operator, operands)
        rank = self._group_rank(operator, operands)
        if rank is None:
            return NOTHING
        operation = Operation(operator, rank, scalars=scalars)
        sizes = self._dimensions(operation, operands)
        order = list(self.tensors)
        return operation, tuple(order.index(t.name) for t in operands), sizes

    def _operand_names(self) -> list[str]:
        return [*(a.id for a in self.use.arguments), self.use.result]

    def _place(self, position: int) -> Span:
        """Where an operand stands in the statement."""
        arguments = self.use.arguments
        if position < len(arguments):
            return arguments[position].span
        return within(self.use.span, self.use.result)

    # ------------------------------------------------------------------------- names

    def _arguments(self) -> bool:
        """Whether every argument is a declared input."""
        before = len(self.collector.diagnostics)
        for argument in self.use.arguments:
            node = self.declared.get(argument.id)
            if node is None:
                inputs = [n.name for n in self.declared.values() if n.role != "output"]
                message = f"unknown tensor '{argument.id}'"
                help = suggestion(argument.id, inputs)
                self.collector.error("S022", message, argument.span, "not declared", help)
            elif argument.id == self.use.result:
                message = f"'{argument.id}' is input and output of the same operator"
                help = "declare another tensor for the result; nothing is computed in place"
                self.collector.error("S031", message, argument.span, "also the result", help)
            elif node.role == "output":
                message = f"'{argument.id}' is an output, so it has no value to read"
                self.collector.error("S031", message, argument.span, "this is an output")
        declared = self.use.result in self.declared
        return declared and len(self.collector.diagnostics) == before

    def _count(self, operator: Operator) -> bool:
        wanted, given = len(operator.inputs), len(self.use.arguments)
        if wanted == given:
            return True
        form = ", ".join(f"{p.name}: {p.dtype}[{show(p.indices)}]" for p in operator.inputs)
        message = f"'{operator.name}' takes {counted(wanted, 'tensor')}, {given} given"
        help = f"{operator.name}({form})"
        place = self.use.operator_span
        self.collector.error("S032", message, place, f"{given} given", help)
        return False

    def _scalars(self, operator: Operator | None) -> tuple[tuple[str, float], ...]:
        declared = operator.scalars if operator else ()
        given: dict[str, float] = {}
        after = self.use.operator_span.end
        for name, expr in self.use.scalars:
            place = within(self.use.span, name, after=after)
            value = self.sizes.number(expr, f"scalar '{name}'")
            if operator is not None and name not in declared:
                message = f"'{operator.name}' has no scalar '{name}'"
                self.collector.error("S033", message, place, help=suggestion(name, declared))
            elif name in given:
                self.collector.error("S033", f"scalar '{name}' is given twice", place, "again")
            if value is not None and isnan(value):
                self.collector.error("S033", f"scalar '{name}' is not a number", expr.span)
            given[name] = 0.0 if value is None else float(value)
            after = expr.span.end
        missing = [name for name in declared if name not in given]
        # A scalar that is unknown is most likely the missing one, misspelt.
        if missing and given.keys() <= set(declared):
            message = f"'{self.use.operator}' needs a value for its scalar '{missing[0]}'"
            help = f"write {missing[0]} = ... after the tensors"
            self.collector.error("S033", message, self.use.operator_span, help=help)
        return tuple((name, given.get(name, 0.0)) for name in declared)

    # ------------------------------------------------------------------------- dtypes and ranks

    def _dtypes(self, operator: Operator, operands: list[GoalTensor]) -> None:
        variables: dict[str, GoalTensor] = {}
        for i, (parameter, tensor) in enumerate(zip(operator.parameters, operands, strict=True)):
            wanted = DTYPES.get(parameter.dtype)
            if wanted is not None:
                reason = f"'{parameter.name}' of '{operator.name}' is always {wanted}"
            else:
                first = variables.setdefault(parameter.dtype, tensor)
                wanted = first.dtype
                reason = f"'{first.name}' is {wanted}, and both are {parameter.dtype} in its head"
            if tensor.dtype != wanted:
                message = f"'{tensor.name}' is {tensor.dtype}, but '{operator.name}' needs {wanted}"
                place = self._place(i)
                self.collector.error("S034", message, place, f"{wanted} expected", reason)

    def _group_rank(self, operator: Operator, operands: list[GoalTensor]) -> int | None:
        """Rank of the operator's group, or none after an error."""
        ranks = tuple(len(t.shape) for t in operands)
        found = operator.group_rank(ranks)
        if found is not None:
            return found
        before = len(self.collector.diagnostics)
        groups: list[str] = []
        for i, (parameter, tensor) in enumerate(zip(operator.parameters, operands, strict=True)):
            rank, single = len(tensor.shape), sum(not x.group for x in parameter.indices)
            grouped = single < len(parameter.indices)
            if rank < single or (rank > single and not grouped):
                bound = f"{single} or more" if grouped else str(single)
                shown = counted(rank, "dimension")
                message = f"'{tensor.name}' has {shown}, but {bound} are needed"
                form = f"{parameter.name}: {parameter.dtype}[{show(parameter.indices)}]"
                help = f"'{operator.name}' declares {form}"
                self.collector.error("S035", message, self._place(i), f"rank {rank}", help)
            elif grouped:
                groups.append(f"{rank - single} in '{tensor.name}'")
        if len(self.collector.diagnostics) == before:
            message = f"'{operator.group}...' has not the same number of dimensions everywhere"
            place = self.use.operator_span
            self.collector.error("S035", message, place, help="it has " + ", ".join(groups))
        return None

    # ------------------------------------------------------------------------- dimensions

    def _dimensions(self, operation: Operation, operands: list[GoalTensor]) -> tuple[int, ...]:
        """Size of each dimension; where operands disagree, the first one's."""
        bound: dict[str, _Bound] = {}
        for i, (indices, tensor) in enumerate(zip(operation.operands, operands, strict=True)):
            for position, index in enumerate(indices):
                (dimension, factor), *more = index.terms
                if more or factor != 1:
                    continue
                here = _Bound(tensor.shape[position], tensor.name, position)
                first = bound.setdefault(dimension, here)
                if first.size != here.size:
                    self._mismatch(dimension, first, here, i)
        sums_are_known = len(bound) == len(operation.dims)
        if sums_are_known:
            self._sums(operation, operands, bound)
        return tuple(bound[d].size for d in operation.dims) if sums_are_known else ()

    def _mismatch(self, dimension: str, first: _Bound, here: _Bound, operand: int) -> None:
        message = f"dimension '{dimension}' of '{self.use.operator}' is {first} but {here}"
        label = f"{here.size} here, {first.size} in '{first.tensor}'"
        node = self.declared[here.tensor]
        help = f"'{here.tensor}' is declared at {node.span}"
        self.collector.error("S036", message, self._place(operand), label, help)

    def _sums(
        self, operation: Operation, operands: list[GoalTensor], bound: Mapping[str, _Bound]
    ) -> None:
        """Operands that are indexed by sums, such as ``h + r``, have exactly what these reach."""
        for i, (indices, tensor) in enumerate(zip(operation.operands, operands, strict=True)):
            for position, index in enumerate(indices):
                extent = 1 + sum(factor * (bound[d].size - 1) for d, factor in index.terms)
                is_sum = len(index.terms) > 1 or index.terms[0][1] != 1
                if is_sum and extent != tensor.shape[position]:
                    here = _Bound(tensor.shape[position], tensor.name, position)
                    terms = ", ".join(f"'{d}' is {bound[d]}" for d, _ in index.terms)
                    message = (
                        f"'{self.use.operator}' reaches {extent} elements where there is {here}"
                    )
                    self.collector.error(
                        "S036", message, self._place(i), f"{extent} expected", terms
                    )
