"""Pipelined loops: the end of one iteration together with the beginning of the next.

An iteration begins with a loop and ends with one that takes the same steps. What the last loop of
an iteration does in a step stands before what the first one of the next iteration does in its step:
memory takes what the one stores while the other computes. So a part of a buffer may be used anew as
soon as it has been read, and a buffer for one iteration is enough.

Which loops may be pipelined is checked where a rule is declared (`morello.checking.pipelined`).
"""

from __future__ import annotations

from collections.abc import Callable, Set

from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Apply,
    Block,
    KernelCall,
    Lookup,
    Loop,
    Node,
    Ordered,
    ParallelLoop,
    Prepack,
    Resident,
    Tensor,
    Version,
    View,
)
from morello.records import replace


def pipelined(loop: Loop) -> Node:
    """The same computation, with the last loop of each iteration in the first one of the next.

    Buffers of an iteration live as long as the whole.
    """
    buffers, steps = _iteration(loop.body)
    own = {buffer.tensor for buffer in buffers}
    first, *middle, last = (_of_iteration(step, own, loop.variable) for step in steps)
    start, following = Affine(), Affine(loop.step, ((loop.variable, 1),))
    end = Affine((loop.count - 1) * loop.step)

    def begun(at: Affine) -> list[Node]:
        return [_with(step, loop.variable, at) for step in middle]

    body = Block((_together(last, _with(first, loop.variable, following)), *begun(following)))
    result: Node = Block(
        (
            _with(first, loop.variable, start),
            *begun(start),
            replace(loop, count=loop.count - 1, body=body),
            _with(last, loop.variable, end),
        )
    )
    for buffer in reversed(buffers):
        # It is filled again in each iteration, so that no one step fills it first.
        result = replace(buffer, body=result, copied=None)
    return result


def _iteration(node: Node) -> tuple[list[Allocate], tuple[Node, ...]]:
    """Buffers of an iteration, outermost first, and its steps."""
    buffers: list[Allocate] = []
    while isinstance(node, Allocate | Resident):
        buffers += [node] if isinstance(node, Allocate) else []
        node = node.body
    assert isinstance(node, Block), "an iteration of a pipelined loop has a first and a last loop"
    return buffers, node.steps


def _together(last: Node, first: Node) -> Node:
    """One loop in the place of two that take the same steps, with their tails."""
    (ends, *end), (begins, *begin) = (
        node.steps if isinstance(node, Block) else (node,) for node in (last, first)
    )
    assert isinstance(ends, Loop)
    assert isinstance(begins, Loop)
    assert (ends.count, ends.step, len(end)) == (begins.count, begins.step, len(begin))
    at = Affine(0, ((ends.variable, 1),))
    loop = replace(ends, body=Block((ends.body, _with(begins.body, begins.variable, at))))
    return Block((loop, *end, *begin)) if end else loop


def _of_iteration(node: Node, buffers: Set[Tensor], variable: str) -> Node:
    """A step whose views of these buffers say which iteration they are for."""
    version = Version(iteration=Affine(0, ((variable, 1),)))

    def marked(view: View) -> View:
        return replace(view, version=version) if view.tensor in buffers else view

    return _changed(node, marked)


def _with(node: Node, variable: str, value: Affine) -> Node:
    """A node of its own, with something in the place of a variable."""

    def moved(view: View) -> View:
        offsets = tuple(offset.with_value(variable, value) for offset in view.offsets)
        return replace(view, offsets=offsets, version=view.version.at(variable, value))

    return _changed(node, moved)


def _changed(node: Node, change: Callable[[View], View]) -> Node:
    """A node with other views."""
    match node:
        case Block(steps=steps):
            return Block(tuple(_changed(step, change) for step in steps))
        case Loop(body=body) | Ordered(body=body) | Prepack(body=body):
            return replace(node, body=_changed(body, change))
        case ParallelLoop(body=body, tail=tail):
            rest = None if tail is None else _changed(tail, change)
            return replace(node, body=_changed(body, change), tail=rest)
        case Allocate(body=body, copied=copied):
            source = None if copied is None else change(copied)
            return replace(node, body=_changed(body, change), copied=source)
        case Resident(view=view, body=body):
            return replace(node, view=change(view), body=_changed(body, change))
        case KernelCall(operands=operands) | Apply(operands=operands):
            return replace(node, operands=tuple(map(change, operands)))
        case Lookup():
            table, indices, output = map(change, node.operands)
            return replace(node, table=table, indices=indices, output=output)
