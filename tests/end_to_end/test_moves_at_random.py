"""Elements that statements move again and again, and what is computed of them, against numpy."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import pairwise
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
        values, into = self._in_rows(values, into, {text for text, _ in reads})
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

    def _in_rows(
        self, values: Array, into: list[str], told: Collection[str]
    ) -> tuple[Array, list[str]]:
        """Values, maybe with two dimensions as one, and how they are written.

        ``told``: dimensions whose size follows from what is read.
        """
        places = [p for p, pair in enumerate(pairwise(into)) if {*pair} <= {*told}]
        if self.random.random() < 0.6 or not places:
            return values, into
        place = self.random.choice(places)
        outer, inner = values.shape[place : place + 2]
        merged = values.reshape(*values.shape[:place], outer * inner, *values.shape[place + 2 :])
        rows = f"{inner} * {into[place]} + {into[place + 1]}"
        return merged, [*into[:place], rows, *into[place + 2 :]]

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
            values, into, does = held.sum(axis=-1), [*last], f"+= {read}"
        elif way == "largest" and last:
            values, into, does = held.max(axis=-1), [*last], f"max= {read}"
        elif way == "product" and last:
            other = self.input((n := self.random.choice((1, 3, 8)), held.shape[-1]))
            values = held @ self.tensors[other].T.reshape(held.shape[-1], n)
            into, does = [*last, "n"], f"+= {read} * {other}[n, {dims[-1]}]"
        elif way == "copy":
            values, into, does = held, [*dims], f"= {read}"
        else:
            values, into, does = np.maximum(held, 0), [*dims], f"= max({read}, 0)"
        values, into = self._in_rows(values, into, into)
        return f"{name}[{', '.join(into)}] {does}", values


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


FOUND = (
    # Two sums of as many dimensions, in one of which the steps are others.
    """
    output y: f32[1, 5, 2, 3]  local v: f32[2, 7, 5, 1]  local u: f32[1, 3, 4, 1]
    local t: f32[4, 3, 3, 3]  local s: f32[2, 1, 1, 1]  input x: f32[2, 2, 1, 4]
    s[j, i, d, k] = x[0, 2 * i + j, k, 2 * d + 1]
    t[i + 2, j + 0, k + 1, d + 2] = s[i, j, k, d] elsewhere -2
    u[k, d, i, j] = t[i, 2 * j + 1, 1, 3 * k + d]
    v[i + 0, j + 2, k + 0, d + 0] = u[i, j, k, d] elsewhere -2
    y[d, k, i, j] = v[i, 2 * j + 1, k, d + 0]
    """,
    # A dimension that no operand tells of what is computed on the way.
    """
    output y: f32[7, 1]  input w: f32[1, 6]  local v: f32[7, 6]  local u: f32[3, 2]
    local t: f32[1, 3, 6, 5]  local s: f32[1, 1, 4, 1]  local r: f32[1, 1, 4, 1]
    input x: f32[4, 1, 1]
    r[k, j, i, d] = x[1 * i + j, k + 0, d]
    s[k, i, j, d] = r[i + 0, 0, j, 1 * k + d]
    t[i + 0, j + 0, k + 2, d + 2] = s[i, j, k, d] elsewhere -2
    u[i, j] = t[0, i, 4, 2 * j + 1]
    v[i + 2, j + 2] = u[i, j] elsewhere -2
    y[i, n] += v[i, j] * w[n, j]
    """,
    # Rows of registers that are written in part: the rest of them is a margin.
    """
    output y: f32[3]  local v: f32[3, 3]  local u: f32[1, 1]  local t: f32[3, 1]
    input x: f32[2, 1]
    t[i + 1, k + 0] = x[i, k] elsewhere -2
    u[k, i] = t[2 * i + 1, k + 0]
    v[i + 2, k + 0] = u[i, k] elsewhere -2
    y[k] max= v[i + 1, k]
    """,
    # Rows one after the other: of an input, of what is summed, in steps, with one element each.
    "output y: f32[6, 3]  input x: f32[3, 2, 3]  y[3 * i + j, k] = x[j, i, k]",
    "output y: f32[12]  input x: f32[2, 3, 2]  y[6 * i + 2 * j + k] = x[i, j, k]",
    "output y: f32[6]  input x: f32[4, 6]  y[3 * i + j] = x[2 * i + 1, 2 * j]",
    "output y: f32[6]  input x: f32[2, 3, 4]  y[3 * i + j] max= x[i, j, k]",
    "output y: f32[3, 4]  input x: f32[4, 3, 1]  y[s, 1 * h + d] = x[h, s, d]",
    # Rows of a head are not together: those of other heads lie between.
    "output y: f32[3, 6]  input x: f32[2, 3, 3]  y[s, 3 * h + d] = x[h, s, d]",
    """
    output y: f32[9, 6]  input a: f32[2, 9, 5]  input b: f32[2, 5, 3]
    y[s, 3 * h + d] += a[h, s, k] * b[h, k, d]
    """,
    """
    output y: f32[2, 9, 3]  input a: f32[2, 9, 12]  input b: f32[12, 6]
    y[h, s, d] += a[h, s, k] * b[k, 3 * h + d]
    """,
    """
    output y: f32[3, 2]  local a: f32[3, 8]
    input p: f32[4, 3, 8]  input v: f32[4, 8, 2]  input w: f32[8, 2]
    a[s, 2 * h + d] += p[h, s, t] * v[h, t, d]
    y = matmul(a, w)
    """,
)


@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2"])
@pytest.mark.parametrize("text", FOUND)
def test_what_was_found(text: str, target: str) -> None:
    to_run(morello.compile, f"spec moves() {{ {text} }}", target=target).verify()
