"""Specs: what is to be computed, on operands at which levels, with how much memory in use.

A Spec splits in three. Its *family* says what it is made of: the operation and, per operand, dtype,
level, order of the dimensions and vector width; what rules do with it follows from that. How its
operands are *packed* in memory depends on sizes, and makes a difference to costs and to the kernels
that can read them: a family packed in one way is a *variant*. Its *coordinates* are the size of
every iteration dimension, and how much of every bounded level is in use. Rules apply to a variant
and a whole box of coordinates at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict, Unpack

from morello.ir.dtypes import DType
from morello.ir.layout import Order, contiguity, packed, paged, panel, panel_text
from morello.ir.operators import Operation
from morello.ir.target import Level, Target
from morello.records import replace


class OperandChanges(TypedDict, total=False):
    """Fields of an operand that are to be others."""

    dtype: DType
    level: Level
    order: Order
    vector: int
    weight: bool
    aliased: bool


@dataclass(frozen=True)
class Operand:
    """What an operand is and where.

    ``order`` is that of its layout; ``vector`` the register width in bytes, 0 in memory. A
    ``weight`` is a whole argument that is the same in all calls, so that it may be packed ahead. An
    ``aliased`` input lies where the output does, element for element: writing one ends the other.
    """

    dtype: DType
    level: Level
    order: Order
    vector: int = 0
    weight: bool = False
    aliased: bool = False

    @cached_property
    def key(self) -> tuple[object, ...]:
        """A total order over operands that does not depend on object identity."""
        return (
            self.dtype.name,
            -self.level.distance,
            self.level.name,
            self.order,
            self.vector,
            self.weight,
            self.aliased,
        )

    @property
    def marks(self) -> str:
        """What it is marked as, in texts."""
        return " weight" * self.weight + " aliased" * self.aliased

    @property
    def lanes(self) -> int:
        """Elements in one register."""
        return self.vector // self.dtype.bytes

    @property
    def addressable(self) -> bool:
        """Whether it is in memory."""
        return self.level.addressable

    def moves_lines(self, target: Target) -> bool:
        """Whether anything asks how it lies in memory."""
        return target.moves_lines_from(self.level)

    def changed(self, **changes: Unpack[OperandChanges]) -> Operand:
        """The same with some fields changed, itself where they are as they were."""
        if all(getattr(self, name) == value for name, value in changes.items()):
            return self
        return replace(self, **changes)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        text = f"{self.dtype} {self.level}{self.marks}"
        if self.order != tuple(range(len(self.order))):
            text += f" layout {self.order}"
        return f"{text} vector {self.vector}" if self.vector else text


@dataclass(frozen=True)
class Family:
    """What a Spec is made of. ``threads`` > 1: the work may be divided."""

    operation: Operation
    operands: tuple[Operand, ...]
    threads: int = 1

    @cached_property
    def key(self) -> tuple[object, ...]:
        """A total order over families."""
        return (self.operation.key, self.threads, tuple(o.key for o in self.operands))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def variant(self, packing: tuple[int, ...]) -> Variant:
        """With its operands packed like this; of one family always the same object."""
        found = self._variants.get(packing)
        if found is None:
            found = self._variants[packing] = Variant(self, packing)
        return found

    @cached_property
    def _variants(self) -> dict[tuple[int, ...], Variant]:
        return {}

    def with_operand(self, position: int, operand: Operand) -> Family:
        """The same family with one operand exchanged."""
        operands = (*self.operands[:position], operand, *self.operands[position + 1 :])
        return replace(self, operands=operands)

    def __str__(self) -> str:
        return self.text(str(self.operation), list(map(str, self.operands)))

    def text(self, operation: str, operands: Sequence[str]) -> str:
        """The family, its operation and operands written like this."""
        parts = ", ".join(f"{n}: {o}" for n, o in zip(self.operation.names, operands, strict=True))
        threads = f" threads {self.threads}" if self.threads > 1 else ""
        return f"{operation}({parts}){threads}"


@dataclass(frozen=True)
class Variant:
    """A family, its operands packed in one way: see `morello.ir.layout`."""

    family: Family
    packing: tuple[int, ...]

    @cached_property
    def key(self) -> tuple[object, ...]:
        """A total order over variants."""
        return (self.family.key, self.packing)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def operand_text(self, position: int) -> str:
        """An operand with how it is packed, if that is not whole."""
        operand, packing = self.family.operands[position], self.packing[position]
        panels = panel(packing)
        text = f"{operand} panels {panel_text(panels)}" if panels else str(operand)
        if packing == packed(len(operand.order), panels):
            return text
        return f"{text} {'paged' if paged(packing) else 'packed'} {contiguity(packing)}"

    def __str__(self) -> str:
        operands = [self.operand_text(p) for p in range(len(self.packing))]
        return self.family.text(str(self.family.operation), operands)


@dataclass(frozen=True)
class Spec:
    """A family, how its operands are packed, and coordinates.

    ``sizes`` holds the size of each iteration dimension, in the operation's order; ``used`` the
    capacity units in use of every bounded level of the target, nearest first.
    """

    family: Family
    sizes: tuple[int, ...]
    used: tuple[int, ...]
    packing: tuple[int, ...]

    @property
    def variant(self) -> Variant:
        """The Spec without its coordinates."""
        return self.family.variant(self.packing)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """All of them, in the order of a table's axes."""
        return (*self.sizes, *self.used)

    def extents(self, position: int) -> tuple[int, ...]:
        """Shape of the operand at this position."""
        size = dict(zip(self.family.operation.dims, self.sizes, strict=True))
        return tuple(i.extent(size) for i in self.family.operation.operands[position])

    def __str__(self) -> str:
        dims = ", ".join(
            f"{d}={n}" for d, n in zip(self.family.operation.dims, self.sizes, strict=True)
        )
        return f"{self.variant} [{dims}]"
