"""What kernels want of an operand: the layouts and vectors that are worth a try.

A kernel for an operator that rules make of the matched one, such as a product of a convolution,
wants something of views of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from morello.language import ast
from morello.rewriting.functions import takes_directly
from morello.rewriting.patterns import pattern_order, refuses_plain, wanted_patterns
from morello.rewriting.references import SpecRef, TensorRef, spec_ref
from morello.rewriting.renaming import is_renaming
from morello.rewriting.steps import Leaf
from morello.spec.dtypes import DType
from morello.spec.graph import Graph, Node
from morello.spec.layout import Axis, Layout, Order, height_of, panel_of, row_major, width_of
from morello.spec.machine import Kernel, Target
from morello.spec.spec import Family, Operand

Applied = Callable[[SpecRef], Iterator[Leaf]]
"""What rules apply to views of an operation's operands, whatever the sizes are."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a kernel wants of an operand, or of a view of it along ``axes``.

    ``reused``: no view is around it, or one that is read again for another value of what it leaves
    out. Otherwise nothing is gained by registers that hold it outside of the view. ``read``: the
    kernel reads it, so that it may gain by panels; what is only written does not. ``own``: the
    kernel is for the operation itself, whose other operands it has to accept as they are.
    """

    kernel: Kernel
    name: str
    pattern: ast.KernelOperand
    axes: tuple[Axis, ...]
    reused: bool
    read: bool
    own: bool

    @property
    def possible(self) -> bool:
        """Whether an operand has as many dimensions, and neighbours to lie together."""
        rank = len(self.axes)
        if len(self.pattern.shape) > rank:
            return False
        return not rank or self.axes[pattern_order(self.pattern, rank)[-1]].step == 1

    @property
    def plain(self) -> bool:
        """Whether it is wanted without panels too."""
        return not refuses_plain(self.kernel, self.name)

    def order(self, rank: int) -> Order:
        """The order of an operand of this rank: what a view leaves out is slowest.

        What several dimensions of a view run along is where the fastest of them is.
        """
        pattern = pattern_order(self.pattern, len(self.axes))
        along = [*dict.fromkeys(self.axes[p].dimension for p in reversed(pattern))][::-1]
        return (*(d for d in range(rank) if d not in along), *along)

    def in_panels(self, rank: int) -> Iterator[Layout]:
        """The layouts in panels that are wanted of an operand of this rank.

        Those with a height take the place of those as wide without one, where they can be.
        """
        panels = set(map(panel_of, self.pattern.panels))
        tall = {p for p in panels if height_of(p)}
        panels -= set(map(width_of, tall)) if self._two_fastest(rank) else tall
        return (Layout(self.order(rank), panel) for panel in panels)

    def _two_fastest(self, rank: int) -> bool:
        """Whether the two fastest dimensions of a view are those of the operand."""
        order = pattern_order(self.pattern, len(self.axes))[-2:]
        own = tuple(Axis(dimension) for dimension in self.order(rank)[-2:])
        return len(order) == 2 and tuple(self.axes[p] for p in order) == own


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """All that kernels want of an operand, and what was concluded from it."""

    of: tuple[Wish, ...]
    _concluded: dict[object, tuple[Any, ...]] = field(default_factory=dict)

    def once(self, question: object, conclude: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """What follows from the wishes, worked out when it is asked for the first time."""
        if question not in self._concluded:
            self._concluded[question] = conclude()
        return self._concluded[question]


def wishes(
    target: Target, applied: Applied, f: SpecRef, tensor: TensorRef, dtype: DType
) -> Iterator[Wish]:
    """What kernels want of one tensor of an operation, of this element type.

    Of kernels that may still match, see `wanted_patterns`; also those for operators that rules
    make of this one, which want something of views of its operands. Of a graph, each of its
    operations that the tensor is an operand of may come to be computed by a kernel.
    """
    axes = tuple(map(Axis, range(len(tensor.indices))))
    for use, position in _uses(target, f, tensor):
        own = use is f
        yield from _wishes(target, applied, use, position, dtype, axes, reused=True, own=own)


def _uses(target: Target, f: SpecRef, tensor: TensorRef) -> Iterator[tuple[SpecRef, int]]:
    """Operations that a tensor is an operand of, at which position: this one, a graph's nodes."""
    own = next((p for p, operand in enumerate(f.tensors) if operand.key == tensor.key), None)
    if own is not None:
        yield f, own
    composition = f.family.operation.operator.composition
    if composition is not None and composition.intermediates:
        for node, position in composition.graph.occurrences(tensor.name):
            yield _alone(target, composition.graph, node), position


def _alone(target: Target, graph: Graph, node: Node) -> SpecRef:
    """An operation of a graph for itself, whose operands may still come to be anywhere."""
    operands = (
        Operand(graph.dtype(tensor), target.farthest, row_major(len(indices)).order)
        for tensor, indices in zip(node.tensors, node.operation.operands, strict=True)
    )
    return spec_ref(Family(node.operation, tuple(operands)))


def _wishes(
    target: Target,
    applied: Applied,
    f: SpecRef,
    position: int,
    dtype: DType,
    axes: tuple[Axis, ...],
    *,
    reused: bool,
    own: bool,
) -> Iterator[Wish]:
    name, key = f.family.operation.names[position], f.tensors[position].key
    convertible = not takes_directly(target, f)
    read = f.family.operation.reads(position)
    for kernel, pattern in wanted_patterns(target, f, position, dtype, convertible=convertible):
        yield Wish(kernel, name, pattern, axes, reused, read, own)
    for leaf in applied(f):
        below = spec_ref(leaf.family)
        for place, tensor in enumerate(leaf.tensors):
            if tensor.key == key:
                along = axes if tensor.seen is None else _along(axes, tensor.seen.sight.axes)
                again = reused and _is_reused(f, leaf, tensor)
                yield from _wishes(
                    target, applied, below, place, dtype, along, reused=again, own=False
                )


def _is_reused(f: SpecRef, leaf: Leaf, tensor: TensorRef) -> bool:
    """Whether a view is the same for several values of a dimension that is left out."""
    if is_renaming(f, leaf):
        return True
    kept = {d for t in leaf.tensors for index in t.indices for d, _ in index.terms}
    gone = [d for d in f.family.operation.dims if d not in kept]
    return any(not tensor.source.indexed_by(dim) for dim in gone)


def _along(axes: Sequence[Axis], inner: Sequence[Axis]) -> tuple[Axis, ...]:
    """Axes of a view of a view."""
    return tuple(axis.of(axes[axis.dimension]) for axis in inner)
