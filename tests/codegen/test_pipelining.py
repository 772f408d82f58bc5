"""Pipelined loops: in which order things are done, and where buffers are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from morello.codegen.pipelining import pipelined
from morello.ir.programs.tree import Affine, Allocate, Apply, Block, Loop, Node, walk
from tests.codegen.c.build import at, buffer, loop, tensor, view
from tests.codegen.c.definitions import operation

ROWS, STEP = 3, 4


def _program(steps: int, rest: int) -> tuple[Loop, Node]:
    """A loop over rows that copies pieces of each to a buffer and back, and the same pipelined."""
    size = steps * STEP + rest
    x, y = (
        tensor(name, (ROWS, size), role=role) for name, role in (("x", "input"), ("y", "output"))
    )
    kept, largest = tensor("kept", (1, size)), tensor("largest", (1,))

    def copied(source: str, variable: str) -> Block:
        there = {"x": x, "y": y}[source]

        def piece(start: Affine | int, length: int) -> Apply:
            both = view(there, [at("r"), start], [1, length]), view(kept, [0, start], [1, length])
            operands = both if source == "x" else both[::-1]
            return Apply(operation("copy", 2), (1, length), operands)

        begun = loop(variable, steps, STEP, piece(at(variable), STEP))
        return Block((begun, piece(steps * STEP, rest))) if rest else Block((begun,))

    row = view(x, [at("r"), 0], [1, size])
    statistic = Apply(operation("row_max", 1), (1, size), (row, view(largest, [0], [1])))
    iteration = buffer(kept, buffer(largest, copied("x", "a"), statistic, copied("y", "b")))
    plain = loop("r", ROWS, 1, iteration)
    assert isinstance(plain, Loop)
    return plain, pipelined(plain)


def _done(node: Node, known: Mapping[str, int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """What is done, in order: into which tensor, and where the part of x or y begins."""
    match node:
        case Block(steps=steps):
            for step in steps:
                yield from _done(step, known)
        case Loop(variable=variable, count=count, step=step, body=body):
            for iteration in range(count):
                yield from _done(body, {**known, variable: iteration * step})
        case Allocate(body=body):
            yield from _done(body, known)
        case Apply(operands=operands):
            [outer] = (o for o in operands if o.tensor.role != "buffer")
            places = (o.constant + sum(f * known[v] for v, f in o.terms) for o in outer.offsets)
            yield operands[-1].tensor.name, tuple(places)


@pytest.mark.parametrize(("steps", "rest"), [(1, 3), (2, 0), (3, 1)])
def test_a_piece_is_stored_just_before_the_next_row_needs_its_place(steps: int, rest: int) -> None:
    """And nothing else changes: of each row all is done, and each in the order of its pieces."""
    plain, done = _program(steps, rest)
    before, after = list(_done(plain, {})), list(_done(done, {}))
    assert sorted(before) == sorted(after)
    for row in range(ROWS):
        assert [e for e in before if e[1][0] == row] == [e for e in after if e[1][0] == row]
    for row in range(ROWS - 1):
        for start in range(0, steps * STEP + rest, STEP):
            assert after.index(("y", (row, start))) + 1 == after.index(("kept", (row + 1, start)))


def test_one_buffer_is_enough() -> None:
    """It is around all rows, and its parts are where they were."""
    _, done = _program(2, 1)
    assert isinstance(done, Allocate)
    assert isinstance(done.body, Allocate)
    assert ["kept", "largest"] == [done.tensor.name, done.body.tensor.name]
    assert not any(isinstance(node, Allocate) for node in walk(done.body.body))
