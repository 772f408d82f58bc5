"""Names of the primitives that an operator's meaning is made of, and the steps in which it is.

A target declares how it writes each of them for a dtype with so many lanes. The engine asks which
ones a meaning needs; an emitter writes them. Both take the names, and the steps, from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from morello.language import ast
from morello.spec.dtypes import DType
from morello.spec.operators import Operator

PRIMITIVE_OF_OPERATOR = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_div",
    "%": "modulo",
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "and": "and",
    "or": "or",
}
"""Functions, ``min`` and ``max`` among them, are primitives of the same name."""

TYPE = "type"
"""The C type of a register or an element; it costs nothing."""

CONSTANT = "constant"
"""One number in all lanes."""

NEGATION = "neg"
SELECTION = "select"

TRUTH = "truth"
"""The entry for the C type of conditions; it costs nothing."""
# What kernels for rows need besides.

LOAD, STORE = "load", "store"
"""From, and to, a pointer."""

LOAD_FIRST, STORE_FIRST = "load_first", "store_first"
"""The same for the first lanes only; of those loaded, the others are 0."""

SELECT_FIRST = "select_first"
"""The first lanes of one vector, the others of another."""

FIRST_LANE = "first_lane"
"""As one element."""


def exchanges(lanes: int) -> list[str]:
    """Primitives that exchange halves, quarters, ... of so many lanes: lane i becomes i xor k.

    A vector that is combined with what each of them makes of it holds the sum of all lanes.
    """
    return [f"exchange_{1 << bit}" for bit in reversed(range(lanes.bit_length() - 1))]


STREAM, FENCE = "stream", "fence"
"""To a pointer that is aligned, past the caches; and what makes others see all that was."""

ROW_PRIMITIVES = (LOAD, STORE, LOAD_FIRST, STORE_FIRST, SELECT_FIRST, FIRST_LANE, STREAM, FENCE)


def update_primitive(operator: Operator) -> str | None:
    """What a reduction combines two values with; none without a reduction."""
    reduction = operator.reduction
    return None if reduction is None else PRIMITIVE_OF_OPERATOR.get(reduction, reduction)


CONDITIONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not"}
)
"""Primitives whose result is a condition."""

FUNCTION_ULPS: Mapping[str, float] = {"exp": 1.0, "log": 1.0, "tanh": 3.0, "erf": 3.0}
"""How far from the exact value a target may compute a function, in units in the last place.

That is the distance from the value to its neighbour, 2^(e - p) for one of 2^e to 2^(e + 1) in a
type of p + 1 bits, and the smallest positive number for values below the smallest normal one.
Functions that are not here, and all arithmetic, are rounded correctly: half a unit. Arguments are
taken as they are.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One value on the way to a meaning's: a primitive of earlier ones, or what it begins with.

    ``primitive`` is empty for an element. ``arguments`` are positions of earlier steps. ``leaf`` is
    the element, or the number or the scalar of a constant.
    """

    primitive: str
    arguments: tuple[int, ...] = ()
    leaf: ast.Element | ast.Name | ast.Number | None = None

    @property
    def condition(self) -> bool:
        """Whether the value is a truth."""
        return self.primitive in CONDITIONS


def casts(names: Sequence[str], dtypes: Sequence[DType]) -> dict[str, str]:
    """Primitives that convert operands to the output's type, by name, for those of another one."""
    output = dtypes[-1]
    return {n: f"cast_{d.name}" for n, d in zip(names, dtypes, strict=True) if d != output}


def steps(expr: ast.Expr, casts: Mapping[str, str] | None = None) -> tuple[Step, ...]:
    """The steps of an expression, each after those that it needs; its value is the last one.

    Equal subexpressions are one step, wherever they stand.

    Args:
        expr: The value of an operator's statement.
        casts: Primitives that convert elements, by the names of tensors.
    """
    writer = _Steps(casts or {})
    writer.of(expr)
    return tuple(writer.places)


def primitives_in(expr: ast.Expr, casts: Mapping[str, str] | None = None) -> Iterator[str]:
    """The primitive of every step of `steps`, and `TRUTH` once if there are conditions."""
    found = steps(expr, casts)
    yield from (step.primitive for step in found if step.primitive)
    if any(step.condition for step in found):
        yield TRUTH


@dataclass(frozen=True, slots=True)
class _Steps:
    """Numbers the values of an expression. ``places`` is ordered, and tells where a step is."""

    casts: Mapping[str, str]
    places: dict[Step, int] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)  # by identity: a tree may share its parts

    def of(self, expr: ast.Expr) -> int:
        """Where the step of an expression is."""
        known = self.seen.get(id(expr))
        if known is None:
            known = self.seen[id(expr)] = self._new(expr)
        return known

    def _new(self, expr: ast.Expr) -> int:
        match expr:
            case ast.Number():
                return self._constant(expr)
            case ast.Unary(operator="-", operand=ast.Number(value=value, span=span)):
                return self._constant(ast.Number(-value, span=span))
            case ast.Name():
                return self._place(Step(CONSTANT, leaf=expr))
            case ast.Element(tensor=tensor):
                element = self._place(Step("", leaf=expr))
                cast = self.casts.get(tensor)
                return element if cast is None else self._apply(cast, element)
            case ast.Unary(operator=symbol, operand=operand):
                return self._apply(NEGATION if symbol == "-" else symbol, self.of(operand))
            case ast.Binary(operator=symbol, left=left, right=right):
                return self._apply(PRIMITIVE_OF_OPERATOR[symbol], self.of(left), self.of(right))
            case ast.Call(function=function, args=args):
                return self._call(function, [self.of(a) for a in args])
            case ast.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
                parts = self.of(condition), self.of(then)
                zero = ast.Number(0, span=span)
                other = self._constant(zero) if otherwise is None else self.of(otherwise)
                return self._apply(SELECTION, *parts, other)
            case ast.Attribute(name=name):  # no meaning has one: the checks refuse it
                return self._apply(name)

    def _call(self, function: str, arguments: list[int]) -> int:
        if function not in ("min", "max"):
            return self._apply(function, *arguments)
        result = arguments[0]
        for other in arguments[1:]:
            result = self._apply(function, result, other)
        return result

    def _constant(self, number: ast.Number) -> int:
        if number.value == 0 and math.copysign(1.0, number.value) < 0:  # is equal to 0, but another
            zero = ast.Number(0, span=number.span)
            return self._apply(NEGATION, self._place(Step(CONSTANT, leaf=zero)))
        return self._place(Step(CONSTANT, leaf=number))

    def _apply(self, primitive: str, *arguments: int) -> int:
        return self._place(Step(primitive, arguments))

    def _place(self, step: Step) -> int:
        return self.places.setdefault(step, len(self.places))
