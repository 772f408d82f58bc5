"""Prepacking, taken out of a program: what packs weights once, before all calls.

A rule's result makes a buffer of a weight and fills it in a `Prepack` step. The buffer becomes an
argument of the function, in the place of the weight, and the step a packing function.
"""

from __future__ import annotations

from morello.ir.programs.tree import Allocate, Block, Node, Packing, Prepack, Resident
from morello.records import replace


def split_prepacking(node: Node) -> tuple[Node, tuple[Packing, ...]]:
    """A program without its prepacking, and how its weights are packed, in order."""
    match node:
        case Allocate(tensor=tensor, body=Block(steps=(Prepack(weight=weight, body=body), *rest))):
            inner, packings = split_prepacking(_block(rest))
            return inner, (Packing(weight, tensor, body), *packings)
        case Allocate(body=body) | Resident(body=body):
            inner, packings = split_prepacking(body)
            return replace(node, body=inner), packings
        case Block(steps=steps):
            parts = [split_prepacking(step) for step in steps]
            return _block([n for n, _ in parts]), tuple(p for _, found in parts for p in found)
        case _:
            return node, ()


def _block(steps: list[Node]) -> Node:
    return steps[0] if len(steps) == 1 else Block(tuple(steps))
