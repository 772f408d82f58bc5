"""What a spec asks for: one operation on tensors of known sizes. Nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from morello.language.source import Span
from morello.spec.dtypes import DType
from morello.spec.layout import Layout
from morello.spec.operators import Operation


@dataclass(frozen=True, slots=True)
class GoalTensor:
    """A tensor of the spec.

    ``role`` is ``input``, ``weight`` or ``output``; ``shape`` is in elements by logical dimension;
    ``layout`` is how its elements lie in memory.
    """

    name: str
    role: str
    dtype: DType
    shape: tuple[int, ...]
    layout: Layout

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return self.layout.elements(self.shape) * self.dtype.bytes


@dataclass(frozen=True, slots=True)
class Goal:
    """A spec with every size known.

    Attributes:
        name: Name of the spec.
        operation: What is computed, with the values of its scalars.
        tensors: Tensors in the order of their declaration.
        operand_order: For each operand of the operation, inputs first and the output last, the
            index of its tensor in ``tensors``; two inputs may share one.
        sizes: Size of each iteration dimension, in the order of ``operation.dims``.
        threads: How many threads may share the work, 1 or more.
        target: Name of the target, if the file says one.
        declaration: Where the spec is declared.
    """

    name: str
    operation: Operation
    tensors: tuple[GoalTensor, ...]
    operand_order: tuple[int, ...]
    sizes: tuple[int, ...]
    threads: int
    target: str | None
    declaration: Span = field(compare=False, repr=False)

    @property
    def operands(self) -> tuple[GoalTensor, ...]:
        """The tensor of each operand of the operation, inputs first and the output last."""
        return tuple(self.tensors[i] for i in self.operand_order)

    @property
    def scalars(self) -> tuple[tuple[str, float], ...]:
        """Values of the operator's scalars, in the order of their declaration."""
        return self.operation.scalars
