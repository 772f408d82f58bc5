"""A plan in numbers: what a learned model knows of a program.

All of them come from the plan alone. Names are of two kinds. Those with a colon hold what a target
or a rule declares (``coefficient:l1.write``, ``kernel:axpy``): they mean something to models for
that target only. All others are of any target.

What adds up over a program is divided by its predicted cycles, so that it says what kind of program
it is, and not how large. Of memory, *traffic* is counted: what moves into a cache is all operands
of the largest parts of a program that fit in it, each time that they run. So it is known what a
plan's loops cost there whether or not the target has a coefficient for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from math import log2

import numpy as np

from morello.ir.layout import contiguity
from morello.ir.spec import Spec
from morello.ir.target import Target
from morello.report.plan import CostShare, Plan, shares_of
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled, on_the_way
from morello.search.results.plan_length import written_kernels
from morello.search.results.plan_signature import is_straight
from morello.search.results.reconstruct import PlanNode, leaves

SCHEMA = 2
"""Raise it with every change of what a feature means, here or in `graphs`: models of another schema
are not used.
"""

CACHES = tuple(1 << bits for bits in range(14, 26))
"""Bytes of caches for which traffic is counted, 16 KiB to 32 MiB: no target names them all."""

OPERANDS = 4

INTERMEDIATES = "intermediates"
"""How many buffers are begun for what a graph computes on the way: one each where nothing is fused,
one for each tile where it is.
"""

Sums = Mapping[str, float]

Shares = Callable[[Target, PlanNode], list[CostShare]]
"""What `shares_of` says of a node."""


def remembered_shares() -> Shares:
    """`shares_of` that looks at each choice for a Spec once."""
    known: dict[tuple[int, Spec, object], list[CostShare]] = {}

    def shares(target: Target, node: PlanNode) -> list[CostShare]:
        key = (id(target), node.spec, node.option)
        if key not in known:
            known[key] = shares_of(target, node)
        return known[key]

    return shares


class PlanFeatures:
    """Features of plans that share parts, such as those of a pool: each part is looked at once."""

    def __init__(self, shares: Shares | None = None) -> None:
        """Nothing is known yet. ``shares``: as `remembered_shares`, where others need them too."""
        self._shares = shares or remembered_shares()
        self._sums: dict[int, Sums] = {}
        self._own: dict[tuple[int, Spec, object], Sums] = {}
        self._straight: dict[int, bool] = {}
        self._seen: list[PlanNode] = []

    def of(self, plan: Plan) -> dict[str, float]:
        """The features of one plan, by name; what is not there is 0."""
        total: dict[str, float] = {}
        for tree in plan.trees:
            _add(total, self._summed(tree.target, tree.root), 1)
        cycles = max(plan.cycles, 1.0)
        found = {name: value / cycles for name, value in total.items()}
        found["log cycles"] = log2(cycles)
        found["log length"] = log2(sum(written_kernels(tree.root) for tree in plan.trees))
        largest = max(plan.trees, key=lambda tree: tree.root.cycles)
        found |= self._hot(largest.target, largest.root)
        found |= rows_apart(largest.root.spec)
        return found

    def _summed(self, target: Target, node: PlanNode) -> Sums:
        """What adds up over a part of a plan, for one run of it."""
        # The node is kept, so that no other has its identity.
        known = self._sums.get(id(node))
        if known is None:
            self._seen.append(node)
            known = self._sums[id(node)] = self._counted(target, node)
        return known

    def _counted(self, target: Target, node: PlanNode) -> Sums:
        found = dict(self._own_shares(target, node))
        below = [self._summed(target, child) for child in node.children]
        for count, sums in zip(node.counts, below, strict=True):
            _add(found, sums, count)
        bytes_touched = _bytes(node.spec)
        for size in CACHES:
            name = f"traffic {size >> 10} KiB"
            if bytes_touched <= size or not node.children:
                found[name] = bytes_touched
        found["rows"] = _rows(node.spec) if bytes_touched <= CACHES[0] else found.get("rows", 0.0)
        if node.step is None:
            found["calls"] = 1
            found[f"calls of {'copies' if _copies(node) else 'others'}"] = 1
        else:
            _add(found, _loops(node.step), 1)
            found["tails"] = found.get("tails", 0.0) + _tail_cycles(node)
        return found

    def _own_shares(self, target: Target, node: PlanNode) -> Sums:
        key = (id(target), node.spec, node.option)
        if key not in self._own:
            kernel = isinstance(node.option.alternative, KernelAlternative)
            shares = self._shares(target, node)
            own = {f"coefficient:{share.coefficient}": share.cycles for share in shares}
            if kernel:
                own[f"kernel:{node.option.name}"] = node.own
                own[f"calls:{node.option.name}"] = 1
            elif node.own:
                own[f"rule:{node.option.name}"] = node.own
            self._own[key] = own
        return self._own[key]

    def _hot(self, target: Target, root: PlanNode) -> dict[str, float]:
        """Along the way to where most of the cycles are spent."""
        found: dict[str, float] = {"depth": 0, "buffers": 0, "loops around": 0}
        trips: list[float] = []
        node, runs = root, 1
        levels = [0.0] * len(target.bounded)
        while node.step is not None and not self._is_straight(node):
            own_trips, buffers = trips_and_buffers(node.step)
            trips += own_trips
            found["buffers"] += buffers
            cycles = [n * c.cycles for n, c in zip(node.counts, node.children, strict=True)]
            place = cycles.index(max(cycles))
            runs *= max(node.counts[place], 1)
            leaf = leaves(node.step)[place][0]
            assert leaf.used is not None
            for level, used in enumerate(map(int, leaf.used)):
                levels[level] = max(levels[level], used / (target.bounded[level].capacity or 1))
            node = node.children[place]
            found["depth"] += 1
        found["loops around"] = len(trips)
        for place, trip in enumerate(reversed(trips[-3:])):
            found[f"log trips {place}"] = log2(trip)
        found["log runs"] = log2(runs)
        found["log cycles of a run"] = log2(max(node.cycles, 1))
        found["share of the run"] = runs * node.cycles / max(root.cycles, 1)
        sizes = sorted(node.spec.sizes, reverse=True)
        for place, size in enumerate(sizes[:3]):
            found[f"log size {place}"] = log2(size)
        found["log calls of a run"] = log2(written_kernels(node))
        for place, share in enumerate(levels):
            found[f"used {place}"] = share
        return found

    def _is_straight(self, node: PlanNode) -> bool:
        known = self._straight.get(id(node))
        if known is None:
            self._seen.append(node)
            known = node.step is None or (
                is_straight(node.step) and all(map(self._is_straight, node.children))
            )
            self._straight[id(node)] = known
        return known


def _add(total: dict[str, float], sums: Sums, count: float) -> None:
    for name, value in sums.items():
        total[name] = total.get(name, 0.0) + count * value


def _bytes(spec: Spec) -> float:
    """Of all operands in memory."""
    operands = enumerate(spec.family.operands)
    return float(
        sum(
            o.dtype.bytes * float(np.prod(spec.extents(place), dtype=np.float64))
            for place, o in operands
            if o.addressable
        )
    )


def _rows(spec: Spec) -> float:
    """Pieces of memory that the operands lie in."""
    total = 0.0
    for place, operand in enumerate(spec.family.operands):
        if operand.addressable:
            extents = spec.extents(place)
            together = min(int(contiguity(spec.packing[place])), len(extents))
            apart = operand.order[: len(extents) - together]
            total += float(np.prod([extents[axis] for axis in apart], dtype=np.float64))
    return total


def rows_apart(spec: Spec) -> dict[str, float]:
    """Of the first operands: the logarithm of what rows are a multiple of, in bytes, up to a page.

    Rows at odd places make vectors lie across lines, and rows a page apart share sets of a cache.
    """
    found: dict[str, float] = {}
    for place, operand in enumerate(spec.family.operands[:OPERANDS]):
        if operand.addressable and operand.order:
            row = spec.extents(place)[operand.order[-1]] * operand.dtype.bytes
            found[f"rows apart {place}"] = log2(min(row & -row, 1 << 12))
    return found


def _copies(node: PlanNode) -> bool:
    """Whether an operation has one input, of the output's shape."""
    operands = node.spec.family.operation.operands
    return len(operands) == 2 and operands[0] == operands[1]


def trips_and_buffers(step: Step) -> tuple[list[float], int]:
    """Trips of the loops on the way to full tiles, the outermost first; buffers in memory there."""
    trips: list[float] = []
    buffers = 0
    for one in on_the_way(step):
        match one:
            case Placed(copied=True, tensor=tensor) if tensor.operand.level.addressable:
                buffers += 1
            case Tiled(unrolled=unrolled, parallel=parallel, count=count):
                if parallel or not unrolled:
                    trips.append(float(count))
    return trips, buffers


def _loops(step: Step) -> Mapping[str, float]:
    """Loops and intermediates that are begun, and steps of loops, in one run."""
    counts: dict[str, float] = defaultdict(float)

    def visit(step: Step, runs: float) -> None:
        match step:
            case Leaf():
                pass
            case Sequence(steps=steps):
                for inner in steps:
                    visit(inner, runs)
            case Placed(body=body, shape=shape, tensor=tensor):
                if shape is not None and tensor.operand.addressable:
                    counts[INTERMEDIATES] += runs
                    size = float(np.prod([float(extent) for extent in shape]))
                    counts["bytes of intermediates"] += runs * size * tensor.operand.dtype.bytes
                visit(body, runs)
            case Tiled(unrolled=unrolled, parallel=parallel, full=full, tail=tail):
                count = float(step.count)
                if parallel or not unrolled:
                    counts["loops"] += runs
                    counts["steps"] += runs * count
                else:
                    counts["unrolled"] += runs * count
                visit(full, runs * count)
                if step.remainder:
                    visit(tail, runs)

    visit(step, 1.0)
    return counts


def _tail_cycles(node: PlanNode) -> float:
    """Cycles of what is left over beside full tiles, in one run."""
    assert node.step is not None
    cycles = iter([n * c.cycles for n, c in zip(node.counts, node.children, strict=True)])

    def visit(step: Step, tail: bool) -> float:
        match step:
            case Leaf():
                own = next(cycles)
                return own if tail else 0.0
            case Sequence(steps=steps):
                return sum(visit(inner, tail) for inner in steps)
            case Placed(body=body):
                return visit(body, tail)
            case Tiled(full=full, tail=rest):
                below = visit(full, tail)
                return below + (visit(rest, True) if step.remainder else 0.0)

    return visit(node.step, False)
