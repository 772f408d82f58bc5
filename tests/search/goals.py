"""Goals, made without a file: an operator, its sizes, dtypes and layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from morello.spec.dtypes import DTYPES
from morello.spec.layout import Layout, row_major
from morello.spec.machine import Target
from morello.spec.operators import Operation
from morello.spec.spec import Family, Operand, Spec
from tests.search.machines import installed


@dataclass(frozen=True)
class Wanted:
    """An operation of these sizes, by dimension in the operation's order.

    ``layouts`` are those that are not row-major, by the operand's name. ``dtypes`` has one for all
    operands, or one for each, the output last.
    """

    operator: str
    sizes: tuple[int, ...]
    dtypes: tuple[str, ...] = ("f32",)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    threads: int = 1
    rank: int = 0
    scalars: tuple[tuple[str, float], ...] = ()

    @property
    def operation(self) -> Operation:
        """What is computed."""
        return Operation(
            installed().operators[self.operator], self.rank, scalars=self.scalars
        )

    def __str__(self) -> str:
        parts = [f"{self.operator} {'x'.join(map(str, self.sizes))}", *self.dtypes]
        parts += [f"{name}{''.join(map(str, layout))}" for name, layout in self.layouts.items()]
        return " ".join([*parts, f"threads {self.threads}"] if self.threads > 1 else parts)

    def spec(self, target: Target) -> Spec:
        """All operands whole, in the farthest level, and nothing in use."""
        operation = self.operation
        dtypes = self.dtypes * (len(operation.operands) // len(self.dtypes))
        operands = []
        for name, indices, dtype in zip(operation.names, operation.operands, dtypes, strict=True):
            layout = self.layouts.get(name, row_major(len(indices)))
            operands.append(Operand(DTYPES[dtype], target.farthest, layout, len(layout)))
        family = Family(operation, tuple(operands), self.threads)
        return Spec(family, self.sizes, (0,) * len(target.bounded))


def matmul(m: int, n: int, k: int, dtype: str = "f32", threads: int = 1, **layouts: Layout) -> Wanted:
    """A matrix product."""
    return Wanted("matmul", (m, n, k), (dtype,), layouts, threads)
