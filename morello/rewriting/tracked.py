"""Operations and operands that record what is read of them.

A tracked operand, packing or operation stands for that of one variant, and records each property
that is read. A result that was computed with it holds for all variants with the same values of the
recorded properties. What is only handed on is not read: the packing of a sub-Spec's operand may be
tracked too, and then stands for that of each variant which shares the result.

How dimensions index operands is not tracked (`Operation.structure`): variants that share a result
have it in common. Names of dimensions and operands may differ, so a result must be free of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self, Unpack, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from morello.ir.dtypes import DType
from morello.ir.layout import PANEL_SHIFT, Order, panel
from morello.ir.numeric import Array
from morello.ir.operators import Operation, Operator
from morello.ir.scalars import Scalars
from morello.ir.spec import Family, Operand, OperandChanges, Variant
from morello.ir.target import Level, Target

Property = tuple[int, str]
"""The position of an operand, and the property read: one of `OF_OPERANDS`; or `OPERATION`, and one
of `OF_OPERATIONS`."""

OPERATION = -1
"""In the place of an operand's position: the property is one of the operation."""

OF_OPERATIONS: dict[str, Callable[[Operation], object]] = {
    "accumulating": lambda operation: operation.accumulating,
    "partly_tileable": lambda operation: operation.partly_tileable,
    "itself": lambda operation: operation.key,
}
"""The properties of an operation, by name."""

OF_OPERANDS: dict[str, Callable[[Target, Operand, int], object]] = {
    "dtype": lambda _, operand, __: operand.dtype.name,
    "level": lambda _, operand, __: operand.level.name,
    "addressable": lambda _, operand, __: operand.addressable,
    "lines": lambda target, operand, _: operand.moves_lines(target),
    "order": lambda _, operand, __: operand.order,
    "vector": lambda _, operand, __: operand.vector,
    "weight": lambda _, operand, __: operand.weight,
    "aliased": lambda _, operand, __: operand.aliased,
    "packing": lambda _, __, packing: packing,
    "panel": lambda _, __, packing: panel(packing),
}
"""The properties of an operand of a target, packed in this way, by name."""


def property_values(
    target: Target, variant: Variant, properties: Iterable[Property]
) -> tuple[object, ...]:
    """The values of these properties for a variant's operation and operands."""
    family, packing = variant.family, variant.packing
    return tuple(
        OF_OPERATIONS[what](family.operation)
        if position == OPERATION
        else OF_OPERANDS[what](target, family.operands[position], packing[position])
        for position, what in properties
    )


class TrackedOperation(Operation):
    """An operation that records what is read of it, but for its structure."""

    _own: Operation
    _read: set[Property]

    def __init__(self, own: Operation, read: set[Property]) -> None:
        self.__dict__.update(_own=own, _read=read)
        structure = ("names", "operands", "dims", "output_dims", "reduced_dims", "hides")
        self.__dict__.update({name: getattr(own, name) for name in structure})

    def _value(self, what: str) -> Operation:
        self._read.add((OPERATION, what))
        return self._own

    @property
    def operator(self) -> Operator:
        return self._value("itself").operator

    @property
    def group_rank(self) -> int:
        return self._value("itself").group_rank

    @property
    def accumulating(self) -> bool:
        return self._value("accumulating").accumulating

    @property
    def scalars(self) -> Scalars:
        return self._value("itself").scalars

    @property
    def partly_tileable(self) -> bool:
        return self._value("partly_tileable").partly_tileable


class TrackedOperand(Operand):
    """The operand at a position, or the same with some changes: as a part of it, or a view.

    What was changed is known, so reading it records nothing.
    """

    _position: int
    _own: Operand
    _read: set[Property]
    _changes: dict[str, object]

    def __init__(
        self, position: int, own: Operand, read: set[Property], changes: dict[str, object]
    ) -> None:
        self.__dict__.update(_position=position, _own=own, _read=read, _changes=changes)

    def _value(self, what: str) -> Any:
        if what in self._changes:
            return self._changes[what]
        self._read.add((self._position, what))
        return getattr(self._own, what)

    @property
    def dtype(self) -> DType:
        return self._value("dtype")  # type: ignore[no-any-return]

    @property
    def level(self) -> Level:
        return self._value("level")  # type: ignore[no-any-return]

    @property
    def order(self) -> Order:
        return self._value("order")  # type: ignore[no-any-return]

    @property
    def vector(self) -> int:
        return self._value("vector")  # type: ignore[no-any-return]

    @property
    def weight(self) -> bool:
        return self._value("weight")  # type: ignore[no-any-return]

    @property
    def aliased(self) -> bool:
        return self._value("aliased")  # type: ignore[no-any-return]

    @property
    def addressable(self) -> bool:
        if "level" in self._changes:
            return self.level.addressable
        return self._value("addressable")  # type: ignore[no-any-return]

    def moves_lines(self, target: Target) -> bool:
        if "level" not in self._changes:
            self._read.add((self._position, "lines"))
            return self._own.moves_lines(target)
        return target.moves_lines_from(self.level)

    def changed(self, **changes: Unpack[OperandChanges]) -> Self:
        return type(self)(self._position, self._own, self._read, {**self._changes, **changes})


class TrackedPacking(Struct, frozen=True, eq=False):
    """The packing of the operand at a position; it records what is read of it."""

    position: int
    own: int
    read: set[Property]

    def _value(self, what: str = "packing") -> int:
        self.read.add((self.position, what))
        return self.own

    def __rshift__(self, bits: int) -> int:
        return self._value("panel" if bits == PANEL_SHIFT else "packing") >> bits

    def __and__(self, bits: int) -> int:
        return self._value() & bits

    def __eq__(self, other: object) -> bool:
        return self._value() == other

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.asarray(self._value(), dtype)

    __hash__ = None  # type: ignore[assignment]


def tracked(variant: Variant, read: set[Property]) -> Variant:
    """A variant that records in ``read`` what is read of it."""
    family = variant.family
    operands = (TrackedOperand(p, own, read, {}) for p, own in enumerate(family.operands))
    packing = (TrackedPacking(p, own, read) for p, own in enumerate(variant.packing))
    operation = TrackedOperation(family.operation, read)
    family = Family(operation, tuple(operands), family.threads)
    return Variant(family, cast(tuple[int, ...], tuple(packing)))
