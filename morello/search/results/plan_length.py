"""How long the code of a plan would be, without writing it."""

from __future__ import annotations

from collections.abc import Iterator

from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import PlanNode


def written_kernels(plan: PlanNode) -> int:
    """How many kernels its code names: loops that are unrolled have a copy for every step.

    A kernel is one to some ten lines, so that lengths of programs for one goal compare.
    """
    return _Lengths().of(plan)


class _Lengths:
    """Lengths of the parts of a plan, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, plan: PlanNode) -> int:
        if id(plan) not in self._known:
            below = iter([self.of(child) for child in plan.children])
            self._known[id(plan)] = 1 if plan.step is None else _length(plan.step, below)
        return self._known[id(plan)]


def _length(step: Step, below: Iterator[int]) -> int:
    """Of a part of a rule's result; ``below`` has its leaves, in the order of `leaves`."""
    match step:
        case Leaf():
            return next(below)
        case Sequence(steps=steps):
            return sum(_length(inner, below) for inner in steps)
        case Placed(body=body):
            return _length(body, below)
        case Tiled(full=full, tail=tail, remainder=remainder, count=count, unrolled=unrolled):
            copies = int(count) if unrolled else 1
            length = copies * _length(full, below)
            return length + (_length(tail, below) if remainder else 0)
