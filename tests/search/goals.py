"""Goals made without a file: an operator, its sizes, dtypes and layouts."""

from __future__ import annotations

from dataclasses import dataclass

from morello.ir.dtypes import DTYPES, DType
from morello.ir.layout import Layout, Order, row_major
from morello.ir.operators import Operation
from morello.ir.spec import Family, Operand, Spec
from morello.ir.target import Target
from morello.records import replace
from morello.reference.views import extents
from tests.search.machines import installed


@dataclass(frozen=True)
class Wanted:
    """An operation of these sizes, in the order of the operation's dimensions.

    ``dtypes`` has one for all operands, or one for each, the output last. ``layouts`` names the
    operands that are not row-major, ``weights`` those that may be packed prepack. ``rank`` is that
    of the operator's group of dimensions.
    """

    operator: str
    sizes: tuple[int, ...]
    rank: int = 0
    dtypes: tuple[str, ...] = ("f32",)
    layouts: tuple[tuple[str, Order | Layout], ...] = ()
    threads: int = 1
    weights: tuple[str, ...] = ()

    @property
    def operation(self) -> Operation:
        """What is computed."""
        return Operation(installed().operators[self.operator], self.rank)

    def operand_dtypes(self) -> list[DType]:
        """One for each operand, the output last."""
        count = len(self.operation.operands)
        names = self.dtypes if len(self.dtypes) == count else self.dtypes * count
        return [DTYPES[name] for name in names]

    def spec(self, target: Target) -> Spec:
        """All operands whole, where calls find them, and nothing in use."""
        operation, layouts = self.operation, dict(self.layouts)
        operands: list[Operand] = []
        packing: list[int] = []
        for name, indices, dtype in zip(
            operation.names, operation.operands, self.operand_dtypes(), strict=True
        ):
            chosen = layouts.get(name, row_major(len(indices)))
            layout = chosen if isinstance(chosen, Layout) else Layout(chosen)
            weight = name in self.weights
            shape = extents(operation, self.sizes, len(packing))
            home = target.home(layout.elements(shape) * dtype.bytes)
            operands.append(Operand(dtype, home, layout.order, weight=weight))
            packing.append(layout.packing(shape))
        family = Family(operation, tuple(operands), self.threads)
        return Spec(family, self.sizes, (0,) * len(target.bounded), tuple(packing))

    def __str__(self) -> str:
        parts = [self.operator, "x".join(map(str, self.sizes)), "-".join(self.dtypes)]
        parts += [f"{name}{layout}" for name, layout in self.layouts]
        parts += [f"weight {name}" for name in self.weights]
        return " ".join(parts + ([f"threads{self.threads}"] if self.threads > 1 else []))


def matmul(
    m: int, n: int, k: int, dtype: str = "f32", *, threads: int = 1, **layouts: Order | Layout
) -> Wanted:
    """A matrix product."""
    return Wanted("matmul", (m, n, k), 0, (dtype,), tuple(layouts.items()), threads)


def batched(b: int, m: int, n: int, k: int, **layouts: Order | Layout) -> Wanted:
    """A batched matrix product."""
    return Wanted("matmul", (b, m, n, k), 1, ("f32",), tuple(layouts.items()))


def elementwise(
    operator: str, *sizes: int, dtype: str = "f32", **layouts: Order | Layout
) -> Wanted:
    """An elementwise operator on tensors of this shape."""
    return Wanted(operator, sizes, len(sizes), (dtype,), tuple(layouts.items()))


def copy(*sizes: int, dtypes: tuple[str, ...] = ("f32",), **layouts: Order | Layout) -> Wanted:
    """A copy, which may change layout and dtype."""
    return Wanted("copy", sizes, len(sizes), dtypes, tuple(layouts.items()))


def weighing(wanted: Wanted, *weights: str) -> Wanted:
    """The same, with these operands as weights."""
    return replace(wanted, weights=weights)
