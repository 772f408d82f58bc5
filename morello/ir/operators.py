"""Operators as the search sees them: iteration dimensions, operands, one defining statement.

An `Operator` is a checked declaration. An `Operation` is an operator at a concrete rank: the group
``b...`` has become ``b0, b1, ...``. Its dimensions are the coordinates of a Spec.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from morello.ir.numeric import AnySize
from morello.ir.scalars import Scalars
from morello.language import ast
from morello.language.signed_zero import is_negative_zero
from morello.language.source import Span


def size_name(dimension: str) -> str:
    """The scalar that stands for the size of a dimension."""
    return f"size({dimension})"


def sized_dimension(scalar: str) -> str | None:
    """The dimension whose size a scalar stands for; none if it is a declared one."""
    return scalar[len("size(") : -1] if scalar.endswith(")") else None


class Composed(Protocol):
    """What an operator asks of the graph that it stands for: `morello.ir.graphs.composition`.

    The nodes of a graph have operators, so that the module of graphs imports this one.
    """

    @property
    def complete(self) -> bool:
        """Whether the operator's statement says all that the graph computes."""
        ...

    @property
    def partly_tileable(self) -> bool:
        """Whether an operation of it says which of its dimensions may be divided."""
        ...

    @property
    def label(self) -> str:
        """Its operations as calls."""
        ...

    @property
    def intermediates(self) -> tuple[str, ...]:
        """Tensors that may be computed first."""
        ...

    @property
    def pinned(self) -> frozenset[str]:
        """Dimensions that no loop may divide."""
        ...

    @property
    def hides(self) -> bool:
        """Whether there are dimensions that index only what it computes on the way."""
        ...


@dataclass(frozen=True)
class Operator:
    """A checked operator declaration, or what a graph of several operations is as one operator.

    ``statement`` is all of the meaning, unless there is a ``composition`` that is not complete:
    then it is the last of several.

    ``scalars`` are those of the declaration, and then one for each dimension whose size the meaning
    asks for, `size_name`. That is the size of whole operands, also where the operator is applied to
    parts of them.

    ``parts`` are the operators of a declaration's statements, where it has more than one. Such an
    operator is never searched for itself: a spec that uses it has a node for each part.

    ``text``: what a statement of a spec says that is an operator in place; its name is for the
    compiler alone. ``seen_as``: a rule that says which declared operator it is, if operands are
    seen with their dimensions in another order.

    ``stated``: dimensions whose size is a number or the value of a scalar. Rules for
    any operation divide the dimensions ``tileable`` only, if any are named.
    """

    name: str
    doc: str
    inputs: tuple[ast.TensorParameter, ...]
    output: ast.TensorParameter
    scalars: tuple[str, ...]
    statement: ast.Statement
    declaration: ast.OperatorDecl = field(repr=False, compare=False)
    stated: tuple[tuple[str, ast.Factor], ...] = ()
    tileable: tuple[str, ...] = ()
    parts: tuple[Operator, ...] = ()
    composition: Composed | None = field(default=None, repr=False, compare=False)
    text: str = field(default="", repr=False, compare=False)
    seen_as: ast.RuleDecl | None = field(default=None, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash(self.name)  # that of the whole declaration takes longer than what is looked up

    @cached_property
    def sizes(self) -> tuple[str, ...]:
        """Dimensions whose size is one of the scalars."""
        return tuple(d for scalar in self.scalars if (d := sized_dimension(scalar)) is not None)

    @cached_property
    def given_scalars(self) -> tuple[str, ...]:
        """The scalars that whoever uses the operator gives, if they have no default."""
        return tuple(s for s in self.scalars if s not in map(size_name, self.sizes))

    @cached_property
    def defaults(self) -> dict[str, ast.Expr]:
        """What scalars are that are not given; made of the scalars before them."""
        declared = self.declaration.scalars
        return {s.id: s.default for s in declared if s.default is not None}

    @property
    def composite(self) -> bool:
        """Whether its statement is not all of its meaning: no kernel computes it as a whole."""
        if self.composition is None:
            return bool(self.parts)
        return not self.composition.complete

    @cached_property
    def partly_tileable(self) -> bool:
        """Whether it says, or a part of it does, which of its dimensions may be divided."""
        if self.composition is None:
            return bool(self.tileable)
        return self.composition.partly_tileable

    @cached_property
    def label(self) -> str:
        """What it is called where people read it; its name also tells it apart."""
        if self.composition is not None:
            return self.composition.label
        return f"{{{self.text}}}" if self.text else self.name

    @property
    def result_name(self) -> str:
        """What it computes is called so where nobody gives it a name."""
        return "statement" if self.text else self.name.replace(".", "_")

    @property
    def intermediates(self) -> tuple[str, ...]:
        """Tensors on the way that may be computed first."""
        return () if self.composition is None else self.composition.intermediates

    @property
    def parameters(self) -> tuple[ast.TensorParameter, ...]:
        """Inputs, then the output."""
        return (*self.inputs, self.output)

    @cached_property
    def _assigns_elements(self) -> bool:
        """Whether it assigns those of the one input, as they are."""
        return (
            len(self.inputs) == 1
            and not self.composite
            and self.statement.update == "="
            and isinstance(self.statement.value, ast.Element)
        )

    @property
    def moves(self) -> bool:
        """Whether it only moves elements of the one input, to all of the output."""
        return self._assigns_elements and self.statement.elsewhere is None

    @cached_property
    def slices(self) -> bool:
        """Whether it only moves elements, those between margins of the one input."""
        return self.moves and any(i.low or i.high for i in self.inputs[0].indices)

    @property
    def frames(self) -> bool:
        """Whether it only moves elements, those of the one input to between margins."""
        return self._assigns_elements and self.statement.elsewhere is not None

    @property
    def copies(self) -> bool:
        """Whether the output is the one input, element by element."""
        return self.moves and self.elementwise

    @property
    def reduction(self) -> str | None:
        """``+``, ``max``, ``min``, or none where every output element has one contribution."""
        return None if self.statement.update == "=" else self.statement.update.removesuffix("=")

    @cached_property
    def least(self) -> Mapping[str, int]:
        """Scalars that have to be whole numbers, as they are in indices or sizes: the least each.

        A factor or a size is at least 1; what only shifts an index may be 0.
        """
        indices = [i for p in self.parameters for i in p.indices]
        terms = [t for i in indices for t in (*i.low, *i.high)]
        factors = [f for _, f in (*terms, *(t for i in indices for t in i.terms), *self.stated)]
        found = dict.fromkeys((name for name, _ in terms if isinstance(name, str)), 0)
        return found | dict.fromkeys((f for f in factors if isinstance(f, str)), 1)

    @cached_property
    def group(self) -> str | None:
        """Name of the group of dimensions (``b`` of ``b...``), if the declaration has one."""
        return next((i.terms[0][0] for p in self.parameters for i in p.indices if i.group), None)

    @cached_property
    def elementwise(self) -> bool:
        """Whether every operand is indexed alike: one output element per iteration."""
        alike = all(p.indices == self.output.indices for p in self.inputs)
        return self.reduction is None and alike and not self.composite

    def group_rank(self, ranks: tuple[int, ...]) -> int | None:
        """Rank of the group that makes the parameters have these ranks; none if none does.

        Ranks of the last ones may be left out.
        """
        found: set[int] = set()
        for parameter, rank in zip(self.parameters, ranks, strict=False):
            single = sum(not i.group for i in parameter.indices)
            if any(i.group for i in parameter.indices):
                found.add(rank - single)
            elif rank != single:
                return None
        if len(found) > 1 or any(r < 0 for r in found):
            return None
        return found.pop() if found else 0


LARGEST_SCALAR = 1 << 24
"""Of those that are whole numbers, in indices or sizes: what a tensor can have elements."""


def is_whole(value: float, least: int) -> bool:
    """Whether a scalar may stand in an index or be a size."""
    return bool(least <= value <= LARGEST_SCALAR and value == int(value))


@dataclass(frozen=True)
class OperandIndex:
    """One index of an operand: a sum of (dimension, factor).

    It begins at ``low``, and ``high`` elements lie beyond its end.
    """

    terms: tuple[tuple[str, int], ...]
    low: int = 0
    high: int = 0

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The dimensions that it is a sum of."""
        return tuple(dim for dim, _ in self.terms)

    @cached_property
    def alone(self) -> str | None:
        """The dimension that it is, if it is no sum and has no factor and no margins."""
        if len(self.terms) != 1 or self.margins:
            return None
        [(dim, factor)] = self.terms
        return dim if factor == 1 else None

    def inner(self, single: Collection[str]) -> tuple[str, ...]:
        """Of a sum that goes through rows one after the other: all dimensions but the outermost.

        A tile along one of them is no piece of what is indexed. ``single``: dimensions of size 1,
        which go through nothing.
        """
        if len(self.terms) <= 1:
            return ()
        terms = [(dim, factor) for dim, factor in self.terms if dim not in single]
        outermost = max((factor for _, factor in terms), default=0)
        outer = [dim for dim, factor in terms if factor == outermost]
        return tuple(d for d in self.dims if [d] != outer)

    def written(self, span: Span) -> ast.Index:
        """As an index of a declaration, with numbers."""
        low, high = (((n, 1),) if n else () for n in (self.low, self.high))
        return ast.Index(self.terms, low=low, high=high, span=span)

    @property
    def margins(self) -> int:
        """How many elements it does not reach at both ends."""
        return self.low + self.high

    def extent(self, sizes: Mapping[str, AnySize]) -> AnySize:
        """How many elements there are where dimensions have these sizes, numbers or arrays."""
        if self.alone is not None:
            return sizes[self.alone]
        return 1 + self.margins + sum(factor * (sizes[dim] - 1) for dim, factor in self.terms)


IDENTITIES: dict[str, float] = {"+": 0.0, "max": float("-inf"), "min": float("inf")}


@dataclass(frozen=True)
class Operation:
    """An operator at a concrete rank, plain or accumulating, with its scalars' values.

    ``dims`` are the iteration dimensions in order: those of the output, then the reduced ones.
    """

    operator: Operator = field(repr=False)
    group_rank: int
    accumulating: bool = False
    scalars: Scalars = ()

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What tells two operations apart, in an order that does not depend on object identity."""
        return (self.operator.name, self.group_rank, self.accumulating, self.exact_scalars)

    @cached_property
    def exact_scalars(self) -> tuple[tuple[str, float, bool], ...]:
        """Scalars, and whether each is -0.0, which is equal to 0.0 and another number."""
        return tuple((name, value, is_negative_zero(value)) for name, value in self.scalars)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and self.key == other.key

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return ("accumulating " if self.accumulating else "") + self.operator.label

    def expand(self, indices: Iterable[ast.Index]) -> tuple[OperandIndex, ...]:
        """Indices as they are written, at this rank and with the values of the scalars."""
        result: list[OperandIndex] = []
        for index in indices:
            if index.group:
                name = index.terms[0][0]
                result += [OperandIndex(((f"{name}{i}", 1),)) for i in range(self.group_rank)]
            else:
                terms = tuple((dim, self._whole(factor)) for dim, factor in index.terms)
                low, high = (
                    sum(self._whole(name) * self._whole(factor) for name, factor in margin)
                    for margin in (index.low, index.high)
                )
                result.append(OperandIndex(terms, low, high))
        return tuple(result)

    def _whole(self, factor: ast.Factor) -> int:
        return factor if isinstance(factor, int) else int(self.values[factor])

    def with_scalars(self, scalars: Scalars) -> Operation:
        """The same with other values of its scalars, itself where they are as they were."""
        if scalars == self.scalars:
            return self
        return Operation(self.operator, self.group_rank, self.accumulating, scalars)

    @cached_property
    def values(self) -> Mapping[str, float]:
        """Values of the scalars by name."""
        return dict(self.scalars)

    @cached_property
    def stated(self) -> tuple[tuple[str, int], ...]:
        """Dimensions whose size the declaration states, with that of whole operands."""
        return tuple((dim, self._whole(size)) for dim, size in self.operator.stated)

    @cached_property
    def operands(self) -> tuple[tuple[OperandIndex, ...], ...]:
        """Indices of each operand, inputs first, output last."""
        return tuple(self.expand(p.indices) for p in self.operator.parameters)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the operands as declared."""
        return tuple(p.name for p in self.operator.parameters)

    @cached_property
    def group_dims(self) -> tuple[str, ...]:
        """Those that the declaration's group stands for here."""
        return tuple(f"{self.operator.group}{i}" for i in range(self.group_rank))

    @cached_property
    def output_dims(self) -> tuple[str, ...]:
        """Dimensions that index the output."""
        return tuple(dict.fromkeys(d for i in self.operands[-1] for d, _ in i.terms))

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """All iteration dimensions."""
        every = (d for o in (self.operands[-1], *self.operands[:-1]) for i in o for d, _ in i.terms)
        return tuple(dict.fromkeys(every))

    @cached_property
    def reduced_dims(self) -> tuple[str, ...]:
        """Dimensions that do not index the output."""
        return tuple(d for d in self.dims if d not in self.output_dims)

    def writes(self, operand: int) -> bool:
        """Whether the operand at this position is written: the output is."""
        return operand == len(self.operands) - 1

    def reads(self, operand: int) -> bool:
        """Whether its old contents matter: inputs, and the output of an accumulating operation."""
        return not self.writes(operand) or self.accumulating

    @cached_property
    def framed(self) -> bool:
        """Whether the output has margins."""
        return any(index.margins for index in self.operands[-1])

    @cached_property
    def merges(self) -> bool:
        """Whether a dimension of the output goes through rows of several."""
        return any(len(index.terms) > 1 for index in self.operands[-1])

    @cached_property
    def whole_dims(self) -> frozenset[str]:
        """Dimensions that no loop may divide.

        Those that a graph's nodes need whole; those along which the output has margins, since a
        part of it would have them too; and those that go through the rows of the output, of which a
        part is in many pieces.
        """
        composition = self.operator.composition
        pinned = frozenset[str]() if composition is None else composition.pinned
        output = self.operands[-1]
        return pinned.union(
            d for i in output for d in (i.dims if i.margins else i.inner(self.single_dims))
        )

    @cached_property
    def single_dims(self) -> frozenset[str]:
        """Dimensions that the declaration says are of size 1."""
        return frozenset(dim for dim, size in self.stated if size == 1)

    @cached_property
    def divisible_dims(self) -> tuple[str, ...]:
        """Dimensions that rules for any operation may divide."""
        named = self.operator.tileable or self.dims
        return tuple(d for d in self.dims if d in named and d not in self.whole_dims)

    @property
    def partly_tileable(self) -> bool:
        """Whether the operator is: `Operator.partly_tileable`."""
        return self.operator.partly_tileable

    @cached_property
    def hides(self) -> bool:
        """Whether a graph has dimensions that index only what it computes on the way."""
        composition = self.operator.composition
        return composition is not None and composition.hides

    @cached_property
    def structure(self) -> tuple[object, ...]:
        """How dimensions index operands, the same whatever their names are.

        Of an operation with hidden dimensions it is that operation.
        """
        place = {dim: position for position, dim in enumerate(self.dims)}
        indexed = tuple(
            tuple(
                (tuple((place[d], factor) for d, factor in index.terms), index.low, index.high)
                for index in access
            )
            for access in self.operands
        )
        return (indexed, self.key if self.hides else None)

    @property
    def identity(self) -> float | None:
        """The value that accumulation starts from."""
        reduction = self.operator.reduction
        return None if reduction is None else IDENTITIES[reduction]
