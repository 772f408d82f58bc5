"""Specs drawn at random: operators of every kind, on tensors that fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from random import Random

Shape = tuple[int, ...]

SIZES = (1, 2, 3, 5, 8, 9, 17)
MOST_ELEMENTS = 600
UNARY = ("relu", "neg", "abs", "square", "tanh", "sigmoid", "sqrt", "exp")
SCALED = ("scale({x}, factor = 0.5)", "clamp({x}, low = -1, high = 2)", "shift({x}, amount = 3)")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
COLUMNS = ("add_bias", "scale_columns")
ROWS = ("add_to_rows", "subtract_from_rows", "scale_rows")
ROW_SUMS = ("row_sum", "row_max", "row_min", "row_mean", "row_square_sum")
COLUMN_SUMS = ("column_sum", "column_max", "column_min", "column_mean")
SECOND_AXIS = ("second_axis_sum", "second_axis_max", "second_axis_mean")
NORMALISED = ("softmax", "log_softmax")
INTEGERS = ("s32", "s8", "u8")


@dataclass
class RandomSpec:
    """A spec that grows by one operation at a time.

    ``tensors``: what there is, with its shape and element type; ``read``: what something reads.
    """

    random: Random
    tensors: dict[str, tuple[Shape, str]] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    computed: list[str] = field(default_factory=list)
    locals: list[str] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def text(self, count: int) -> str:
        """So many operations; what nothing reads is an output, and so is some of the rest."""
        while len(self.computed) < count:
            self._grow()
        outputs = [t for t in self.computed if t not in self.read or self.random.random() < 0.1]
        words = set(re.findall(r"\w+", " ".join(self.statements)))
        lines = [line for line in self.given if line.split()[1].rstrip(":") in words]
        lines += [f"local {self._declared(t)}" for t in self.computed if t not in outputs]
        lines += [f"output {self._declared(t)}" for t in outputs]
        body = "\n".join(f"  {line}" for line in (*lines, *self.statements))
        threads = self.random.choice(("", "", " threads 2"))
        return f"spec random(){threads} {{\n{body}\n}}\n"

    def _declared(self, name: str) -> str:
        shape, dtype = self.tensors[name]
        return f"{name}: {dtype}[{', '.join(map(str, shape))}]"

    def operand(self, shape: Shape, dtype: str = "f32") -> str:
        """A tensor of this shape that is there, or a new argument."""
        known = [n for n, own in self.tensors.items() if own == (shape, dtype)]
        if known and self.random.random() < 0.6:
            found = self.random.choice(known)
        else:
            found = f"x{len(self.given)}"
            self.tensors[found] = (shape, dtype)
            role = self.random.choice(("input", "weight"))
            self.given.append(f"{role} {self._declared(found)}")
        self.read.add(found)
        return found

    def _start(self) -> str:
        """Something to work on: what was computed last, more often than not."""
        if self.computed and self.random.random() < 0.75:
            unread = [t for t in self.computed if t not in self.read]
            name = self.random.choice(unread or self.computed)
            self.read.add(name)
            return name
        rank = self.random.choice((1, 2, 2, 2, 3, 3, 4))
        return self.operand(tuple(self.random.choice(SIZES) for _ in range(rank)))

    def _grow(self) -> None:
        before = set(self.read)
        x = self._start()
        shape, dtype = self.tensors[x]
        draw = self.random.choice(KINDS if dtype == "f32" else INTEGER_KINDS)
        found = draw(self, x, shape)
        if found is None or prod(found[1]) > MOST_ELEMENTS:
            self.read = before
            return
        call, result, kind = found
        name = f"t{len(self.computed)}"
        self.tensors[name] = (result, kind or dtype)
        self.computed.append(name)
        self.statements.append(f"{name} = {call}")


def large_spec(number: int) -> str:
    """The spec of that number, of four or five operations."""
    random = Random(number)
    return RandomSpec(random).text(random.choice((4, 5)))


Drawn = tuple[str, Shape, str] | None
Kind = Callable[[RandomSpec, str, Shape], Drawn]


def _unary(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return f"{spec.random.choice(UNARY)}({x})", shape, ""


def _scaled(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return spec.random.choice(SCALED).format(x=x), shape, ""


def _binary(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    operands = [x, spec.operand(shape, spec.tensors[x][1])]
    spec.random.shuffle(operands)
    return f"{spec.random.choice(BINARY)}({', '.join(operands)})", shape, ""


def _select(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    c, z = spec.operand(shape, spec.random.choice(("f32", "u8"))), spec.operand(shape)
    return f"select({c}, {x}, {z})", shape, ""


def _columns(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return f"{spec.random.choice(COLUMNS)}({x}, {spec.operand(shape[-1:])})", shape, ""


def _rows(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) < 2:
        return None
    return f"{spec.random.choice(ROWS)}({x}, {spec.operand(shape[:-1])})", shape, ""


def _row_sums(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return (f"{spec.random.choice(ROW_SUMS)}({x})", shape[:-1], "") if len(shape) > 1 else None


def _column_sums(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return (f"{spec.random.choice(COLUMN_SUMS)}({x})", shape[1:], "") if len(shape) > 1 else None


def _second_axis(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    result = (*shape[:1], *shape[2:])
    return (f"{spec.random.choice(SECOND_AXIS)}({x})", result, "") if len(shape) > 1 else None


def _row_dot(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return (f"row_dot({x}, {spec.operand(shape)})", shape[:-1], "") if len(shape) > 1 else None


def _normalised(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return f"{spec.random.choice(NORMALISED)}({x})", shape, ""


def _other_axis(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    name = spec.random.choice(("column_softmax", "second_axis_softmax"))
    return (f"{name}({x})", shape, "") if len(shape) > 1 else None


def _norm(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    gain = spec.operand(shape[-1:])
    if spec.random.random() < 0.5:
        return f"rms_norm({x}, {gain}, epsilon = 0.01)", shape, ""
    return f"layer_norm({x}, {gain}, {spec.operand(shape[-1:])}, epsilon = 0.01)", shape, ""


def _matmul(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) < 2:
        return None
    form, n = spec.random.choice(("", "_nt", "_tn", "_tt")), spec.random.choice(SIZES)
    *batch, m, k = shape
    if form in ("_tn", "_tt"):
        m, k = k, m
    right = (n, k) if form in ("_nt", "_tt") else (k, n)
    return f"matmul{form}({x}, {spec.operand((*batch, *right))})", (*batch, m, n), ""


def _right_of_matmul(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) < 2:
        return None
    *batch, k, n = shape
    m = spec.random.choice(SIZES)
    return f"matmul({spec.operand((*batch, m, k))}, {x})", (*batch, m, n), ""


def _transpose(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) == 4 and spec.random.random() < 0.7:
        n, a, b, c = shape
        if spec.random.random() < 0.5:
            return f"channels_last({x})", (n, b, c, a), ""
        return f"channels_first({x})", (n, c, a, b), ""
    *batch, i, j = (1, *shape)
    return (f"transpose({x})", (*batch[1:], j, i), "") if len(shape) > 1 else None


def _merge(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) > 2 and spec.random.random() < 0.5:
        *batch, h, s, d = shape
        return f"merge_heads({x}, width = {d})", (*batch, s, h * d), ""
    if len(shape) < 2:
        return None
    *batch, i, j = shape
    return f"merge_rows({x}, width = {j})", (*batch, i * j), ""


def _split(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    *batch, long = shape
    width = spec.random.choice([w for w in range(1, long + 1) if long % w == 0])
    if batch and spec.random.random() < 0.5:
        *batch, s = batch
        return f"split_heads({x}, width = {width})", (*batch, long // width, s, width), ""
    return f"split_rows({x}, width = {width})", (*batch, long // width, width), ""


def _picture(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if len(shape) != 4:
        return None
    n, h, w, c = shape
    kind, k = (
        spec.random.choice(("conv", "pool", "pad", "depthwise")),
        spec.random.choice((1, 2, 3)),
    )
    if kind == "pad":
        return (
            f"pad2d_nhwc({x}, top = 1, bottom = 0, left = {k}, right = 1, value = 0)",
            (n, h + 1, w + k + 1, c),
            "",
        )
    if min(h, w) < k:
        return None
    result = (n, h - k + 1, w - k + 1)
    if kind == "pool":
        name = spec.random.choice(("max", "avg"))
        return f"{name}_pool2d_nhwc({x}, window = {k}, stride = 1)", (*result, c), ""
    if kind == "depthwise":
        filters = spec.operand((k, k, c))
        return f"depthwise_conv2d_nhwc({x}, {filters}, stride = 1, dilation = 1)", (*result, c), ""
    out = spec.random.choice((1, 2, 5, 8))
    filters = spec.operand((k, k, c, out))
    return f"conv2d_nhwc({x}, {filters}, stride = 1, dilation = 1)", (*result, out), ""


def _cast(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return f"copy({x})", shape, spec.random.choice(("f32", *INTEGERS, "bf16"))


def _back(_: RandomSpec, x: str, shape: Shape) -> Drawn:
    return f"copy({x})", shape, "f32"


def _integer_unary(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    if spec.tensors[x][1] == "bf16":
        return None  # no arithmetic in it
    return f"{spec.random.choice(('relu', 'neg', 'square'))}({x})", shape, ""


def _integer_binary(spec: RandomSpec, x: str, shape: Shape) -> Drawn:
    return None if spec.tensors[x][1] == "bf16" else _binary(spec, x, shape)


KINDS: tuple[Kind, ...] = (
    *(_unary, _scaled, _binary, _select, _columns, _rows, _row_sums, _column_sums, _second_axis),
    *(_row_dot, _normalised, _other_axis, _norm, _matmul, _matmul, _right_of_matmul),
    *(_transpose, _merge, _split, _picture, _picture, _cast),
)
INTEGER_KINDS: tuple[Kind, ...] = (
    _back,
    _back,
    _integer_unary,
    _integer_binary,
    _transpose,
    _merge,
)
