"""Stand-ins: what a search computes with in the place of scalars whose values decide nothing.

A factor, a slope or an epsilon changes a program's constants, and neither which programs there are
nor what they cost. So operations that differ in such values only are one operation to the search:
with stand-ins, numbered in the order in which scalars come. Equal values have one stand-in, since
expressions may be equal then.

A scalar in an index, or that states a size, keeps its value. So does one that a rule or a kernel
looks at: see `morello.rewriting.deciding_scalars`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from morello.ir.graphs.composition import with_operations
from morello.ir.operators import Operation, Operator
from morello.ir.scalars import StandIn

Kept = Callable[[Operator], frozenset[str]]
"""The scalars of an operator whose values decide something, beside those in indices and sizes."""


def with_stand_ins(operation: Operation, kept: Kept) -> Operation:
    """The operation with a stand-in for each value that decides nothing; itself if there is none.

    That of a part is numbered anew: so it is the same in whatever it is a part of.
    """
    if not operation.scalars and operation.operator.composition is None:
        return operation
    found: dict[object, StandIn] = {}

    def standing(own: Operation) -> Operation:
        operator = own.operator
        fixed = operator.least.keys() | kept(operator) if own.scalars else frozenset[str]()
        scalars = tuple(
            (name, value)
            if name in fixed
            else (name, found.setdefault(_told_apart(value), StandIn(len(found) + 1)))
            for name, value in own.scalars
        )
        return own.with_scalars(scalars)

    if operation.operator.composition is None:
        return standing(operation)
    return with_operations(operation, standing)


def costed(operation: Operation) -> Operation:
    """The operation that has all costs of this one: none depends on a value of its meaning."""
    return with_stand_ins(operation, lambda _: frozenset())


def _told_apart(value: float) -> object:
    """What is the same of equal values: 0.0 and -0.0 are two, and not-a-number is one."""
    return value if isinstance(value, StandIn) else struct.pack("<d", value)
