"""Tensors on the way that lie in memory already: parts of other tensors, in another order.

What only moves elements of an argument, of an output, or of what is computed in parts is not
computed where each of its dimensions goes through that memory in equal steps: what reads it sees it
there. So heads that lie side by side in a matrix are operands of products as any others, in a
layout of their own. Where a copy is better, the search finds it.

The fastest dimension has to lie in one piece. What is no view is one move from a view, however many
statements say it. Weights are left as they are: they may be packed.

What is computed with a sum, and is then taken apart, such as a product in heads, is put in memory:
as one graph, the sum would have all tiles of the pieces, which are no tiles of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from morello.checking.moves import Way
from morello.checking.statement_operators import statement_call
from morello.checking.use import Checked
from morello.ir.goal import GoalTensor
from morello.ir.layout import Axis, Layout
from morello.ir.operators import OperandIndex, Operator
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


def with_views(
    calls: Sequence[Checked], in_parts: Collection[str], operators: Mapping[str, Operator]
) -> Seen:
    """What only moves elements of memory, as it is seen there, or as one move from there.

    Args:
        calls: Each after those whose results it reads.
        in_parts: Tensors that are computed in parts.
        operators: Those that are declared.
    """
    left: list[Checked] = []
    seen: dict[str, GoalTensor] = {}
    moved: dict[str, Way] = {}  # what is no view
    kept: dict[str, None] = {}
    summed: set[str] = set()  # what is computed with a sum
    for given in calls:
        call = replace(given, tensors=tuple(seen.get(t.name, t) for t in given.tensors))
        *inputs, result = call.tensors
        apart = _takes_apart(call) and inputs[0].name in summed and prunes("taken_apart")
        kept |= dict.fromkeys([inputs[0].name] if apart else [])
        inner = result.role == "local" and result.name not in in_parts
        way = _way(call, moved, {*in_parts, *kept})
        view = way.view(result.name) if way is not None and inner else None
        if view is not None:
            seen[view.name] = view
            continue
        if way is not None and inputs[0].name in moved:
            call = _last_move(call, way, operators)
        if way is not None and inner:
            moved[result.name] = way
        left.append(call)
        if inner:
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
    return Way.of(tensor).read(read, sizes, dims).view(name, repeats=True)


def goes_on(tensor: GoalTensor, places: Collection[int]) -> bool:
    """Whether, in memory, each of these dimensions goes on where the next one ends."""
    strides, shape = tensor.strides, tensor.shape
    return all(strides[p] == strides[p + 1] * shape[p + 1] for p in places)


def seen_as_rows(tensor: GoalTensor, places: Collection[int], shape: tuple[int, ...]) -> GoalTensor:
    """A tensor in memory, each of these dimensions as one with the next one, which goes on.

    ``shape``: that of what is seen.
    """
    memory = tensor.whole or tensor
    own = tensor.along
    kept = [p for p in range(len(own)) if p not in places]
    axes = tuple(Axis(own[p].dimension, own[p].step, p - 1 in places) for p in kept)
    layout = Layout(tuple(kept.index(p) for p in tensor.layout.order if p in kept))
    stars = ", ".join("+" if p - 1 in places else ":" for p in kept)
    name = f"{tensor.name}[{stars}]"
    return GoalTensor(name, "view", tensor.dtype, shape, layout, memory, tensor.starts, axes)


def _way(call: Checked, moved: Mapping[str, Way], lying: Collection[str]) -> Way | None:
    """Where the elements of a call's result are in memory, if it only moves them from there."""
    operation, result = call.operation, call.tensors[-1]
    if not operation.operator.moves or call.tensors[0].dtype != result.dtype:
        return None
    source = call.tensors[0]
    way = moved.get(source.name)
    if way is None and lies_in_memory(source, lying):
        way = Way.of(source)
    if way is None or not result.shape:
        return None
    read, written = operation.operands
    dims = operation.dims
    if not {*dims} <= {dim for index in read for dim in index.dims}:
        return None  # elements are repeated
    sizes = sizes_from(operation, [source.shape, result.shape])
    return way.read(read, sizes, dims).written(written, sizes, dims)


def _last_move(call: Checked, way: Way, operators: Mapping[str, Operator]) -> Checked:
    """The call that does all of this way at once."""
    result = call.tensors[-1]
    span = call.operation.operator.statement.span
    view, operator, sizes = way.last_move(f"{result.name}.{way.memory.name}", span)
    return statement_call(operator, (view, result), sizes, operators)
