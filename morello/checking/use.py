"""Checks of one call of an operator in a spec: arguments, ranks, dtypes and dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

import numpy as np
from msgspec import Struct

from morello.checking.kinds import counted
from morello.checking.sizes import Sizes, number
from morello.ir.conversion import holds
from morello.ir.dtypes import DTYPES, DType, floating_limits
from morello.ir.goal import GoalTensor
from morello.ir.layout import row_major
from morello.ir.operators import LARGEST_SCALAR, Operation, Operator, is_whole, size_name
from morello.language import spec_ast
from morello.language.ast import Expr
from morello.language.evaluate import Value
from morello.language.indices import written
from morello.language.places import within
from morello.language.source import Span
from morello.records import replace


class Checked(Struct, frozen=True):
    """A call that is right: the operation, and its operands, inputs first."""

    operation: Operation
    tensors: tuple[GoalTensor, ...]


class _Bound(Struct, frozen=True):
    """A size of a dimension, and where it comes from: a tensor's, or the declaration."""

    size: int
    source: str
    position: int | None = None

    def __str__(self) -> str:
        if self.position is None:
            return f"{self.size} by {self.source}"
        return f"{self.size} in dimension {self.position + 1} of {self.source}"


def common_dtype(inputs: Iterable[GoalTensor]) -> DType | None:
    """The element type of a result, where that of the inputs tells it.

    Sums of integers want a wider type than what is summed.
    """
    given = {tensor.dtype for tensor in inputs}
    return next(iter(given)) if len(given) == 1 and all(own.floating for own in given) else None


class CallChecker:
    """Checks one call ``operator(arguments, scalars)`` whose arguments are known."""

    def __init__(
        self,
        call: spec_ast.OperatorCall,
        inputs: Sequence[GoalTensor],
        result: GoalTensor | str,
        place: Span,
        operators: Mapping[str, Operator],
        sizes: Sizes,
        role: str = "local",
    ) -> None:
        """``result`` is the tensor that takes the value, its name only where it is inferred.

        ``place``: where the result stands. ``role``: that of a result that is inferred.
        """
        self.call = call
        self.inputs = inputs
        self.result = result
        self.place = place
        self.operators = operators
        self.sizes = sizes
        self.role = role
        self.collector = sizes.collector

    def check_names(self) -> tuple[Operator | None, tuple[tuple[str, float], ...]]:
        """Report what is wrong without looking at operands: operator, their number, scalars."""
        operator = self.operators.get(self.call.operator)
        if operator is None:
            message = f"unknown operator '{self.call.operator}'"
            help = self.collector.suggestion(self.call.operator, self.operators)
            place = self.call.operator_span
            self.collector.error("S030", message, place, "not an operator", help)
        scalars = self._scalars(operator)
        if operator is None or not self._count(operator):
            return None, scalars
        return operator, scalars

    def check(self) -> Checked | None:
        """Report everything that is wrong; nothing is returned if something is."""
        before = len(self.collector.diagnostics)
        operator, scalars = self.check_names()
        if operator is None:
            return None
        wrong = len(self.collector.diagnostics) > before
        known = [] if isinstance(self.result, str) else [self.result]
        operands = [*self.inputs, *known]
        variables = self._dtypes(operator, operands)
        rank = self._group_rank(operator, operands)
        if rank is None or (wrong and operator.least):
            return None
        operation = Operation(operator, rank, scalars=scalars)
        sizes = self._dimensions(operation, operands)
        if len(self.collector.diagnostics) > before or sizes is None:
            return None
        asked = tuple((size_name(d), float(sizes[d])) for d in operator.sizes)
        operation = replace(operation, scalars=(*scalars, *asked))
        result = self.result
        if isinstance(result, str):
            inferred = self._inferred(result, operation, sizes, variables)
            if inferred is None:
                return None
            result = inferred
        if not self._held(operator, dict(scalars), result.dtype):
            return None
        return Checked(operation, (*self.inputs, result))

    def _inferred(
        self,
        name: str,
        operation: Operation,
        sizes: Mapping[str, int],
        variables: Mapping[str, GoalTensor],
    ) -> GoalTensor | None:
        """The result, where nothing declares it: its shape, and its type if the inputs tell it."""
        declared = operation.operator.output.dtype
        dtype = DTYPES.get(declared) or (
            variables[declared].dtype if declared in variables else None
        )
        dtype = dtype or common_dtype(self.inputs)
        if dtype is None:
            message = f"nothing tells the element type of what '{self.call.operator}' computes here"
            help = "declare it: local NAME: f32[...], and give it the value in a statement"
            if self.role == "output":
                help = f"declare it: output {name}: f32[...]"
            self.collector.error("S037", message, self.call.operator_span, "which type?", help)
            return None
        shape = tuple(index.extent(sizes) for index in operation.operands[-1])
        if self.role == "output" and not self.sizes.few_elements(name, shape, self.place):
            return None
        return GoalTensor(name, self.role, dtype, shape, row_major(len(shape)))

    def _operand_place(self, position: int) -> Span:
        """Where an operand stands in the statement."""
        arguments = self.call.arguments
        return arguments[position].span if position < len(arguments) else self.place

    # ------------------------------------------------------------------------- names

    def _count(self, operator: Operator) -> bool:
        wanted, given = len(operator.inputs), len(self.call.arguments)
        if wanted == given:
            return True
        form = ", ".join(f"{p.name}: {p.dtype}[{written(p.indices)}]" for p in operator.inputs)
        message = f"'{operator.name}' takes {counted(wanted, 'tensor')}, {given} given"
        help = f"{operator.name}({form})"
        place = self.call.operator_span
        self.collector.error("S032", message, place, f"{given} given", help)
        return False

    def _scalars(self, operator: Operator | None) -> tuple[tuple[str, float], ...]:
        declared = operator.given_scalars if operator else ()
        defaults = operator.defaults if operator else {}
        given: dict[str, float] = {}
        before = len(self.collector.diagnostics)
        after = self.call.operator_span.end
        for name, expr in self.call.scalars:
            place = within(self.call.span, name, after=after)
            value = self.sizes.number(expr, f"scalar '{name}'")
            if operator is not None and name not in declared:
                message = f"'{operator.name}' has no scalar '{name}'"
                self.collector.error(
                    "S033", message, place, help=self.collector.suggestion(name, declared)
                )
            elif name in given:
                self.collector.error("S033", f"scalar '{name}' is given twice", place, "again")
            if value is not None and isnan(value):
                self.collector.error("S033", f"scalar '{name}' is not a number", expr.span)
            elif operator is not None and value is not None:
                self._whole(operator, name, value, expr.span)
            given[name] = 0.0 if value is None else float(value)
            after = expr.span.end
        missing = [name for name in declared if name not in given and name not in defaults]
        # A scalar that is unknown is most likely the missing one, misspelt.
        if missing and given.keys() <= set(declared):
            message = f"'{self.call.operator}' needs a value for its scalar '{missing[0]}'"
            help = f"write {missing[0]} = ... after the tensors"
            self.collector.error("S033", message, self.call.operator_span, help=help)
        right = not missing and len(self.collector.diagnostics) == before
        for name, default in defaults.items() if right else ():
            if operator is not None and name not in given:
                given[name] = self._default(operator, name, default, given)
        return tuple((name, given.get(name, 0.0)) for name in declared)

    def _default(
        self, operator: Operator, name: str, default: Expr, given: Mapping[str, float]
    ) -> float:
        value = number(default, f"scalar '{name}' by default", given, self.collector)
        if value is None:
            return 0.0
        if isnan(value):
            self.collector.error("S033", f"scalar '{name}' is not a number", default.span)
        else:
            self._whole(operator, name, value, self.call.operator_span)
        return float(value)

    def _whole(self, operator: Operator, name: str, value: Value, place: Span) -> None:
        """What stands in an index or is a size has to be a whole number."""
        least = operator.least.get(name)
        if least is None or is_whole(value, least):
            return
        message = f"scalar '{name}' of '{operator.name}' is {value}"
        help = f"it must be a whole number from {least} to {LARGEST_SCALAR}"
        self.collector.error("S038", message, place, "not possible", help)

    def _held(self, operator: Operator, scalars: Mapping[str, float], dtype: DType) -> bool:
        """Whether the type that is computed in, the result's, has the numbers of all scalars."""
        before = len(self.collector.diagnostics)
        given = {name: expr.span for name, expr in self.call.scalars}
        for name, value in scalars.items():
            if name in operator.least or holds(dtype, value):
                continue
            shown = int(value) if value.is_integer() and abs(value) < LARGEST_SCALAR else value
            message = (
                f"scalar '{name}' of '{operator.name}' is {shown}; expected a number of {dtype}"
            )
            place = given.get(name, self.call.operator_span)
            self.collector.error("S039", message, place, f"not in {dtype}", _range(dtype))
        return len(self.collector.diagnostics) == before

    # ------------------------------------------------------------------------- dtypes and ranks

    def _dtypes(self, operator: Operator, operands: list[GoalTensor]) -> dict[str, GoalTensor]:
        """What each type variable is bound by."""
        variables: dict[str, GoalTensor] = {}
        for i, (parameter, tensor) in enumerate(zip(operator.parameters, operands, strict=False)):
            wanted = DTYPES.get(parameter.dtype)
            if wanted is not None:
                reason = f"'{parameter.name}' of '{operator.name}' is always {wanted}"
            else:
                first = variables.setdefault(parameter.dtype, tensor)
                wanted = first.dtype
                reason = f"'{first.name}' is {wanted}, and both are {parameter.dtype} in its head"
            if tensor.dtype != wanted:
                message = f"'{tensor.name}' is {tensor.dtype}, but '{operator.name}' needs {wanted}"
                place = self._operand_place(i)
                self.collector.error("S034", message, place, f"{wanted} expected", reason)
        return variables

    def _group_rank(self, operator: Operator, operands: list[GoalTensor]) -> int | None:
        """Rank of the operator's group, or none after an error."""
        ranks = tuple(len(t.shape) for t in operands)
        found = operator.group_rank(ranks)
        if found is not None:
            return found
        before = len(self.collector.diagnostics)
        groups: list[str] = []
        for i, (parameter, tensor) in enumerate(zip(operator.parameters, operands, strict=False)):
            rank, single = len(tensor.shape), sum(not x.group for x in parameter.indices)
            grouped = single < len(parameter.indices)
            if rank < single or (rank > single and not grouped):
                bound = f"{single} or more" if grouped else str(single)
                shown = counted(rank, "dimension")
                message = f"'{tensor.name}' has {shown}, but {bound} are needed"
                form = f"{parameter.name}: {parameter.dtype}[{written(parameter.indices)}]"
                help = f"'{operator.name}' declares {form}"
                self.collector.error("S035", message, self._operand_place(i), f"rank {rank}", help)
            elif grouped:
                groups.append(f"{rank - single} in '{tensor.name}'")
        if len(self.collector.diagnostics) == before:
            message = f"'{operator.group}...' has not the same number of dimensions everywhere"
            place = self.call.operator_span
            self.collector.error("S035", message, place, help="it has " + ", ".join(groups))
        return None

    # ------------------------------------------------------------------------- dimensions

    def _dimensions(
        self, operation: Operation, operands: list[GoalTensor]
    ) -> dict[str, int] | None:
        """Size of each dimension; where operands disagree, the first one's."""
        bound = dict(self._stated(operation))
        for i, (indices, tensor) in enumerate(zip(operation.operands, operands, strict=False)):
            for position, index in enumerate(indices):
                if index.alone is None:
                    continue
                here = _Bound(tensor.shape[position], f"'{tensor.name}'", position)
                first = bound.setdefault(index.alone, here)
                if first.size != here.size:
                    self._mismatch(index.alone, first, here, i, tensor)
        self._reached(operation, operands, bound)
        if len(bound) < len(operation.dims):
            return None
        self._sums(operation, operands, bound)
        return {d: bound[d].size for d in operation.dims}

    def _stated(self, operation: Operation) -> Iterator[tuple[str, _Bound]]:
        """Dimensions whose size the declaration states."""
        for dimension, value in operation.operator.stated:
            if isinstance(value, str):
                yield dimension, _Bound(int(operation.values[value]), f"'{value}'")
            else:
                yield dimension, _Bound(value, "its declaration")

    def _reached(
        self, operation: Operation, operands: list[GoalTensor], bound: dict[str, _Bound]
    ) -> None:
        """Sizes that follow from sums, such as the rows of a result from those that it reads.

        Where a sum with one dimension of unknown size does not reach all that there is, it is as
        large as possible; what is wrong then is said of the sum.
        """
        for indices, tensor in zip(operation.operands, operands, strict=False):
            for position, index in enumerate(indices):
                unknown = [(d, f) for d, f in index.terms if d not in bound]
                if len(unknown) != 1:
                    continue
                [(dimension, factor)] = unknown
                known = {d: bound[d].size for d, _ in index.terms if d in bound}
                rest = tensor.shape[position] - index.extent({**known, dimension: 1})
                size = max(1 + rest // factor, 1)
                bound[dimension] = _Bound(size, f"'{tensor.name}'", position)

    def _mismatch(
        self, dimension: str, first: _Bound, here: _Bound, operand: int, tensor: GoalTensor
    ) -> None:
        message = f"dimension '{dimension}' of '{self.call.operator}' is {first} but {here}"
        label = f"{here.size} here, {first.size} in {first.source}"
        help = f"the shape of '{tensor.name}' is {list(tensor.shape)}"
        self.collector.error("S036", message, self._operand_place(operand), label, help)

    def _sums(
        self, operation: Operation, operands: list[GoalTensor], bound: Mapping[str, _Bound]
    ) -> None:
        """Operands that are indexed by sums, such as ``h + r``, have exactly what these reach."""
        for i, (indices, tensor) in enumerate(zip(operation.operands, operands, strict=False)):
            for position, index in enumerate(indices):
                extent = index.extent({d: bound[d].size for d, _ in index.terms})
                if index.alone is None and extent != tensor.shape[position]:
                    here = _Bound(tensor.shape[position], f"'{tensor.name}'", position)
                    terms = ", ".join(f"'{d}' is {bound[d]}" for d, _ in index.terms)
                    message = (
                        f"'{self.call.operator}' reaches {extent} elements where there is {here}"
                    )
                    self.collector.error(
                        "S036", message, self._operand_place(i), f"{extent} expected", terms
                    )


def _range(dtype: DType) -> str:
    """What numbers a type has, and what to do about others."""
    if dtype.floating:
        return f"the largest number of {dtype} is {floating_limits(dtype).max:.8g}"
    limits = np.iinfo(dtype.numpy)
    return (
        f"{dtype} has the whole numbers from {limits.min} to {limits.max}; for others compute in a "
        f"local of f32, and copy it to {dtype}"
    )
