"""Programs by hand: short spellings for the nodes of the tree."""

from __future__ import annotations

from collections.abc import Sequence

from morello.ir.dtypes import DTYPES
from morello.ir.layout import Layout, Order, row_major
from morello.ir.operators import Operation
from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Block,
    KernelCall,
    Loop,
    Node,
    Origin,
    ParallelLoop,
    Program,
    Tensor,
    View,
)
from morello.ir.target import Target
from morello.language.source import Source, Span

from .definitions import kernel

RULE = Source("rules/by_hand.mrules", "rule tile\nrule pack\n")


def origin(name: str) -> Origin:
    """A rule of this name, in the file `RULE`."""
    start = max(0, RULE.text.find(name))
    return Origin(name, Span(RULE, start, start + len(name)))


def tensor(
    name: str,
    shape: Sequence[int],
    *,
    dtype: str = "f32",
    layout: Order | Layout | None = None,
    level: str = "mem",
    vector: int = 0,
    role: str = "buffer",
) -> Tensor:
    """A tensor, row-major and in memory unless said otherwise."""
    whole = row_major(len(shape)) if layout is None else layout
    whole = whole if isinstance(whole, Layout) else Layout(whole)
    return Tensor(name, DTYPES[dtype], tuple(shape), whole, level, vector, role)


def at(variable: str, constant: int = 0) -> Affine:
    """``variable + constant``."""
    return Affine(constant, ((variable, 1),))


def view(whole: Tensor, offsets: Sequence[Affine | int], sizes: Sequence[int]) -> View:
    """A part of a tensor."""
    parts = tuple(o if isinstance(o, Affine) else Affine(o) for o in offsets)
    return View(whole, parts, tuple(sizes), whole.level)


def whole(part: Tensor) -> View:
    """All of a tensor."""
    return view(part, [0] * len(part.shape), part.shape)


def loop(variable: str, count: int, step: int, body: Node, *, unrolled: bool = False) -> Loop:
    """A loop that the rule ``tile`` made."""
    return Loop(variable, variable, count, step, body, unrolled, origin("tile"))


def parallel(
    variable: str, count: int, step: int, body: Node, tail: Node | None, threads: int = 2
) -> ParallelLoop:
    """A loop over threads that the rule ``tile`` made."""
    return ParallelLoop(variable, variable, count, step, threads, body, tail, origin("tile"))


def buffer(part: Tensor, *steps: Node) -> Allocate:
    """A buffer that the rule ``pack`` made, around some steps."""
    return Allocate(part, steps[0] if len(steps) == 1 else Block(steps), origin("pack"))


def call(target: Target, name: str, operation: Operation, *operands: View) -> KernelCall:
    """A kernel on views; sizes and the pattern's variables follow from the views."""
    sizes: dict[str, int] = {}
    for indices, part in zip(operation.operands, operands, strict=True):
        for index, size in zip(indices, part.sizes, strict=True):
            if len(index.terms) == 1:
                sizes[index.terms[0][0]] = size
    found = kernel(target, name)
    patterns = found.match.operands
    bindings: dict[str, int] = {}
    for position, part in enumerate(operands):
        shape = patterns[position if found.match.kind == "named" else 0].shape
        for entry, size in zip(reversed(shape), reversed(part.sizes), strict=False):
            if isinstance(entry, str):
                bindings[entry] = size
    dims = tuple(sizes[d] for d in operation.dims)
    return KernelCall(found, operation, dims, tuple(bindings.items()), operands)


def program(target: Target, arguments: Sequence[Tensor], body: Node, name: str = "f") -> Program:
    """A whole function."""
    return Program(name, tuple(arguments), body, 2, target, f"{name}, built by hand")
