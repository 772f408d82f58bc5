"""Syntax trees of expressions, rules and targets. Data only: parsing and checking are elsewhere.

Every node carries the span it was read from; spans take no part in equality, so that two texts
that mean the same compare equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from msgspec import Struct

from morello.language.diagnostics import Diagnostic
from morello.language.signed_zero import same_number
from morello.language.source import Span


class Node(Struct, frozen=True, kw_only=True, eq=False):
    """Anything that was read from a file."""

    span: Span

    def said(self) -> tuple[object, ...]:
        """The values of the fields that are not places, in the order of the fields."""
        return tuple([getattr(self, name) for name in fields_said(type(self))])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Node)
        return self.said() == other.said()

    def __hash__(self) -> int:
        return hash(self.said())

    def __repr__(self) -> str:
        said = (f"{name}={getattr(self, name)!r}" for name in fields_said(type(self)))
        return f"{type(self).__name__}({', '.join(said)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), *[getattr(self, n) for n in self.__struct_fields__])


def rebuilt(kind: type[Node], *values: Any) -> Node:
    """A node of a class with these values of its fields, in their order: how one is unpickled."""
    return kind(*values[:-1], span=values[-1])


PLACES = frozenset({"span", "name_span", "operator_span"})
"""Fields that say where a node was read."""


@cache
def fields_said(kind: type[Node]) -> tuple[str, ...]:
    """Names of the fields of a class of nodes that are not places."""
    return tuple(name for name in kind.__struct_fields__ if name not in PLACES)


# --------------------------------------------------------------------------- expressions


class Number(Node, frozen=True):
    """A number; a unit (``KiB``, ``MiB``, ``GiB``) is already multiplied in.

    -0.0 is another one than 0.0: nodes are compared to find texts that mean the same.
    """

    value: int | float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number):
            return NotImplemented
        return self.value is other.value or same_number(self.value, other.value)

    def __hash__(self) -> int:
        return hash(self.value)


class Name(Node, frozen=True):
    """A name: a variable, a dimension, a level, a coefficient."""

    id: str


class Attribute(Node, frozen=True):
    """``base.name``, such as ``X.level``."""

    base: Expr
    name: str


class Call(Node, frozen=True):
    """``function(args)``; functions are a fixed, documented list."""

    function: str
    args: tuple[Expr, ...]


class Unary(Node, frozen=True):
    """``-x`` (operator ``"-"``) or ``not x`` (operator ``"not"``)."""

    operator: str
    operand: Expr


class Binary(Node, frozen=True):
    """Arithmetic ``+ - * / // %``, comparison ``== != < <= > >=``, or logic ``and or``."""

    operator: str
    left: Expr
    right: Expr


class Conditional(Node, frozen=True):
    """``then if condition else otherwise``; without ``else`` it is 0."""

    then: Expr
    condition: Expr
    otherwise: Expr | None


class Element(Node, frozen=True):
    """``A[b..., m, h + r]``: an element of a tensor in an operator's meaning or declaration."""

    tensor: str
    indices: tuple[Index, ...]


class Subscripted(Node, frozen=True):
    """``x[i, 2 * j + 1]``: an element of a tensor in a spec, which no operator's meaning has."""

    tensor: str
    subscripts: tuple[Expr, ...]


class Computed(Node, frozen=True):
    """An expression that is computed in ``dtype``, whatever the type of what is around it.

    Graphs' statements have it, where operations of several types became one. It is not written.
    """

    value: Expr
    dtype: str


Factor = int | str
"""Of a dimension in an index: a number, or the name of a scalar."""

Expr = (
    Number
    | Name
    | Attribute
    | Call
    | Unary
    | Binary
    | Conditional
    | Element
    | Subscripted
    | Computed
)


class Index(Node, frozen=True):
    """One index of a tensor: a sum of dimensions with factors, or a group ``b...``.

    ``terms`` holds (dimension, factor) pairs, e.g. ``h + 2 * r`` is (("h", 1), ("r", 2)). A factor
    is a number or the name of a scalar. For a group, ``terms`` is ((group name, 1),) and ``group``
    is true. ``low`` and ``high`` are scalars or numbers, with factors, before and after the
    dimensions: elements that are not reached, of ``low + i + high``.
    """

    terms: tuple[tuple[str, Factor], ...]
    group: bool = False
    low: tuple[tuple[Factor, Factor], ...] = ()
    high: tuple[tuple[Factor, Factor], ...] = ()


# --------------------------------------------------------------------------- operators


class TensorParameter(Node, frozen=True):
    """``A: T[m, k]``. ``dtype`` is a dtype's name (``f32``) or a type variable (``T``)."""

    name: str
    dtype: str
    indices: tuple[Index, ...]


class Statement(Node, frozen=True):
    """``C[m, n] += value``. ``update`` is ``=``, ``+=``, ``max=`` or ``min=``.

    ``elsewhere`` is the value of elements that no index reaches.
    """

    target: Element
    update: str
    value: Expr
    elsewhere: Expr | None = None


class Scalar(Node, frozen=True):
    """``NAME`` or ``NAME = default`` among the scalars of an operator."""

    id: str
    default: Expr | None = None


class OperatorDecl(Node, frozen=True):
    """``op name(inputs; scalars) -> output [tileable names] [where sizes] { statements }``.

    ``sizes`` say what size a dimension has: ``size(r) == window``. Rules for any
    operation divide the dimensions ``tileable`` only, or all if none are named.
    """

    name: str
    name_span: Span
    doc: str
    inputs: tuple[TensorParameter, ...]
    scalars: tuple[Scalar, ...]
    output: TensorParameter
    statements: tuple[Statement, ...]
    sizes: tuple[Expr, ...] = ()
    tileable: tuple[Name, ...] = ()


# --------------------------------------------------------------------------- rules


class MatchOperator(Node, frozen=True):
    """``f: [parallel] [accumulating] (op | elementwise op | NAME) [except NAME, NAME]``.

    ``kind`` is ``"op"``, ``"elementwise"`` or ``"named"`` (then ``operator`` is its name).
    A flag that is absent does not constrain: ``f: op`` matches accumulating operators too.
    """

    variable: str
    kind: str
    operator: str | None
    accumulating: bool
    parallel: bool
    exceptions: tuple[Name, ...]


class MatchOperand(Node, frozen=True):
    """``X: operand of f``: tried for every operand. ``X: f.M``: the tensor of that name.

    ``kind`` is ``operand``, ``weight``, ``intermediate``, which is what a graph computes on the
    way, or ``member``.
    """

    variable: str
    owner: str
    kind: str
    member: str = ""


class Choice(Node, frozen=True):
    """``variable in domain``: the rule is tried for every value."""

    variable: str
    domain: Expr


class ForLoop(Node, frozen=True):
    """``[parallel | pipelined] for d step t { body }``: full tiles, then a tail of what is left.

    ``pipelined``: the last loop of each iteration runs with the first loop of the next one.
    """

    dimension: Expr
    step: Expr
    parallel: bool
    body: Block
    pipelined: bool = False


class Expanded(Node, frozen=True):
    """``expanded over d step t``: one for each step of a loop."""

    dimension: Expr
    step: Expr


class With(Node, frozen=True):
    """``with Y = X [expanded over d step t] at level [dtype D] [layout L] [vector V] { body }``.

    Without a layout, ``Y`` is ``X`` itself, now held by a cache: no buffer, no code. Without a
    dtype it has that of ``X``. ``expanded``: the buffer has one ``X`` for each step of a loop.
    """

    variable: str
    operand: str
    level: Expr
    dtype: Expr | None
    layout: Expr | None
    vector: Expr | None
    body: Block
    expanded: Expanded | None = None


class Reapply(Node, frozen=True):
    """``[accumulating] [serial] f [X := Y, ...] [without d] [if condition]``: the matched operator.

    ``part``: ``producing f[T := Y]`` is what of f computes the intermediate T, into Y, and
    ``consuming f[T := Y]`` the rest, which reads it there. None is all of f. ``without``: the
    dimension of a batch, of which there is one element, so that the operator has one less.
    """

    variable: str
    accumulating: bool
    serial: bool
    substitutions: tuple[tuple[str, str], ...]
    condition: Expr | None
    part: str | None = None
    without: Name | None = None


class View(Node, frozen=True):
    """``f.X[w, ci]``: an operand with those dimensions alone, in this order.

    The dimensions are the matched operator's; those that are left out have size 1. ``Y[w, ci]``
    is a buffer of an operand, seen so.
    """

    operand: Attribute | Name
    indices: tuple[Index, ...]


class Apply(Node, frozen=True):
    """``[prepack | ordered] [accumulating] copy(X, Y) [if condition]``: an operator by its name.

    Arguments are its operands, inputs first and the output last, then its scalars. An operand is
    a variable, ``f.out``, or a view. ``prepack``: once, before all calls. ``ordered``: by one
    thread after the other, in the order of a parallel loop's iterations.
    """

    prepack: bool
    ordered: bool
    accumulating: bool
    operator: str
    operator_span: Span
    arguments: tuple[Expr | View, ...]
    condition: Expr | None


YieldNode = ForLoop | With | Reapply | Apply


class Block(Node, frozen=True):
    """A sequence of steps, executed in order."""

    steps: tuple[YieldNode, ...]


class RuleDecl(Node, frozen=True):
    """A rewrite rule."""

    name: str
    name_span: Span
    doc: str
    match: MatchOperator
    operands: tuple[MatchOperand, ...]
    choices: tuple[Choice, ...]
    guards: tuple[Expr, ...]
    cost: Expr | None
    result: Block


Panel = int | tuple[int, int]
"""Panels as they are written: a width, or height and width."""


@dataclass(frozen=True, slots=True)
class RulesFile:
    """Everything that one ``.mrules`` file declares."""

    operators: tuple[OperatorDecl, ...]
    rules: tuple[RuleDecl, ...]
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False)
