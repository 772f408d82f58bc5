"""``emit definition``: C written from an operator's declaration with the target's primitives.

Every operand is converted to the output's dtype, and the expression is computed in it, equal
subexpressions once.
``max(a, b)`` is ``a > b ? a : b``, as x86 does it, and ``min`` alike: with a NaN, the second
operand. A reduction puts the old value first: ``max(old, new)``.
"""

from __future__ import annotations

import math
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from string import Formatter

import numpy as np

from morello.codegen.c.operands import COperand, view_fastest
from morello.errors import MorelloError
from morello.ir.conversion import convert, convert_number
from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.constants import elsewhere_of, value_of
from morello.ir.operators import OperandIndex, Operation
from morello.ir.primitives import (
    CONSTANT,
    MULTIPLY_ADD,
    TRUTH,
    TYPE,
    Step,
    adds_product,
    steps,
    update_primitive,
)
from morello.ir.programs.tree import KernelCall
from morello.ir.target import Primitives, Target
from morello.language import ast

_COMPARISON = re.compile(r"\{\d\} ([<>]=?|[=!]=) \{\d\}")

_ATOM = re.compile(r"\w+(\.\w+)?(\[[^][]*\])?|\(-[\w.+-]+\)")


def literal(value: float, dtype: DType) -> str:
    """A number as a C constant of this dtype, as the language converts it; bf16 in its bits."""
    if dtype.floating and dtype.bytes < 4:
        return f"{_bits(value, dtype):#06x}"
    if dtype.floating:
        if math.isnan(value):
            return "NAN"
        with np.errstate(over="ignore"):
            rounded = dtype.numpy.type(abs(value))
        if np.isinf(rounded):  # also what is too large for the type, as 1e38 * 1e38
            return "INFINITY" if value > 0 else "(-INFINITY)"
        text = f"{rounded!s}f"
        return f"(-{text})" if math.copysign(1.0, value) < 0 else text
    whole = int(convert_number(value, dtype))
    if whole < 0 and whole == np.iinfo(dtype.numpy).min:
        return f"INT{dtype.bytes * 8}_MIN"
    return f"({whole})" if whole < 0 else str(whole)


def _bits(value: float, dtype: DType) -> int:
    converted = convert(np.full(1, value, np.float64), dtype)
    return int.from_bytes(converted.tobytes(), sys.byteorder)


class StepsWriter(ABC):
    """Writes the steps of a value, in so many lanes of a target.

    The lines declare locals, whose names end with ``_``.
    """

    def __init__(self, target: Target, lanes: int, dtype: DType, found: Sequence[Step]) -> None:
        """``dtype``: that of the value, which is the last of the steps."""
        self._target = target
        self._lanes = lanes
        self._dtype = dtype
        self._tables: dict[str, PrimitiveTable] = {}
        self._steps = found
        self._uses = self._written()
        self._lines: list[str] = []
        self._locals = 0
        self._mark = ""

    @abstractmethod
    def _element(self, tensor: str) -> str:
        """C of an element in its own dtype."""

    def _value(self) -> str:
        """C of the value. A step that is written more than once becomes a local first."""
        return self._values(self._steps)[-1]

    def _values(self, first: Sequence[Step]) -> list[str]:
        """C of the first steps."""
        values: list[str] = []
        for position, (step, uses) in enumerate(zip(first, self._uses, strict=False)):
            text = self._named(position, self._step(step, values))
            if uses > 1 and step.leaf is None and not _ATOM.fullmatch(text):
                text = self._local(text, TRUTH if step.condition else TYPE, step.dtype)
            values.append(text)
        return values

    def _named(self, position: int, text: str) -> str:
        """What stands for a step: its text, or a local that has it."""
        del position
        return text

    def _step(self, step: Step, values: Sequence[str]) -> str:
        match step.leaf:
            case ast.Element(tensor=tensor):
                return self._element(tensor)
            case ast.Number(value=value):
                return self._constant(value, step.dtype)
        text = self._of(step.dtype).text(step.primitive)
        arguments = [values[i] for i in step.arguments]
        if _COMPARISON.search(text) and arguments[0] in arguments[1:]:
            # Compilers give a warning where a value is compared with itself.
            arguments[0] = self._local(arguments[0], dtype=step.dtype)
        return text.format(*arguments)

    def _of(self, dtype: str) -> PrimitiveTable:
        """The primitives of an element type."""
        if dtype not in self._tables:
            self._tables[dtype] = PrimitiveTable(self._target, DTYPES[dtype], self._lanes)
        return self._tables[dtype]

    def _constant(self, value: float, dtype: str) -> str:
        return self._of(dtype).text(CONSTANT).format(literal(value, DTYPES[dtype]))

    def _apply(self, primitive: str, values: tuple[str, ...], dtype: str = "") -> str:
        """C of a primitive on values; one that is written twice becomes a local first.

        Without an element type, of that of the output.
        """
        text = self._of(dtype or self._dtype.name).text(primitive)
        counts = _uses(text)
        arguments = (
            self._local(value) if counts[i] > 1 and not _ATOM.fullmatch(value) else value
            for i, value in enumerate(values)
        )
        return text.format(*arguments)

    def _written(self) -> list[int]:
        """How often each step is written in those after it."""
        written = [0] * len(self._steps)
        for step in self._steps:
            if step.leaf is None:
                counts = _uses(self._of(step.dtype).text(step.primitive))
                for position, argument in enumerate(step.arguments):
                    written[argument] += counts[position]
        return written

    def _local(self, value: str, kind: str = TYPE, dtype: str = "") -> str:
        name = f"t{self._mark}{self._locals}_"
        self._locals += 1
        text = self._of(dtype or self._dtype.name).text(kind)
        self._lines.append(f"const {text} {name} = {value};")
        return name


class MeaningWriter(StepsWriter):
    """Writes one kernel call."""

    def __init__(
        self,
        target: Target,
        call: KernelCall,
        operands: Sequence[COperand],
        lanes: int | None = None,
    ) -> None:
        """``lanes`` in which the value is computed; without them those of all operands."""
        self._operation = call.operation
        self._sizes = dict(zip(call.operation.dims, call.sizes, strict=True))
        self._operands = dict(zip(call.operation.names, operands, strict=True))
        self._indices = dict(zip(call.operation.names, call.operation.operands, strict=True))
        dtype = operands[-1].view.tensor.dtype
        dtypes = {name: o.view.tensor.dtype.name for name, o in self._operands.items()}
        found = steps(value_of(call.operation, dtype), dtype.name, dtypes)
        super().__init__(target, lanes or _common_lanes(operands, call.operation), dtype, found)
        self._update = update_primitive(call.operation.operator)
        self._position: dict[str, int] = {}

    def lines(self) -> list[str]:
        """One statement for every vector, or element, of the iteration space."""
        operation = self._operation
        fastest = self._vector_dimension()
        positions = (
            range(0, self._sizes[d], self._lanes if d == fastest else 1) for d in operation.dims
        )
        self._elsewhere(fastest)
        for position in product(*positions):
            self._position = dict(zip(operation.dims, position, strict=True))
            self._statement()
        return self._lines

    def _elsewhere(self, fastest: str | None) -> None:
        """One statement for every vector, or element, of the output that no index reaches."""
        value = elsewhere_of(self._operation, self._dtype)
        if value is None:
            return
        name = self._operation.names[-1]
        output, indices = self._operands[name], self._indices[name]
        extents = [index.extent(self._sizes) for index in indices]
        places = (
            range(0, extent, self._lanes if index.alone == fastest else 1)
            for extent, index in zip(extents, indices, strict=True)
        )
        for place in product(*places):
            ends = zip(place, extents, indices, strict=True)
            if not all(i.low <= at < extent - i.high for at, extent, i in ends):
                self._lines.append(f"{output[place]} = {self._constant(value, self._dtype.name)};")

    def _vector_dimension(self) -> str | None:
        """The dimension along which lanes lie: in every operand the last one in memory order."""
        if self._lanes == 1:
            return None
        fastest = {_fastest_index(o, self._indices[name]) for name, o in self._operands.items()}
        if len(fastest) == 1 and not self._operation.reduced_dims and None not in fastest:
            return fastest.pop()
        raise MorelloError(
            f"'{self._operation}' cannot be written with vectors from its declaration: "
            "its operands do not lie along the same dimension",
            help="match it with a kernel that has a template",
        )

    def _statement(self) -> None:
        operation = self._operation
        target = self._element(operation.names[-1])
        first = not any(self._position[d] for d in operation.reduced_dims)
        if self._update is not None and (operation.accumulating or not first):
            value = self._reduced(target)
        else:
            value = self._value()
        self._lines.append(f"{target} = {without_parentheses(value)};")

    def _reduced(self, before: str) -> str:
        """C of what was reduced before, with the value."""
        assert self._update is not None
        if not self._fused:
            return self._apply(self._update, (before, self._value()))
        *first, last = self._steps
        values = self._values(first)
        factors = (values[i] for i in last.arguments)
        return self._apply(MULTIPLY_ADD, (*factors, before))

    @cached_property
    def _fused(self) -> bool:
        """Whether one primitive multiplies and adds."""
        return self._of(self._dtype.name).fuses and adds_product(self._steps, self._update)

    def _element(self, tensor: str) -> str:
        """An element in its own dtype; of the output, an lvalue."""
        index = tuple(
            i.low + sum(factor * self._position[d] for d, factor in i.terms)
            for i in self._indices[tensor]
        )
        return self._operands[tensor][index]


def _uses(text: str) -> Counter[int]:
    """How often a primitive's text has each of its arguments."""
    fields = (part[1] for part in Formatter().parse(text))
    return Counter(int(f) for f in fields if f is not None)


class PrimitiveTable:
    """The primitives of one dtype and lane count, with an error that says what is missing."""

    def __init__(self, target: Target, dtype: DType, lanes: int) -> None:
        self._target = target.name
        self._what = f"{dtype.name} x {lanes}"
        nothing = Primitives(dtype.name, lanes, {})
        self._primitives = target.primitives.get((dtype.name, lanes), nothing)

    @property
    def fuses(self) -> bool:
        """Whether one instruction adds a product."""
        return self._primitives.fuses

    def __contains__(self, primitive: str) -> bool:
        return primitive in self._primitives.entries

    def text(self, primitive: str) -> str:
        """C of a primitive, with ``{0}``, ``{1}`` for its arguments.

        Raises:
            MorelloError: if the target does not declare it.
        """
        text = self._primitives.text(primitive)
        if text is None:
            raise self.missing(primitive)
        return text

    def missing(self, primitive: str) -> MorelloError:
        """The error for a primitive that the target does not declare."""
        return MorelloError(
            f"target '{self._target}' has no primitive '{primitive}' for {self._what}",
            help=f"declare it in a .mtarget file: primitives {self._what} on {self._target} "
            f'{{ {primitive} "..." }}',
        )


def _common_lanes(operands: Sequence[COperand], operation: Operation) -> int:
    lanes = {operand.lanes for operand in operands}
    if len(lanes) == 1:
        return lanes.pop()
    raise MorelloError(
        f"'{operation}' cannot be written from its declaration: its operands have "
        f"{', '.join(str(n) for n in sorted(lanes))} lanes",
        help="match it with a kernel that has a template",
    )


def _fastest_index(operand: COperand, indices: tuple[OperandIndex, ...]) -> str | None:
    """The one dimension that indexes the operand along its lanes, if it is so simple."""
    fastest = view_fastest(operand.view)
    if fastest is None:
        return None
    ((name, factor), *more) = indices[fastest].terms
    others = {d for i, index in enumerate(indices) if i != fastest for d, _ in index.terms}
    plain = factor == 1 and not more and not indices[fastest].margins
    return name if plain and name not in others else None


def without_parentheses(text: str) -> str:
    """The text without one pair of parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    return text[1:-1]
