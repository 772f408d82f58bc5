"""What a rule's result becomes: a tree of loops, buffers and sub-Specs.

`morello.rewriting.instantiate` makes it; `flatten` gives the search its leaves, each with how often
it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from morello.ir.layout import Packing
from morello.ir.numeric import Number, Size, Truth
from morello.ir.spec import Family
from morello.language import ast
from morello.rewriting.references import TensorRef


class Leaf(Struct, frozen=True):
    """A sub-Spec. ``sizes`` and ``used`` in the order of `Spec`; absent in structural mode.

    ``prepack``: it is computed once, before all calls. ``ordered``: threads compute it one after
    the other. ``required`` must hold for operands that are views to be what they are seen as.
    ``node`` is what yields it in the rule's result. ``intermediate``: in a part of a graph, the
    place of the operand that is computed on the way.
    """

    node: ast.Reapply | ast.Apply
    family: Family
    tensors: tuple[TensorRef, ...]
    sizes: tuple[Size, ...] | None
    used: tuple[Size, ...] | None
    prepack: bool = False
    ordered: bool = False
    required: Truth = True
    intermediate: int | None = None

    @property
    def extents(self) -> Iterator[tuple[int, ...]]:
        """Shapes of its operands, in a concrete step."""
        operation = self.family.operation
        assert self.sizes is not None
        sizes = dict(zip(operation.dims, map(int, self.sizes), strict=True))
        return (tuple(i.extent(sizes) for i in indices) for indices in operation.operands)

    @property
    def packing(self) -> tuple[Packing, ...]:
        """How its operands are packed."""
        return tuple(t.packing for t in self.tensors)


class Tiled(Struct, frozen=True):
    """A loop: ``count`` full tiles, then the tail where ``remainder`` is not 0.

    ``guard`` must hold: tiles of a register operand begin at a register, and none lies across the
    border of a panel unless it begins at one. The tail is empty where no Spec of a box has one.
    Where the loop is parallel, tiles are dealt out to ``threads`` one by one, the tail last. A
    parallel loop directly in it divides each of its tiles alike: it deals out the tiles of both,
    row by row of this *grid*, and to the ``inner`` loop itself there are no threads.

    ``counting``: the dimension that counts its steps, of buffers with a part for each, if there are
    some. ``pipelined``: the last loop of an iteration runs with the first one of the next.
    """

    dim: str
    step: Size
    count: Size
    threads: int
    remainder: Size
    parallel: bool
    unrolled: bool
    guard: Truth
    full: Step
    tail: Step
    inner: bool = False
    counting: str | None = None
    pipelined: bool = False

    @property
    def grid(self) -> Tiled | None:
        """The loop that it makes a grid with."""
        full = self.full
        return full if isinstance(full, Tiled) and full.inner else None

    @property
    def tiles(self) -> Size:
        """How many there are to deal out; of a grid, all, those at the ends of rows included."""
        if self.grid is None:
            return self.count
        return (self.count + (self.remainder > 0)) * (self.grid.count + (self.grid.remainder > 0))

    @property
    def runs(self) -> Size:
        """How often the slowest thread executes the full tile."""
        return 1 if self.inner else -(-self.tiles // self.threads)

    @property
    def idle(self) -> Truth:
        """Whether the tail takes no time: some thread has one full tile less than others.

        The tails of a grid count as full tiles.
        """
        if self.inner or self.grid is not None:
            return True
        return self.tiles % self.threads != 0

    @property
    def threads_used(self) -> Size:
        """As few as it takes to be as fast; an inner loop has none of its own."""
        if self.inner:
            return 1
        tails = 0 if self.grid is not None else self.idle & (self.remainder > 0)
        return -(-(self.tiles + tails) // self.runs)

    def full_runs(self, leaf: Leaf) -> Size:
        """How often the time passes that a leaf of the full tile takes; in order, threads wait."""
        return self.count if leaf.ordered else self.runs

    def tail_share(self, leaf: Leaf) -> Number:
        """What part of it passes for a leaf of the tail."""
        if leaf.ordered or not self.parallel:
            return 1
        return np.where(self.idle, SHARE_OF_A_CALL, 1.0)


class Placed(Struct, frozen=True):
    """``with``: ``tensor`` is ``source`` at another level; ``copied`` if it is a buffer.

    ``fits`` must hold: what this takes, in capacity units, is no more than what is free of the
    level, and a buffer in panels is wider than one. ``shape`` is that of an intermediate, which has
    no source that could tell it, and of what has a part for each step of a loop.
    """

    tensor: TensorRef
    source: TensorRef
    copied: bool
    taken: Size
    fits: Truth
    body: Step
    shape: tuple[Size, ...] | None = None


class Sequence(Struct, frozen=True):
    """Steps, in order."""

    steps: tuple[Step, ...]


Step = Leaf | Tiled | Placed | Sequence


def on_the_way(step: Step) -> Iterator[Tiled | Placed]:
    """Loops and placements around the sub-Specs of full tiles, the outermost first."""
    match step:
        case Leaf():
            return
        case Sequence(steps=steps):
            for inner in steps:
                yield from on_the_way(inner)
        case Placed(body=body):
            yield step
            yield from on_the_way(body)
        case Tiled(full=full):
            yield step
            yield from on_the_way(full)


SHARE_OF_A_CALL = 2.0**-20
"""What a call pays of that which is computed once before all calls: there are about a million.

It pays as much for what an otherwise idle thread does: it decides nothing, but must be possible.
"""


class Use(Struct, frozen=True):
    """A sub-Spec as the search needs it.

    ``count``: how often it runs (where ``active``; elsewhere it does not exist). ``consumed`` are
    the levels in which something was placed on the way to it.
    """

    leaf: Leaf
    count: Number
    active: Truth
    consumed: frozenset[str]


@dataclass(slots=True)
class Flattened:
    """Every leaf below a step, and what must hold for the whole to be legal."""

    uses: list[Use]
    required: list[Truth]

    def _require(self, active: Truth, condition: Truth) -> None:
        if condition is True:
            return
        self.required.append(condition if active is True else condition | np.logical_not(active))

    def _add(self, step: Step, count: Number, active: Truth, consumed: frozenset[str]) -> None:
        match step:
            case Leaf():
                self._require(active, step.required)
                share = count * SHARE_OF_A_CALL if step.prepack else count
                self.uses.append(Use(step, share, active, consumed))
            case Sequence(steps=steps):
                for inner in steps:
                    self._add(inner, count, active, consumed)
            case Placed():
                self._require(active, step.fits)
                inside = consumed | {step.tensor.operand.level.name}
                self._add(step.body, count, active, inside)
            case Tiled():
                self._require(active, step.guard)
                first = len(self.uses)
                self._add(step.full, count, active, consumed)
                self._repeat(first, step.full_runs)
                first = len(self.uses)
                self._add(step.tail, count, _both(active, step.remainder > 0), consumed)
                self._repeat(first, step.tail_share)

    def _repeat(self, first: int, times: Callable[[Leaf], Number]) -> None:
        """Multiply the counts of uses from ``first`` on."""
        self.uses[first:] = [
            Use(use.leaf, use.count * times(use.leaf), use.active, use.consumed)
            for use in self.uses[first:]
        ]


def flatten(step: Step) -> Flattened:
    """Leaves and requirements of a step tree."""
    flat = Flattened([], [])
    flat._add(step, 1, True, frozenset())
    return flat


def _both(left: Truth, right: Truth) -> Truth:
    if left is True or left is None:
        return right
    return left if right is True or right is None else _plain(left & right)


def _plain(condition: Truth) -> Truth:
    return bool(condition) if np.ndim(condition) == 0 else condition
