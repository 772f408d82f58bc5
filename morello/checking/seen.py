"""Tensors on the way that lie in memory already: parts of other tensors, in another order.

What only moves elements of an argument, of an output, or of what is computed in parts is not
computed where each of its dimensions goes through that memory in equal steps: what reads it sees it
there. So heads that lie side by side in a matrix are operands of products as any others, in a
layout of their own. Where a copy is better, the search finds it.

The fastest dimension has to lie in one piece. Weights are left as they are: they may be packed.

What is computed with a sum, and is then taken apart, such as a product in heads, is put in memory:
as one graph, the sum would have all tiles of the pieces, which are no tiles of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.layout import Axis, Layout, order_of
from morello.ir.operators import OperandIndex
from morello.ir.pruning import prunes
from morello.ir.sizes import sizes_from
from morello.records import replace

LEAST_KEPT = 4096
"""Elements of what is put in memory to be taken apart. With fewer the search is small, and a copy
counts."""


class Seen(Struct, frozen=True):
    """The calls that are left, and the tensors that are put in memory for what is seen of them."""

    calls: tuple[Checked, ...]
    kept: tuple[str, ...]


def with_views(calls: Sequence[Checked], in_parts: Collection[str]) -> Seen:
    """What only moves elements of memory, as it is seen there.

    Args:
        calls: Each after those whose results it reads.
        in_parts: Tensors that are computed in parts.
    """
    left: list[Checked] = []
    seen: dict[str, GoalTensor] = {}
    kept: dict[str, None] = {}
    summed: set[str] = set()  # what is computed with a sum
    for given in calls:
        call = replace(given, tensors=tuple(seen.get(t.name, t) for t in given.tensors))
        *inputs, result = call.tensors
        apart = _takes_apart(call) and inputs[0].name in summed and prunes("taken_apart")
        kept |= dict.fromkeys([inputs[0].name] if apart else [])
        view = _view(call, {*in_parts, *kept})
        if view is not None:
            seen[view.name] = view
            continue
        left.append(call)
        if result.role == "local" and result.name not in in_parts:
            operator = call.operation.operator
            sums = any(part.reduction for part in operator.parts or (operator,))
            if sums or any(tensor.name in summed for tensor in inputs):
                summed.add(result.name)
    return Seen(tuple(left), tuple(kept))


def _takes_apart(call: Checked) -> bool:
    """Whether the rows of a large tensor become several dimensions."""
    read, source = call.operation.operands[0], call.tensors[0]
    rows = call.operation.operator.moves and any(len(index.terms) > 1 for index in read)
    return rows and source.elements >= LEAST_KEPT


def lies_in_memory(tensor: GoalTensor, in_parts: Collection[str]) -> bool:
    """Whether it certainly does, as it is, in no panels."""
    lies = tensor.role in ("input", "output", "view") or tensor.name in in_parts
    return lies and not (tensor.whole or tensor).layout.panel


def seen_along(
    tensor: GoalTensor,
    read: Sequence[OperandIndex],
    sizes: Mapping[str, int],
    dims: Sequence[str],
    name: str,
) -> GoalTensor | None:
    """A tensor in memory with one dimension for each of these; none if it cannot be seen so.

    Args:
        tensor: What is read.
        read: Its indices.
        sizes: Of dimensions.
        dims: All dimensions of the indices, and others, along which elements are repeated.
        name: What the view is called.
    """
    found = _places(tensor, read, sizes)
    if found is None:
        return None
    memory = tensor.whole or tensor
    along, lows = found
    # What is repeated lies nowhere.
    repeated = Axis(memory.layout.order[0] if memory.shape else 0, 0)
    axes = tuple(along.get(dim, repeated) for dim in dims)
    return _of_memory(tensor, axes, tuple(sizes[d] for d in dims), lows, name)


def _view(call: Checked, in_parts: Collection[str]) -> GoalTensor | None:
    """The result of a call as it is seen in memory; none where it has to be computed."""
    source, result = call.tensors[0], call.tensors[-1]
    if not call.operation.operator.moves or result.role != "local" or result.name in in_parts:
        return None
    if not lies_in_memory(source, in_parts) or source.dtype != result.dtype:
        return None
    read, written = call.operation.operands
    sizes = sizes_from(call.operation, [source.shape, result.shape])
    found = _places(source, read, sizes)
    if found is None:
        return None
    along, lows = found
    axes = [_axis(index, along, sizes) for index in written]
    known = tuple(axis for axis in axes if axis is not None)
    if len(known) < len(axes):
        return None
    return _of_memory(source, known, result.shape, lows, result.name)


def _places(
    source: GoalTensor, read: Sequence[OperandIndex], sizes: Mapping[str, int]
) -> tuple[dict[str, Axis], tuple[int, ...]] | None:
    """What each dimension runs along in memory, and where it begins there.

    None where a dimension runs along several, as in a diagonal, or where elements are met twice, as
    in windows that overlap.
    """
    memory = source.whole or source
    own = source.axes or tuple(map(Axis, range(len(source.shape))))
    along = {d: Axis(p, f).of(own[p]) for p, index in enumerate(read) for d, f in index.terms}
    if len(along) < sum(len(index.terms) for index in read):
        return None
    reach: dict[int, int] = {}
    for dim, axis in sorted(along.items(), key=lambda item: item[1].step):
        if sizes[dim] > 1 and axis.step:
            if axis.step < reach.get(axis.dimension, 1):
                return None
            reach[axis.dimension] = axis.step * sizes[dim]
    lows = list(source.lows or (0 for _ in memory.shape))
    for axis, index in zip(own, read, strict=True):
        lows[axis.dimension] += axis.step * index.low
    return along, tuple(lows)


def _of_memory(
    source: GoalTensor,
    axes: tuple[Axis, ...],
    shape: tuple[int, ...],
    lows: tuple[int, ...],
    name: str,
) -> GoalTensor | None:
    """A view along these axes; none where its fastest dimension does not lie in one piece."""
    memory = source.whole or source
    order = order_of(axes, memory.layout.order)
    if order:
        last, fastest = order[-1], Axis(memory.layout.order[-1])
        if axes[last] != fastest and shape[last] > 1:
            return None
    layout = Layout(order)
    return GoalTensor(name, "view", source.dtype, shape, layout, memory, lows, axes)


def _axis(index: OperandIndex, along: Mapping[str, Axis], sizes: Mapping[str, int]) -> Axis | None:
    """What a dimension of the result runs along; none if that is not in equal steps."""
    if index.margins or not along.keys() >= {*index.dims}:
        return None
    # From the innermost dimension on: each goes on where what is inside of it ends.
    ordered = sorted(index.terms, key=lambda term: (sizes[term[0]] > 1, term[1]))
    long = [(dim, factor) for dim, factor in ordered if sizes[dim] > 1] or ordered[:1]
    axis, reach = along[long[0][0]], 1
    for dim, factor in long:
        if factor != reach or along[dim] != Axis(axis.dimension, axis.step * reach):
            return None
        reach *= sizes[dim]
    return axis
