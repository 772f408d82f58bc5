"""Syntax trees of expressions, rules and targets. Data only: parsing and checking are elsewhere.

Every node carries the span it was read from; spans take no part in equality, so that two texts
that mean the same compare equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from morello.language.diagnostics import Diagnostic
from morello.language.signed_zero import same_number
from morello.language.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything that was read from a file."""

    span: Span = field(compare=False, repr=False)


# --------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
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


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name: a variable, a dimension, a level, a coefficient."""

    id: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """``base.name``, such as ``X.level``."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``function(args)``; functions are a fixed, documented list."""

    function: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """``-x`` (operator ``"-"``) or ``not x`` (operator ``"not"``)."""

    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic ``+ - * / // %``, comparison ``== != < <= > >=``, or logic ``and or``."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``then if condition else otherwise``; without ``else`` it is 0."""

    then: Expr
    condition: Expr
    otherwise: Expr | None


@dataclass(frozen=True, slots=True)
class Element(Node):
    """``A[b..., m, h + r]``: an element of a tensor in an operator's meaning or declaration."""

    tensor: str
    indices: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Subscripted(Node):
    """``x[i, 2 * j + 1]``: an element of a tensor in a spec, which no operator's meaning has."""

    tensor: str
    subscripts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Computed(Node):
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


@dataclass(frozen=True, slots=True)
class Index(Node):
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


@dataclass(frozen=True, slots=True)
class TensorParameter(Node):
    """``A: T[m, k]``. ``dtype`` is a dtype's name (``f32``) or a type variable (``T``)."""

    name: str
    dtype: str
    indices: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """``C[m, n] += value``. ``update`` is ``=``, ``+=``, ``max=`` or ``min=``.

    ``elsewhere`` is the value of elements that no index reaches.
    """

    target: Element
    update: str
    value: Expr
    elsewhere: Expr | None = None


@dataclass(frozen=True, slots=True)
class OperatorDecl(Node):
    """``op name(inputs; scalars) -> output [tileable names] [where sizes] { statements }``.

    ``sizes`` say what size a dimension has: ``size(r) == window``. Rules for any
    operation divide the dimensions ``tileable`` only, or all if none are named.
    """

    name: str
    name_span: Span = field(compare=False, repr=False)
    doc: str
    inputs: tuple[TensorParameter, ...]
    scalars: tuple[Name, ...]
    output: TensorParameter
    statements: tuple[Statement, ...]
    sizes: tuple[Expr, ...] = ()
    tileable: tuple[Name, ...] = ()


# --------------------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class MatchOperator(Node):
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


@dataclass(frozen=True, slots=True)
class MatchOperand(Node):
    """``X: operand of f``: tried for every operand. ``X: f.M``: the tensor of that name.

    ``kind`` is ``operand``, ``weight``, ``intermediate``, which is what a graph computes on the
    way, or ``member``.
    """

    variable: str
    owner: str
    kind: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """``variable in domain``: the rule is tried for every value."""

    variable: str
    domain: Expr


@dataclass(frozen=True, slots=True)
class ForLoop(Node):
    """``[parallel | pipelined] for d step t { body }``: full tiles, then a tail of what is left.

    ``pipelined``: the last loop of each iteration runs with the first loop of the next one.
    """

    dimension: Expr
    step: Expr
    parallel: bool
    body: Block
    pipelined: bool = False


@dataclass(frozen=True, slots=True)
class Expanded(Node):
    """``expanded over d step t``: one for each step of a loop."""

    dimension: Expr
    step: Expr


@dataclass(frozen=True, slots=True)
class With(Node):
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


@dataclass(frozen=True, slots=True)
class Reapply(Node):
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


@dataclass(frozen=True, slots=True)
class View(Node):
    """``f.X[w, ci]``: an operand with those dimensions alone, in this order.

    The dimensions are the matched operator's; those that are left out have size 1.
    """

    operand: Attribute
    indices: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """``[prepack | ordered] [accumulating] copy(X, Y) [if condition]``: an operator by its name.

    Arguments are its operands, inputs first and the output last, then its scalars. An operand is
    a variable, ``f.out``, or a view. ``prepack``: once, before all calls. ``ordered``: by one
    thread after the other, in the order of a parallel loop's iterations.
    """

    prepack: bool
    ordered: bool
    accumulating: bool
    operator: str
    operator_span: Span = field(compare=False, repr=False)
    arguments: tuple[Expr | View, ...]
    condition: Expr | None


YieldNode = ForLoop | With | Reapply | Apply


@dataclass(frozen=True, slots=True)
class Block(Node):
    """A sequence of steps, executed in order."""

    steps: tuple[YieldNode, ...]


@dataclass(frozen=True, slots=True)
class RuleDecl(Node):
    """A rewrite rule."""

    name: str
    name_span: Span = field(compare=False, repr=False)
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
