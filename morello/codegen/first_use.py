"""Copies that are made by the kernel that uses them first, in the place of a copy before it.

A buffer is filled, and then loops use all of it again and again. Instead, the first iteration may
read the original, and store the copy as it goes: loads and stores then overlap with arithmetic.
Kernels say which operand they can copy like this (``copy_on_first_use``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from morello.ir.numeric import Array
from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Block,
    FirstUseCopy,
    KernelCall,
    Loop,
    Node,
    ParallelLoop,
    Resident,
    Tensor,
    View,
    walk,
)
from morello.records import replace


def copy_on_first_use(node: Node) -> Node:
    """The same program, in which kernels make the copies that they can."""
    match node:
        case Allocate(copied=View()) if begun := _begun(node):
            return copy_on_first_use(begun)
        case Block(steps=steps):
            return Block(tuple(map(copy_on_first_use, steps)))
        case ParallelLoop(body=body, tail=tail):
            last = None if tail is None else copy_on_first_use(tail)
            return replace(node, body=copy_on_first_use(body), tail=last)
        case Loop(body=body) | Allocate(body=body) | Resident(body=body):
            return replace(node, body=copy_on_first_use(body))
        case _:
            return node


def _begun(node: Allocate) -> Allocate | None:
    """A buffer that is filled as it is used, where what uses it can do so."""
    match node:
        case Allocate(tensor, Block((_, use, *rest)), origin, View() as source):
            found = _kept(tensor, source, use)
            if found and not any(_uses(tensor, step) for step in rest):
                begun = _with(use, found)
                return Allocate(tensor, Block((begun, *rest)) if rest else begun, origin)
    return None


def _with(node: Node, kept: Mapping[int, FirstUseCopy]) -> Node:
    """The node with the copies that its calls make, by the identity of a call."""
    match node:
        case KernelCall():
            return replace(node, kept=kept.get(id(node), node.kept))
        case Block(steps=steps):
            return Block(tuple(_with(step, kept) for step in steps))
        case Loop(body=body) | Allocate(body=body) | Resident(body=body):
            return replace(node, body=_with(body, kept))
        case _:
            return node


def _uses(tensor: Tensor, node: Node) -> Iterator[View]:
    """What a node's kernels use of a tensor."""
    calls = (call for call in walk(node) if isinstance(call, KernelCall))
    return (view for call in calls for view in call.operands if view.tensor == tensor)


def _kept(tensor: Tensor, source: View, node: Node) -> Mapping[int, FirstUseCopy]:
    """What calls of a node have to copy so that all that it uses of a buffer is there by then.

    Nothing if they cannot.
    """
    calls = [call for call in walk(node) if isinstance(call, KernelCall)]
    # Neither may change before all is copied: the kernels read the original in place of the copy.
    changed = {call.operands[-1].tensor for call in calls}
    first = _FirstUse(tensor, source)
    return first.kept if not changed & {tensor, source.tensor} and first.reach(node) else {}


@dataclass
class _FirstUse:
    """Goes through a program as it is executed, but for iterations that use nothing new.

    ``there``: of each element of the buffer, whether it has been stored by now. ``loops`` are the
    variables of those around, with their values.
    """

    tensor: Tensor
    source: View
    kept: dict[int, FirstUseCopy] = field(default_factory=dict)
    loops: dict[str, int] = field(default_factory=dict)
    there: Array = field(init=False)

    def __post_init__(self) -> None:
        self.there = np.zeros(self.tensor.shape, np.bool_)

    def reach(self, node: Node) -> bool:
        """Whether all that a node uses is there in time."""
        match node:
            case Block(steps=steps):
                return all(map(self.reach, steps))
            case Loop():
                return self._loop(node)
            case Allocate(body=body) | Resident(body=body):
                return self.reach(body)
            case KernelCall():
                return self._call(node)
            case _:  # threads begin at once
                return not any(_uses(self.tensor, node))

    def _loop(self, loop: Loop) -> bool:
        offsets = [o for view in _uses(self.tensor, loop.body) for o in view.offsets]
        if not offsets:
            return True
        moves = any(_moves(offset, loop.variable) for offset in offsets)
        for iteration in range(loop.count if moves else 1):
            self.loops[loop.variable] = iteration * loop.step
            if not self.reach(loop.body):
                return False
        del self.loops[loop.variable]
        return True

    def _call(self, call: KernelCall) -> bool:
        used = [p for p, view in enumerate(call.operands) if view.tensor == self.tensor]
        for position in used:
            view = call.operands[position]
            if view.runs_on:
                return False
            part = self._part(view)
            if not self.there[part].all():
                kept = self._keeps(call, position)
                # The copy is made while all loops in `first` are at 0. What is first used later on
                # would never be stored.
                if kept is None or len(used) > 1 or any(self.loops[name] for name in kept.first):
                    return False
                self.kept[id(call)] = kept
                self.there[part] = True
        return True

    def _part(self, view: View) -> tuple[slice, ...]:
        starts = [o.constant + sum(f * self.loops[v] for v, f in o.terms) for o in view.offsets]
        slices = [slice(start, start + 1) for start in starts]
        for axis, size in zip(view.every_axis, view.sizes, strict=True):
            start = starts[axis.dimension]
            slices[axis.dimension] = slice(start, start + axis.step * (size - 1) + 1, axis.step)
        return tuple(slices)

    def _keeps(self, call: KernelCall, position: int) -> FirstUseCopy | None:
        """The copy that a call can make of an operand, if it may read the source instead."""
        if call.kernel.clauses.copied is None or call.kept is not None:
            return None
        pattern, view = call.kernel.match.operands[position], call.operands[position]
        source = self.source.under(view)
        fits = source.level in pattern.levels and source.order == view.order and _in_rows(source)
        panels = source.tensor.layout.panel or source.runs_on
        if pattern.name != call.kernel.clauses.copied or panels or not fits:
            return None
        staying = (v for v in self.loops if not any(_moves(o, v) for o in view.offsets))
        return FirstUseCopy(position, source, tuple(staying))


def _in_rows(view: View) -> bool:
    """Whether neighbours along its fastest dimension are neighbours in memory.

    They are not where another dimension of the tensor is faster, such as that of a batch.
    """
    if not view.order:
        return True
    axis = view.axis(view.order[-1])
    return axis.dimension == view.tensor.layout.fastest and axis.step == 1


def _moves(offset: Affine, variable: str) -> bool:
    return any(name == variable for name, _ in offset.terms)
