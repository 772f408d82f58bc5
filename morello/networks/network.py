"""Networks of nodes on tensors whose sizes are known, as model files have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.records import replace

UNKNOWN_SHAPE = (-1,)
"""The shape of a value of which the file tells none, and nothing else does."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: ``dtype`` is numpy's name of its element type, ``data`` what a constant holds."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: Array | None = field(default=None, compare=False, repr=False)

    @property
    def elements(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


class Node(Struct, frozen=True):
    """One operation. ``inputs`` has an empty name for an optional one that is left out.

    ``origin``: the operator of the model file that it says, or a part of it.
    """

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = {}
    origin: str = ""

    @property
    def output(self) -> str:
        """The first of its outputs that has a name."""
        return self.results[0]

    @property
    def results(self) -> tuple[str, ...]:
        """All outputs that have a name."""
        return tuple(filter(None, self.outputs))

    def __str__(self) -> str:
        return f"{self.operator} '{self.name}'" if self.name else self.operator


class Quantized(Struct, frozen=True):
    """What stands for a tensor in few bits: ``(whole - zero) * factor``.

    ``whole`` is a tensor of bytes. ``factor`` is one number, or broadcasts to its shape.
    """

    whole: str
    factor: Array
    zero: Array

    @property
    def alike(self) -> bool:
        """Whether all bytes stand for numbers in the same way, larger ones for larger ones."""
        return self.factor.size == self.zero.size == 1 and float(self.factor.reshape(())) > 0


@dataclass(slots=True)
class Network:
    """Nodes in an order in which each value is computed before it is read.

    Attributes:
        name: An identifier.
        values: All tensors by name, constants among them.
        nodes: What is computed.
        inputs: Names of what is given in each call.
        outputs: Names of what is wanted.
        version: Of the operators that the file uses.
        wide: For a value of few bits that was computed in f32, the same numbers there.
        quantized: For a value that bytes stand for, these.
        narrowed: Values of 32 bits that have 64 in the file.
        repeated: For a value that repeats another along dimensions which that has not, or has with
            size 1, the other.
    """

    name: str
    values: dict[str, Value]
    nodes: list[Node]
    inputs: list[str]
    outputs: list[str]
    version: int = 0
    repeated: dict[str, str] = field(default_factory=dict)
    wide: dict[str, str] = field(default_factory=dict)
    quantized: dict[str, Quantized] = field(default_factory=dict)
    narrowed: set[str] = field(default_factory=set)
    _fresh: int = 0

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value."""
        return self.values[name].shape

    def data(self, name: str) -> Array | None:
        """What a constant holds; none for what is computed, and for an input that is left out."""
        return self.values[name].data if name else None

    def repeated_data(self, name: str) -> Array | None:
        """The same of what may repeat a constant."""
        data = self.data(self.repeated.get(name, name))
        return None if data is None else np.broadcast_to(data, self.shape(name))

    def read(self) -> set[str]:
        """The values that nodes read, or that are wanted."""
        return {*self.outputs}.union(*(node.inputs for node in self.nodes))

    def read_elsewhere(self, places: Mapping[str, int]) -> set[str]:
        """The values that nodes read as other inputs than these of their operators."""
        return {
            name
            for node in self.nodes
            for place, name in enumerate(node.inputs)
            if places.get(node.operator) != place
        }

    def new(self, like: str, shape: Iterable[int], dtype: str | None = None) -> str:
        """A new value, called after another one."""
        value = Value(self._name(like), dtype or self.values[like].dtype, tuple(shape))
        self.values[value.name] = value
        return value.name

    def constant(self, like: str, data: Array) -> str:
        """A new constant, called after another value."""
        data = np.asarray(data, order="C")
        value = Value(self._name(like), data.dtype.name, data.shape, data)
        self.values[value.name] = value
        return value.name

    def fix(self, name: str, data: Array) -> None:
        """Make a value a constant that has these elements."""
        value = self.values[name]
        self.values[name] = replace(value, data=data.reshape(value.shape))

    def convert_arguments(self, inside: Mapping[str, str], cast: str) -> None:
        """Compute with other values than the arguments, and convert: by nodes of an operator.

        ``inside`` has for arguments, and constants that are wanted, what nodes read and write.
        """
        computed = {name for node in self.nodes for name in node.results}
        given = [name for name in self.inputs if name in inside]
        wanted = [name for name in self.outputs if name in inside and name in computed]
        nodes = [
            replace(
                node,
                inputs=tuple(inside.get(name, name) for name in node.inputs),
                outputs=tuple(inside.get(name, name) for name in node.outputs),
            )
            for node in self.nodes
        ]
        self.nodes = [
            *(Node(cast, name, (name,), (inside[name],)) for name in given),
            *nodes,
            *(Node(cast, name, (inside[name],), (name,)) for name in wanted),
        ]

    def _name(self, like: str) -> str:
        self._fresh += 1
        return f"{like.split('~', maxsplit=1)[0]}~{self._fresh}"

    def drop_unused(self) -> None:
        """Leave out nodes whose results nobody needs."""
        needed, kept = set(self.outputs), []
        for node in reversed(self.nodes):
            if needed.intersection(node.outputs):
                needed.update(node.inputs)
                kept.append(node)
        self.nodes = kept[::-1]


def keeps_order(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether elements stay where they are if dimensions are put in this order."""
    moving = [axis for axis in order if shape[axis] != 1]
    return moving == sorted(moving)


def with_leading_ones(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """A shape of this rank, with dimensions of size 1 before its own."""
    return (*(1,) * (rank - len(shape)), *shape)


def without_ones(shape: Iterable[int]) -> tuple[int, ...]:
    """A shape without its dimensions of size 1, which say nothing of where elements lie."""
    return tuple(size for size in shape if size != 1)
