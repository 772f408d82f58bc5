"""Names of the primitives that an operator's meaning is made of, and the steps in which it is.

A target declares how it writes each of them for a dtype with so many lanes. The engine asks which
ones a meaning needs; an emitter writes them. Both take the names, and the steps, from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from morello.ir.dtypes import DTYPES
from morello.ir.operators import Operator
from morello.language import ast
from morello.language.functions import ARITHMETIC
from morello.language.traverse import children

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

ADD, MULTIPLY = PRIMITIVE_OF_OPERATOR["+"], PRIMITIVE_OF_OPERATOR["*"]

MULTIPLY_ADD = "fma"
"""Two factors, and what is added to their product before that is rounded."""

MULTIPLY_THEN_ADD = "multiply_add"
"""In templates: `MULTIPLY_ADD` where the target has it, or else a product and a sum."""

EXCHANGES = "exchanges"
"""In templates: what `exchanges` names, one after the other."""

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

EVERY_SECOND, IN_ORDER = "every_second", "in_order"
"""Lanes 0, 2, 4, ... of one vector, and lanes 1, 3, 5, ... of another, in any order; and these in
order, those of the first one first.

Of two that begin so many elements apart as they have lanes, less one, they are every second element
of a row, and nothing behind the last of them is loaded.
"""

FIRST_LANE = "first_lane"
"""As one element."""


def exchanges(lanes: int) -> list[str]:
    """Primitives that exchange halves, quarters, ... of so many lanes: lane i becomes i xor k.

    A vector that is combined with what each of them makes of it holds the sum of all lanes.
    """
    return [f"exchange_{1 << bit}" for bit in reversed(range(lanes.bit_length() - 1))]


STREAM, FENCE = "stream", "fence"
"""To a pointer that is aligned, past the caches; and what makes others see all that was."""

PREFETCH = "prefetch"
"""Begins to fetch the line at an address, of which nothing is known. It may be missing."""

HOLD = "hold"
"""A statement after which C compilers keep a variable in its register. It may be missing.

gcc (12) otherwise loads a vector again at each of its uses: where most loads cross lines, kernels
take twice as long (measured on a Zen 5).
"""

ROW_PRIMITIVES = (
    LOAD,
    STORE,
    LOAD_FIRST,
    STORE_FIRST,
    SELECT_FIRST,
    EVERY_SECOND,
    IN_ORDER,
    FIRST_LANE,
    STREAM,
    FENCE,
)


def update_primitive(operator: Operator) -> str | None:
    """What a reduction combines two values with; none without a reduction."""
    reduction = operator.reduction
    return None if reduction is None else PRIMITIVE_OF_OPERATOR.get(reduction, reduction)


CONDITIONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "and", "or", "not"}
)
"""Primitives whose result is a condition."""

SHIFTS = ("shift_left", "shift_right")
"""Their second argument is a number, which becomes a part of the primitive's name."""


def entry_of(primitive: str) -> str:
    """The entry of a target that says how a primitive is written."""
    kind = primitive.rpartition("_")[0]
    return kind if kind in SHIFTS else primitive


BITS = {"bits_s32": ("s32", "f32"), "bits_f32": ("f32", "s32")}
"""Element types of the result and of the argument, whose bits it is."""

_ARGUMENTS = {
    **dict.fromkeys((TYPE, TRUTH, FENCE), 0),
    **dict.fromkeys((CONSTANT, NEGATION, "not", LOAD, IN_ORDER, FIRST_LANE, PREFETCH, HOLD), 1),
    **dict.fromkeys(
        (*PRIMITIVE_OF_OPERATOR.values(), *SHIFTS, STORE, LOAD_FIRST, EVERY_SECOND, STREAM), 2
    ),
    **dict.fromkeys((SELECTION, MULTIPLY_ADD, STORE_FIRST, SELECT_FIRST), 3),
    **dict.fromkeys((*BITS, *(f"cast_{dtype}" for dtype in DTYPES)), 1),
    **{name: len(signature.arguments) for name, signature in ARITHMETIC.items()},
}


def arguments_by_primitive(lanes: int) -> dict[str, int]:
    """All primitives of so many lanes, and how many arguments the text of each has."""
    return {**_ARGUMENTS, **dict.fromkeys(exchanges(lanes), 1)}


FUNCTION_ULPS: Mapping[str, float] = {
    "exp": 1.2,
    "log": 1.0,
    "log1p": 1.5,
    "expm1": 2.0,
    "tanh": 3.0,
    "erf": 3.0,
    "erfc": 8.0,
    "sin": 1.5,
    "cos": 1.5,
    "atan": 1.5,
}
"""How far from the exact value a target may compute a function, in units in the last place.

That is the distance from the value to its neighbour, 2^(e - p) for one of 2^e to 2^(e + 1) in a
type of p + 1 bits, and the smallest positive number for values below the smallest normal one.
Functions that are not here, and all arithmetic, are rounded correctly: half a unit. Arguments are
taken as they are.
"""


class Step(Struct, frozen=True):
    """One value on the way to a meaning's: a primitive of earlier ones, or what it begins with.

    ``dtype``: its element type; of a condition, that of what is compared. ``primitive`` is empty
    for an element. ``arguments`` are positions of earlier steps. ``leaf`` is the element, or the
    number or the scalar of a constant.
    """

    dtype: str
    primitive: str
    arguments: tuple[int, ...] = ()
    leaf: ast.Element | ast.Name | ast.Number | None = None

    @property
    def condition(self) -> bool:
        """Whether the value is a truth."""
        return self.primitive in CONDITIONS


CAST = "cast_"
"""Primitives of this prefix convert, from the element type that is named after it."""


def steps(
    expr: ast.Expr, dtype: str = "", dtypes: Mapping[str, str] | None = None
) -> tuple[Step, ...]:
    """The steps of an expression, each after those that it needs; its value is the last one.

    Equal subexpressions of one type are one step, wherever they stand.

    Args:
        expr: The value of an operator's statement.
        dtype: The element type that it is computed in, apart from parts that say theirs.
        dtypes: Those of tensors, by name; of others elements are as what is around them.
    """
    writer = _Steps(dtypes or {})
    writer.of(expr, dtype)
    return tuple(writer.places)


def named_steps(
    expr: ast.Expr, dtype: str, dtypes: Mapping[str, str], named: Mapping[str, ast.Expr]
) -> tuple[tuple[Step, ...], Mapping[int, str]]:
    """The same, and which of them are the values of parts of the expression that have names.

    A part that is an element or a constant keeps no name, nor one that is like an earlier one.
    """
    writer = _Steps(dtypes)
    writer.of(expr, dtype)
    names = {id(part): name for name, part in named.items()}
    found: dict[int, str] = {}
    for (part, _), place in writer.seen.items():
        if part in names:
            found.setdefault(place, names[part])
    every = tuple(writer.places)
    return every, {p: name for p, name in found.items() if every[p].leaf is None}


def primitives_in(
    expr: ast.Expr, dtype: str = "", dtypes: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Element type and primitive of every step of `steps`; `TRUTH` once, if there are conditions.

    Args:
        expr: As for `steps`.
        dtype: As for `steps`.
        dtypes: As for `steps`.
    """
    found = steps(expr, dtype, dtypes)
    yield from ((step.dtype, step.primitive) for step in found if step.primitive)
    yield from dict.fromkeys((step.dtype, TRUTH) for step in found if step.condition)


def adds_product(found: Sequence[Step], update: str | None) -> bool:
    """Whether a reduction adds a value that is a product: `MULTIPLY_ADD` does both."""
    return update == ADD and found[-1].primitive == MULTIPLY


class _Steps(Struct, frozen=True):
    """Numbers the values of an expression. ``places`` is ordered, and tells where a step is."""

    dtypes: Mapping[str, str]
    places: dict[Step, int] = field(default_factory=dict)
    # By identity, since a tree may share its parts, and by the type that they are computed in.
    seen: dict[tuple[int, str], int] = field(default_factory=dict)

    def of(self, expr: ast.Expr, dtype: str) -> int:
        """Where the step of an expression is."""
        key = (id(expr), dtype)
        known = self.seen.get(key)
        if known is None:
            known = self.seen[key] = self._new(expr, dtype)
        return known

    def _new(self, expr: ast.Expr, dtype: str) -> int:
        match expr:
            case ast.Unary(operator="-", operand=ast.Number(value=value, span=span)):
                return self._constant(dtype, ast.Number(-value, span=span))
            case ast.Number() | ast.Name():
                return self._constant(dtype, expr)
            case ast.Element(tensor=tensor):
                own = self.dtypes.get(tensor, dtype)
                return self._converted(self._place(Step(own, "", leaf=expr)), own, dtype)
            case ast.Computed(value=value, dtype=own):
                return self._converted(self.of(value, own), own, dtype)
            case ast.Call(function=function, args=(value,)) if function in BITS:
                own, source = BITS[function]
                bits = self._apply(own, function, self.of(value, source))
                return self._converted(bits, own, dtype)
            case ast.Call(function=function, args=(value, ast.Number(value=count))) if (
                function in SHIFTS
            ):
                return self._apply(dtype, f"{function}_{int(count)}", self.of(value, dtype))
            case ast.Conditional(then=then, condition=condition, otherwise=otherwise, span=span):
                parts = self.of(condition, dtype), self.of(then, dtype)
                zero = ast.Number(0, span=span)
                other = (
                    self._constant(dtype, zero) if otherwise is None else self.of(otherwise, dtype)
                )
                return self._apply(dtype, SELECTION, *parts, other)
            case ast.Call(function="min" | "max" as function, args=(first, *others)):
                result = self.of(first, dtype)
                for argument in others:
                    result = self._apply(dtype, function, result, self.of(argument, dtype))
                return result
        return self._apply(dtype, _primitive(expr), *(self.of(p, dtype) for p in children(expr)))

    def _converted(self, step: int, dtype: str, wanted: str) -> int:
        return step if dtype == wanted else self._apply(wanted, f"{CAST}{dtype}", step)

    def _constant(self, dtype: str, leaf: ast.Number | ast.Name) -> int:
        return self._place(Step(dtype, CONSTANT, leaf=leaf))

    def _apply(self, dtype: str, primitive: str, *arguments: int) -> int:
        return self._place(Step(dtype, primitive, arguments))

    def _place(self, step: Step) -> int:
        return self.places.setdefault(step, len(self.places))


def _primitive(expr: ast.Expr) -> str:
    """What an expression does to its operands."""
    match expr:
        case ast.Unary(operator=symbol):
            return NEGATION if symbol == "-" else symbol
        case ast.Binary(operator=symbol):
            return PRIMITIVE_OF_OPERATOR[symbol]
        case ast.Call(function=function):
            return function
    raise AssertionError(f"no meaning has {expr}: the checks refuse it")
