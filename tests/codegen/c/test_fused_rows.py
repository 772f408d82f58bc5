"""Rows that are stored past the caches beside others that are computed: when, and what they do."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from morello.codegen.c.emitter import CEmitter
from morello.codegen.c.fused_rows import beside
from morello.ir.passes import FETCH_TILES
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import Block, Node, Program, Resident, Tensor, View
from morello.ir.target import Target
from morello.reference.interpreter import run_program

from .build import buffer, call, origin, program, tensor, view, whole
from .definitions import operation, runnable, targets, with_passes
from .harness import run_everywhere

SKIPPED = 5
"""Elements of each row before what is used: vectors of it are not aligned."""


@dataclass
class Rows:
    """Exponentials of one row are scaled and stored, and those of another one take their place."""

    target: Target
    size: int

    def __post_init__(self) -> None:
        self.x = tensor("x", (2, self.size + SKIPPED), role="input")
        self.y = tensor("y", (1, self.size + SKIPPED), role="output")
        self.total = tensor("total", (1,), role="output")
        self.kept, self.factor = tensor("kept", (1, self.size)), tensor("factor", (1,))
        self.stored = self.call("stream", "scale_rows", self.kept, self.factor, self.out)
        self.summed = self.call("reduce", "row_sum", self.kept, self.total)

    @property
    def out(self) -> View:
        return view(self.y, [0, SKIPPED], [1, self.size])

    def call(self, kind: str, name: str, *operands: Tensor | View) -> Node:
        views = [v if isinstance(v, View) else whole(v) for v in operands]
        lanes = 16 if self.target.name == "x86.avx512" else 8
        return call(self.target, f"{kind}_x{lanes}", operation(name, 1), *views)

    def row(self, number: int) -> View:
        return view(self.x, [number, SKIPPED], [1, self.size])

    def largest(self, row: int) -> Node:
        return self.call("reduce", "row_max", self.row(row), self.factor)

    def exponentials(self, row: int) -> Node:
        return self.call("vector", "exp_in_rows", self.row(row), self.factor, self.kept)

    @property
    def following(self) -> tuple[Node, ...]:
        """What is done with the second row."""
        held = Resident(self.row(1), Block((self.exponentials(1), self.summed)), origin("tile"))
        return (self.largest(1), held)

    def program(self, *steps: Node) -> Program:
        """The function: the first row, then these steps."""
        first = (self.largest(0), self.exponentials(0))
        fill = call(
            self.target,
            "stream_x16" if self.target.name == "x86.avx512" else "stream_x8",
            operation("fill", 2, value=0.0),
            whole(self.y),
        )
        body = Block((fill, *first, Block(steps)))
        return program(
            self.target,
            [self.x, self.y, self.total],
            buffer(self.kept, buffer(self.factor, body)),
        )


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.avx512"])
@pytest.mark.parametrize("size", [257, 272, 1000, 1024, 1039])
def test_results_are_those_of_one_after_the_other(target: str, size: int) -> None:
    """Where rows begin and end within a vector, too."""
    if target not in runnable():
        pytest.skip(f"this machine lacks what {target} is for")
    made = Rows(with_passes(target), size)
    done = made.program(made.stored, *made.following)
    x = np.random.default_rng(5).standard_normal(made.x.shape, np.float32)
    expected = run_program(done, [x])
    code = CEmitter().emit(done, EmitOptions())
    for found in run_everywhere(done, code, [x]):
        for actual, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6)


def test_vectors_of_both_follow_each_other() -> None:
    """In one loop, behind what it waits for; what the stored row is scaled by is read before."""
    made = Rows(targets()["x86.avx512"], 1024)
    source = CEmitter().emit(made.program(made.stored, *made.following), EmitOptions()).source
    loops = re.findall(r"for \(ptrdiff_t j_ .*?\n +}\n", source, re.DOTALL)
    [shared] = [text for text in loops if "exp_f32_x16" in text and "_mm512_stream_ps" in text]
    lines = [line.strip() for line in shared.splitlines()[1:-1]]
    what = ["stream" if "_mm512_stream" in s else "add" if "_add_ps" in s else "exp" for s in lines]
    assert what == ["stream", "exp", "add"] * 4
    scaled = source.index("t1_0_ = _mm512_set1_ps(factor[0])")
    assert scaled < source.index("factor[0] =", scaled) < source.index("t2_0_ = _mm512_set1_ps")
    assert source.index("t2_0_ = _mm512_set1_ps") < source.index(shared)


def test_it_is_one_loop_after_the_other_without_the_pass() -> None:
    """As many loops as rows: on such a target, they are what was planned."""
    made = Rows(with_passes("x86.avx512", FETCH_TILES), 1024)
    source = CEmitter().emit(made.program(made.stored, *made.following), EmitOptions()).source
    loops = re.findall(r"for \(ptrdiff_t j_ .*?\n +}\n", source, re.DOTALL)
    assert not [text for text in loops if "exp_f32_x16" in text and "_mm512_stream_ps" in text]


@pytest.mark.parametrize(
    "what", ["as it is", "short", "changed", "read", "elsewhere", "another size", "in turn"]
)
def test_only_what_nothing_can_tell_shares_a_loop(what: str) -> None:
    made = Rows(targets()["x86.avx512"], 128 if what == "short" else 1024)
    smaller = Rows(made.target, 512)
    steps = {
        "changed": (
            made.stored,
            made.exponentials(0),
            made.call("reduce", "row_max", made.kept, made.factor),
            made.exponentials(1),
        ),
        "read": (made.stored, made.call("reduce", "row_sum", made.out, made.total)),
        "elsewhere": (
            made.stored,
            made.call("reduce", "row_sum", view(made.y, [0, 0], [1, made.size]), made.total),
        ),
        "another size": (made.stored, *smaller.following),
        "in turn": (*made.following, made.stored),
    }.get(what, (made.stored, *made.following))
    found = beside(Block(steps))
    rows = {"as it is": (0, 2, 3), "read": (0, 1)}.get(what)
    assert rows == (None if found is None else found.rows)
