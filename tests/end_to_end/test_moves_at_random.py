"""Elements that statements move again and again, and what is computed of them, against numpy."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np
import pytest

import morello

from .kernels import Array, to_run

TARGETS = ("c.scalar", "x86.avx2", "x86.avx512")
NAMES = "ijkdef"
MOST_ELEMENTS = 2000

Sum = tuple[int, list[tuple[str, int, int]]]
"""A number, and dimensions, each with its factor and size."""


@dataclass
class Drawn:
    """A spec that grows, and what its tensors hold."""

    random: Random
    lines: list[str] = field(default_factory=list)
    tensors: dict[str, Array] = field(default_factory=dict)

    def declare(self, role: str, shape: tuple[int, ...], layout: str = "") -> str:
        name = f"{role[0]}{len(self.lines)}"
        self.lines.insert(0, f"{role} {name}: f32[{', '.join(map(str, shape))}]{layout}")
        return name

    def input(self, shape: tuple[int, ...]) -> str:
        order = self.random.sample(range(len(shape)), len(shape))
        layout = f" layout ({', '.join(map(str, order))})" if self.random.random() < 0.4 else ""
        name = self.declare("input", shape, layout)
        values = np.random.default_rng(len(self.lines)).integers(-4, 5, shape)
        self.tensors[name] = values.astype(np.float32)
        return name

    def moved(self, source: str) -> str:
        """A tensor of some elements of another one, its dimensions in another order."""
        held = self.tensors[source]
        dims: list[tuple[str, int]] = []
        reads = [self._subscript(size, dims) for size in held.shape]
        if not dims:
            return source
        self.random.shuffle(dims)
        shape = tuple(size for _, size in dims)
        at = {name: index for index, (name, _) in enumerate(dims)}
        places = tuple(
            sum(
                (factor * np.arange(n).reshape([-1 if a == at[d] else 1 for a in range(len(dims))])
                 for d, factor, n in terms),
                start=np.full([1] * len(dims), low),
            )
            for _, (low, terms) in reads
        )  # fmt: skip
        values, into = self._repeated(np.broadcast_to(held[places], shape), [*at])
        name = self.declare("local", values.shape)
        read = f"{source}[{', '.join(text for text, _ in reads)}]"
        self.lines.append(f"{name}[{', '.join(into)}] = {read}")
        self.tensors[name] = values
        return self._framed(name) if self.random.random() < 0.2 else name

    def _repeated(self, values: Array, into: list[str]) -> tuple[Array, list[str]]:
        """Values, maybe repeated along a new dimension, and how they are written."""
        if self.random.random() < 0.8 or len(into) > 3:
            return values, into
        place, times = self.random.randrange(len(into) + 1), self.random.randint(1, 3)
        repeated = np.repeat(np.expand_dims(values, place), times, axis=place)
        return repeated, [*into[:place], "r", *into[place:]]

    def _framed(self, source: str) -> str:
        """A tensor in a frame, or every second row of one, if it has as many."""
        values = self.tensors[source]
        margins = [(self.random.randrange(3), self.random.randrange(3)) for _ in values.shape]
        dims = NAMES[: values.ndim]
        read = [*dims]
        if values.shape[0] > 2 and self.random.random() < 0.3:
            values, read[0] = values[1::2], f"2 * {dims[0]} + 1"
        if not any(map(sum, margins)):
            margins[0] = (1, 0)
        values = np.pad(values, margins, constant_values=-2)
        name = self.declare("local", values.shape)
        into = ", ".join(f"{d} + {low}" for d, (low, _) in zip(dims, margins, strict=True))
        self.lines.append(f"{name}[{into}] = {source}[{', '.join(read)}] elsewhere -2")
        self.tensors[name] = values
        return name

    def _subscript(self, size: int, dims: list[tuple[str, int]]) -> tuple[str, Sum]:
        """A subscript, and its number and terms; new dimensions are added."""

        def new(n: int) -> str:
            dims.append((NAMES[len(dims)], n))
            return dims[-1][0]

        way = self.random.choice(("all", "all", "part", "steps", "split", "one"))
        if len(dims) >= 4:
            way = "one"
        if way == "one" and size > 0:
            low = self.random.randrange(size)
            return str(low), (low, [])
        if way == "part":
            low = self.random.randrange(size)
            d = new(n := self.random.randint(1, size - low))
            return f"{d} + {low}", (low, [(d, 1, n)])
        if way == "steps" and size > 2:
            d = new(n := (size - 1) // 2)
            return f"2 * {d} + 1", (1, [(d, 2, n)])
        widths = [w for w in range(1, size + 1) if size % w == 0]
        if way == "split" and len(dims) < 3:
            w = self.random.choice(widths)
            outer, inner = new(size // w), new(w)
            return f"{w} * {outer} + {inner}", (0, [(outer, w, size // w), (inner, 1, w)])
        d = new(size)
        return d, (0, [(d, 1, size)])

    def result(self, source: str, name: str) -> tuple[str, Array]:
        """A statement's update and value with the subscripts of the result, and the result."""
        held = self.tensors[source]
        dims = NAMES[: held.ndim]
        read = f"{source}[{', '.join(dims)}]"
        way = self.random.choice(("positive", "copy", "sum", "product", "largest"))
        last = dims[:-1]
        if way == "sum" and last:
            return f"{name}[{', '.join(last)}] += {read}", held.sum(axis=-1)
        if way == "largest" and last:
            return f"{name}[{', '.join(last)}] max= {read}", held.max(axis=-1)
        if way == "product" and last:
            other = self.input((n := self.random.choice((1, 3, 8)), held.shape[-1]))
            new = ", ".join([*last, "n"])
            text = f"{name}[{new}] += {read} * {other}[n, {dims[-1]}]"
            return text, held @ self.tensors[other].T.reshape(held.shape[-1], n)
        if way == "copy":
            return f"{name}[{', '.join(dims)}] = {read}", held
        return f"{name}[{', '.join(dims)}] = max({read}, 0)", np.maximum(held, 0)


def draw(seed: int) -> tuple[str, dict[str, Array], Array]:
    """A spec, its inputs, and what it computes: one result, or two side by side."""
    random = Random(seed)
    while True:
        drawn = Drawn(random)
        shape = tuple(random.choice((1, 2, 3, 4, 6, 8, 15)) for _ in range(random.randint(1, 4)))
        if prod(shape) > MOST_ELEMENTS:
            continue
        tensor = drawn.input(shape)
        for _ in range(random.randint(1, 3)):
            tensor = drawn.moved(tensor)
        statement, value = drawn.result(tensor, "y")
        if value.ndim and random.random() < 0.5:
            cut, rest = value.shape[-1], statement.partition("]")
            second = f"{rest[0]} + {cut}]{rest[2]}"
            drawn.lines += [statement, second]
            value = np.concatenate([value, value], axis=-1)
        else:
            drawn.lines.append(statement)
        if value.size and value.ndim:
            break
    drawn.lines.insert(0, f"output y: f32[{', '.join(map(str, value.shape))}]")
    inputs = {n: v for n, v in drawn.tensors.items() if n.startswith("i")}
    return "spec s() { " + "  ".join(drawn.lines) + " }", inputs, value


@pytest.mark.sample(16)
@pytest.mark.parametrize("seed", range(120))
def test_they_are_what_numpy_says(seed: int) -> None:
    text, inputs, value = draw(seed)
    kernel = to_run(morello.compile, text, target=TARGETS[seed % len(TARGETS)])
    kernel.verify()
    arrays = [a.pack(inputs[a.name]) for a in kernel.signature.inputs]
    np.testing.assert_allclose(kernel(*arrays), value, rtol=1e-6)
