"""Which plans are of one class: the same program, but for the sizes of its tiles.

A `PlanSignature` is too fine to choose what to measure by: programs that only loop in another way
around the same straight-line code take nearly the same time. A *class* is what most of the time
goes into. Of a plan's main parts it has the kernels of straight-line code, with the extents of that
code rounded to powers of two; which tensors are held in buffers, at which levels; and which
dimensions are looped over in memory, the outermost first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from math import log2

from msgspec import Struct

from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Placed, Step, Tiled, on_the_way
from morello.search.results.plan_signature import is_straight, main_parts
from morello.search.results.reconstruct import PlanNode


class PlanClass(Struct, frozen=True):
    """What plans of one class share.

    ``straight``: of each straight-line code, its kernels and the logarithms of its extents.
    """

    loops: tuple[Hashable, ...] = ()
    buffers: frozenset[Hashable] = frozenset()
    straight: frozenset[tuple[frozenset[str], tuple[int, ...]]] = frozenset()


def plan_class(plan: PlanNode) -> PlanClass:
    """The class of a plan."""
    return _Classes().of(plan)


class _Classes:
    """Classes of the parts of a plan, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, PlanClass] = {}
        self._kernels: dict[int, frozenset[str] | None] = {}

    def of(self, plan: PlanNode) -> PlanClass:
        if id(plan) not in self._known:
            self._known[id(plan)] = self._class(plan)
        return self._known[id(plan)]

    def _class(self, plan: PlanNode) -> PlanClass:
        kernels = self._straight(plan)
        if kernels is not None:
            extents = tuple(round(log2(size)) for size in plan.spec.sizes)
            return PlanClass(straight=frozenset([(kernels, extents)]))
        assert plan.step is not None
        main = zip(plan.children, main_parts(plan, loop_share=1.0), strict=True)
        parts = [self.of(child) for child, is_main in main if is_main]
        marks = list(_marks(plan.step))
        loops = [dim for kind, dim in marks if kind == "loop"]
        return PlanClass(
            tuple(dict.fromkeys([*loops, *(dim for part in parts for dim in part.loops)])),
            frozenset(mark for kind, mark in marks if kind == "buffer").union(
                *(part.buffers for part in parts)
            ),
            frozenset().union(*(part.straight for part in parts)),
        )

    def _straight(self, plan: PlanNode) -> frozenset[str] | None:
        """The kernels of straight-line code; none where a loop or a buffer is in it."""
        if id(plan) not in self._kernels:
            self._kernels[id(plan)] = self._kernels_of(plan)
        return self._kernels[id(plan)]

    def _kernels_of(self, plan: PlanNode) -> frozenset[str] | None:
        if isinstance(plan.option.alternative, KernelAlternative):
            return frozenset([plan.option.name])
        assert plan.step is not None
        below = [self._straight(child) for child in plan.children]
        found = [kernels for kernels in below if kernels is not None]
        if len(found) < len(below) or not is_straight(plan.step):
            return None
        return frozenset().union(*found)


def _marks(step: Step) -> Iterator[tuple[str, Hashable]]:
    """Loops and buffers in memory that a rule's result adds, the outermost first."""
    for one in on_the_way(step):
        match one:
            case Placed(copied=True, tensor=tensor) if tensor.operand.level.addressable:
                yield "buffer", (tensor.key, tensor.operand.level.name)
            case Tiled(dim=dim, unrolled=unrolled, parallel=parallel):
                if parallel or not unrolled:
                    yield "loop", (dim, parallel)
