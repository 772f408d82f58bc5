"""Draws cases: an operator, operands that fit from what is there, and so on.

What is computed is read again as often as it can be: several readers of one intermediate are where
memory is reused, and where that may go wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np

from .bounds import Floats, Integers
from .cases import Case, Statement, Tensor
from .formats import FORMATS
from .oracle import result_of

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 19, 23, 31, 33, 40, 64, 100)
MOST_ELEMENTS = 3000
MOST_OF_ONE = 1500
ARITHMETIC = ("f32", "f32", "f32", "f32", "s32", "s8", "u8")
NARROW = ("f16", "bf16")
"""Floating types that have conversions only."""
ALL = (*ARITHMETIC, *NARROW)
FLOATING = ("f32",)

GAPS = 0.15
"""Share of the arguments without panels whose rows have gaps behind them."""

Shape = tuple[int, ...]


class UnfitError(Exception):
    """The operator has no operands here."""


@dataclass
class Drawing:
    """A case that grows. ``sizes``: the few that it is made of."""

    random: Random
    sizes: tuple[int, ...] = ()
    tensors: dict[str, Tensor] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sizes = tuple(self.random.choice(SIZES) for _ in range(3))

    def chance(self, probability: float) -> bool:
        """Whether something happens."""
        return self.random.random() < probability

    def size(self) -> int:
        """One of the case's sizes, most often."""
        return self.random.choice(self.sizes if self.chance(0.8) else SIZES)

    def shape(self, ranks: Sequence[int]) -> Shape:
        """A shape of one of these ranks that is not too large."""
        rank = self.random.choice(ranks)
        while True:
            found = tuple(self.size() for _ in range(rank))
            if prod(found) <= MOST_OF_ONE:
                return found
            if self.chance(0.2):
                rank = min(ranks)
                self.sizes = (*self.sizes[1:], self.random.choice(SIZES[:9]))

    def new(self, shape: Shape, dtype: str) -> Tensor:
        """Another input or weight."""
        if not 0 < prod(shape) <= MOST_ELEMENTS:
            raise UnfitError
        name = f"x{len(self.tensors)}"
        role = "weight" if self.chance(0.25) else "input"
        self.tensors[name] = Tensor(name, role, dtype, shape)
        return self.tensors[name]

    def any(
        self,
        ranks: Sequence[int],
        dtypes: Sequence[str],
        fits: Callable[[Shape], bool] = lambda _: True,
    ) -> Tensor:
        """A tensor of one of these ranks and types: what is computed, an input, or a new one."""
        found = [
            t
            for t in self.tensors.values()
            if len(t.shape) in ranks and t.dtype in dtypes and fits(t.shape)
        ]
        known = self._one_of(found, 0.85)
        if known is not None:
            return known
        for _ in range(20):
            shape = self.shape([r for r in ranks if r] or [0])
            if fits(shape):
                return self.new(shape, self.random.choice(dtypes))
        raise UnfitError

    def of(self, shape: Shape, dtypes: Sequence[str]) -> Tensor:
        """A tensor of this shape."""
        found = [t for t in self.tensors.values() if t.shape == shape and t.dtype in dtypes]
        known = self._one_of(found, 0.8)
        return self.new(shape, self.random.choice(dtypes)) if known is None else known

    def _one_of(self, found: list[Tensor], probability: float) -> Tensor | None:
        if not found or not self.chance(probability):
            return None
        computed = [t for t in found if not t.role]
        return self.random.choice(computed if computed and self.chance(0.75) else found)

    def add(
        self, operator: str, operands: Sequence[Tensor], scalars: dict[str, float], dtype: str
    ) -> None:
        """One more statement, whose result is of this type.

        Raises:
            UnfitError: The result would be too large, or there is none.
        """
        values = [zeros(t) for t in operands]
        shape = self.shape((1, 2, 3, 4)) if not operands else ()
        try:
            shape = result_of(operator, values, scalars, dtype, shape).shape
        except ValueError as error:
            raise UnfitError from error
        if not 0 < prod(shape) <= MOST_ELEMENTS or len(shape) > 5:
            raise UnfitError
        name = f"t{len(self.statements)}"
        self.tensors[name] = Tensor(name, "", dtype, shape)
        names = tuple(t.name for t in operands)
        self.statements.append(Statement(name, operator, names, tuple(scalars.items())))

    def case(self) -> Case:
        """What was drawn: what nothing reads is an output, and some of the rest; with layouts."""
        statements = tuple(self.statements)
        readers = Case(tuple(self.tensors.values()), statements).readers
        results = {s.result: s for s in statements}
        tensors = []
        gaps = Random(str(statements))  # of its own: what else is drawn stays what it was
        for t in self.tensors.values():
            role = t.role
            if t.name in results:
                unread = readers[t.name] == 0
                role = "output" if unread or self.chance(0.12) else self._local(results[t.name], t)
            order, panels = self._layout(t.shape) if role not in ("", "local") else ((), ())
            declared = role in ("input", "weight", "output") and not panels
            gap = gaps.choice((1, 2, 5, 8, 64)) if declared and gaps.random() < GAPS else 0
            tensors.append(Tensor(t.name, role, t.dtype, t.shape, order, panels, gap))
        threads = self.random.choice((1, 1, 2, 3))
        return Case(tuple(tensors), statements, threads).pruned()

    def _local(self, statement: Statement, result: Tensor) -> str:
        """A declaration where the type of a result is not clear, and elsewhere now and then."""
        tied = bool(statement.operands) and statement.operator not in MIXED
        clear = tied and all(self.tensors[o].dtype == result.dtype for o in statement.operands)
        return "" if clear and self.chance(0.6) else "local"

    def _layout(self, shape: Shape) -> tuple[Shape, Shape]:
        order: Shape = ()
        panels: Shape = ()
        if len(shape) > 1 and self.chance(0.2):
            order = tuple(self.random.sample(range(len(shape)), len(shape)))
        if shape and self.chance(0.1):
            count = 2 if len(shape) > 1 and self.chance(0.4) else 1
            panels = tuple(self.random.choice((2, 3, 4, 8, 16)) for _ in range(count))
        return order, panels


MIXED = frozenset(
    {
        "copy",
        "fill",
        "select",
        "matmul",
        "matmul_nt",
        "matmul_tn",
        "matmul_tt",
        "matvec",
        "conv_row",
    }
    | {"conv2d", "conv2d_nhwc", "conv_image", "conv1d_nwc", "conv_line"}
    | {"conv3d", "conv3d_ndhwc", "conv3d_row"}
    | {"grouped_conv2d", "grouped_conv2d_nhwc", "depthwise_row", "depthwise_image"}
    | {"depthwise_conv2d", "depthwise_conv2d_nhwc"}
)
"""Operators whose declaration does not tie the types of operands and result together."""


def zeros(tensor: Tensor) -> Floats | Integers:
    """A value of its shape and type."""
    values = np.zeros(tensor.shape)
    if tensor.dtype in FORMATS:
        return Floats.exactly(values)
    return Integers.exactly(values, tensor.dtype)
