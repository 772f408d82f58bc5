"""What is drawn: a spec as data, its text, and what it computes by the oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# Each enters its operators into the table.
from . import elementwise, products, reductions
from .bounds import Floats, Integers, Value
from .formats import FORMATS
from .oracle import ORACLE, result_of

__all__ = ["ORACLE", "Case", "Statement", "Tensor", "elementwise", "products", "reductions"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a spec. ``role`` is empty for what stands in no declaration.

    ``gap``: elements that are left free behind each row.
    """

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...] = ()
    panels: tuple[int, ...] = ()
    gap: int = 0

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension, with gaps."""
        found, stride = [0] * len(self.shape), 1
        for d in reversed(self.order or range(len(self.shape))):
            found[d] = stride
            stride = stride * self.shape[d] + (self.gap if stride == 1 else 0)
        return tuple(found)

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        layout = f" layout ({', '.join(map(str, self.order))})" if self.order else ""
        panels = f" panels ({', '.join(map(str, self.panels))})" if len(self.panels) > 1 else ""
        panels = f" panels {self.panels[0]}" if len(self.panels) == 1 else panels
        if self.gap and self.shape:
            layout, panels = f" stride ({', '.join(map(str, self.strides))})", ""
        return f"{self.role} {self.name}: {self.dtype}[{sizes}]{layout}{panels}"


@dataclass(frozen=True, slots=True)
class Statement:
    """A tensor's value: an operator on others."""

    result: str
    operator: str
    operands: tuple[str, ...]
    scalars: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        scalars = [f"{name} = {value:g}" for name, value in self.scalars]
        return f"{self.result} = {self.operator}({', '.join((*self.operands, *scalars))})"


@dataclass(frozen=True, slots=True)
class Case:
    """A spec: tensors in order, statements in order, each after those that it reads."""

    tensors: tuple[Tensor, ...]
    statements: tuple[Statement, ...]
    threads: int = 1

    @property
    def text(self) -> str:
        """The ``.mspec``."""
        declared = [str(t) for t in self.tensors if t.role]
        body = "\n".join(f"  {line}" for line in (*declared, *map(str, self.statements)))
        threads = f" threads {self.threads}" if self.threads > 1 else ""
        return f"spec random(){threads} {{\n{body}\n}}\n"

    @property
    def by_name(self) -> Mapping[str, Tensor]:
        """Tensors by name."""
        return {t.name: t for t in self.tensors}

    @property
    def given(self) -> list[Tensor]:
        """Inputs and weights."""
        return [t for t in self.tensors if t.role in ("input", "weight")]

    @property
    def outputs(self) -> list[Tensor]:
        """Outputs."""
        return [t for t in self.tensors if t.role == "output"]

    @property
    def readers(self) -> dict[str, int]:
        """How many statements read each tensor."""
        counts = {t.name: 0 for t in self.tensors}
        for statement in self.statements:
            for name in set(statement.operands):
                counts[name] += 1
        return counts

    def values(self, given: Mapping[str, Array]) -> dict[str, Value]:
        """Every tensor by the oracle, from arrays for inputs and weights.

        Raises:
            ValueError: Operands do not fit together.
        """
        tensors = self.by_name
        found: dict[str, Value] = {}
        for name, array in given.items():
            dtype = tensors[name].dtype
            found[name] = (
                Floats.exactly(array) if dtype in FORMATS else Integers.exactly(array, dtype)
            )
        for s in self.statements:
            result = tensors[s.result]
            operands = [found[name] for name in s.operands]
            scalars = dict(s.scalars)
            found[s.result] = result_of(s.operator, operands, scalars, result.dtype, result.shape)
        return found

    def shaped(self) -> Case:
        """The same with the shapes that results have; layouts that no longer fit are dropped.

        Raises:
            ValueError: Operands do not fit together.
        """
        zeros = {t.name: np.zeros(t.shape) for t in self.given}
        shapes = {name: value.shape for name, value in self.values(zeros).items()}
        if any(0 in shape for shape in shapes.values()):
            raise ValueError("a tensor is empty")
        return replace(self, tensors=tuple(_reshaped(t, shapes[t.name]) for t in self.tensors))

    def pruned(self) -> Case:
        """Without tensors that nothing reads or writes."""
        used = {name for s in self.statements for name in (s.result, *s.operands)}
        return replace(self, tensors=tuple(t for t in self.tensors if t.name in used))

    def renamed(self, name: Mapping[str, str]) -> Case:
        """The same by other names."""
        tensors = tuple(replace(t, name=name[t.name]) for t in self.tensors)
        statements = (
            replace(s, result=name[s.result], operands=tuple(name[o] for o in s.operands))
            for s in self.statements
        )
        return replace(self, tensors=tensors, statements=tuple(statements))


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    if len(shape) == len(tensor.shape):
        return replace(tensor, shape=shape)
    return replace(tensor, shape=shape, order=(), panels=())


def operators_in(case: Case) -> Iterator[str]:
    """Names of its operators."""
    return (s.operator for s in case.statements)
