"""What a spec asks for: operations on tensors of known sizes. Nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.layout import Axis, Layout
from morello.ir.operators import Operation
from morello.language.source import Span


class GoalTensor(Struct, frozen=True):
    """A tensor of the spec.

    ``role`` is ``input``, ``weight``, ``output``, ``local`` or ``positions``; ``shape`` is in
    elements by logical dimension; ``layout`` is how its elements lie in memory. Of role
    ``positions`` is a row of the whole numbers from 0 on, which nobody passes. Of role ``part`` is
    what one of several statements computes of ``whole``, and of role ``view`` what is read of it:
    elements from ``lows`` on, along ``axes``, one for each dimension; along all other dimensions
    of the whole there is one element.
    """

    name: str
    role: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout
    whole: GoalTensor | None = None
    lows: tuple[int, ...] = ()
    axes: tuple[Axis, ...] = ()

    @property
    def along(self) -> tuple[Axis, ...]:
        """What each dimension runs along: of no part or view, itself."""
        return self.axes or tuple(map(Axis, range(len(self.shape))))

    @property
    def starts(self) -> tuple[int, ...]:
        """Where it begins along each dimension of the whole, or of itself."""
        return self.lows or (0,) * len((self.whole or self).shape)

    @property
    def box(self) -> tuple[int, ...]:
        """How far it reaches along each dimension of the whole, from its first element on."""
        assert self.whole is not None
        sizes = [1] * len(self.whole.shape)
        for axis, size in zip(self.axes, self.shape, strict=True):
            sizes[axis.dimension] += axis.step * (size - 1)
        return tuple(sizes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension."""
        if self.whole is None:
            return self.layout.strides(self.shape)
        strides = self.whole.layout.strides(self.whole.shape)
        return tuple(axis.step * strides[axis.dimension] for axis in self.axes)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return self.layout.elements(self.shape) * self.dtype.bytes

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{list(self.shape)}"


class Lookup(Struct, frozen=True):
    """Parts of a table, each by an index that is data.

    One that lies outside of the table is the nearest one inside. ``output`` has the dimensions of
    ``table``, and in the place of ``axis`` those of ``indices``. Both are arguments.
    """

    output: GoalTensor
    table: GoalTensor
    indices: GoalTensor
    axis: int


class Computation(Struct, frozen=True):
    """One operation of a goal, on whole tensors.

    Attributes:
        operation: What is computed, with the values of its scalars.
        operands: The tensor of each operand of the operation, inputs first and the output last; two
            inputs may be one tensor.
        sizes: Size of each iteration dimension, in the order of ``operation.dims``.
    """

    operation: Operation
    operands: tuple[GoalTensor, ...]
    sizes: tuple[int, ...]

    @property
    def inputs(self) -> tuple[GoalTensor, ...]:
        """What is read, in the order of the operands."""
        return self.operands[:-1]

    @property
    def output(self) -> GoalTensor:
        """What is computed."""
        return self.operands[-1]


class RowsOf(Struct, frozen=True):
    """An argument whose rows a call brings: that dimension, the slowest in memory, is ``axis``.

    ``apart``: elements from one row to the next.
    """

    name: str
    axis: int
    apart: int


class RunTimeSize(Struct, frozen=True):
    """A size that each call brings, of rows that are computed apart from each other.

    ``limit``: the most that it may be.
    """

    name: str
    limit: int
    rows: tuple[RowsOf, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """A spec with every size known.

    Attributes:
        name: Name of the spec.
        computations: What computes the outputs, and the locals that several of these computations
            read, in an order in which each tensor is computed before it is read.
        tensors: Inputs, weights and outputs in the order of their declaration, then positions, and
            such locals; of parts, that of which they are parts; and what is looked up.
        lookups: What is looked up before all that is computed.
        written: What is computed, as the spec says it: a statement a line, and the values of the
            parameters that these name.
        at_run_time: The size that calls bring, if there is one; sizes here are those of its limit.
        threads: How many threads may share the work, 1 or more.
        target: Name of the target, if the file says one.
        declaration: Where the spec is declared.
    """

    name: str
    computations: tuple[Computation, ...]
    tensors: tuple[GoalTensor, ...]
    threads: int
    target: str | None
    declaration: Span = field(compare=False, repr=False)
    lookups: tuple[Lookup, ...] = ()
    written: tuple[str, ...] = field(default=(), compare=False, repr=False)
    at_run_time: RunTimeSize | None = None

    @property
    def outputs(self) -> tuple[GoalTensor, ...]:
        """What callers get, in the order of their declaration."""
        return tuple(t for t in self.tensors if t.role == "output")
