"""A plan becomes a program: rules' results become loops and buffers, decisions kernel calls.

`lower_step` turns one rule's result into a partial program, whose leaves are given by the caller:
the plans of sub-Specs here, the operations themselves where a rule is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field

from morello.codegen.pipelining import pipelined
from morello.ir.layout import Axis, Layout, panel
from morello.ir.programs.tree import (
    PLAIN,
    Affine,
    Allocate,
    Block,
    KernelCall,
    Loop,
    Node,
    Ordered,
    Origin,
    ParallelLoop,
    Prepack,
    Resident,
    Tensor,
    Version,
    View,
)
from morello.ir.spec import Operand
from morello.records import replace
from morello.rewriting.alternatives import KernelAlternative, RuleAlternative
from morello.rewriting.references import TensorRef
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import PlanNode

Leaves = Callable[[Leaf, tuple[View, ...]], Node]


@dataclass(slots=True)
class Names:
    """Fresh names within one program: of tensors and variables, and of versions."""

    taken: dict[str, int] = field(default_factory=dict)
    versions: int = 0

    def version(self, tensor: str) -> Version:
        """A version of its own, of what is computed under this name."""
        self.versions += 1
        return Version(f"{tensor}@{self.versions}")

    def fresh(self, base: str) -> str:
        """``base``, or ``base_2`` and so on when that is taken."""
        count = self.taken.get(base, 0) + 1
        self.taken[base] = count
        return base if count == 1 else f"{base}_{count}"


def whole(tensor: Tensor) -> View:
    """All of a tensor."""
    return View(tensor, tuple(Affine() for _ in tensor.shape), tensor.shape, tensor.level)


def buffer_of(source: View, operand: Operand, panels: int, name: str, page: int | None) -> View:
    """All of a new buffer of what a view shows, in these panels.

    Of a view of all dimensions in another order, it has the dimensions of the tensor: a packed
    weight is the weight in another layout. With a ``page``, in elements, long panels are spread:
    parts of several will be in a cache at once.
    """
    axes = [source.axis(position) for position in range(len(source.sizes))]
    along = [axis.dimension for axis in axes]
    if sorted(along) != list(range(len(source.tensor.shape))):
        along = list(range(len(along)))
    shape = [0] * len(along)
    for dimension, size in zip(along, source.sizes, strict=True):
        shape[dimension] = size
    layout = Layout(tuple(along[p] for p in operand.order), panels)
    layout = layout if page is None else layout.spread(shape, page)
    tensor = _buffer(name, operand, tuple(shape), layout)
    view = replace(whole(tensor), sizes=source.sizes, axes=tuple(map(Axis, along)))
    return whole(tensor) if along == list(range(len(along))) else view


def _buffer(name: str, operand: Operand, shape: tuple[int, ...], layout: Layout) -> Tensor:
    level = operand.level.name
    return Tensor(name, operand.dtype, shape, layout, level, operand.vector, "buffer")


def _panels(step: Placed) -> int:
    """Those of the buffer that a step makes; 0 where it has none."""
    return int(panel(step.tensor.packing))


def lower_plan(plan: PlanNode, views: tuple[View, ...], names: Names, page: int | None) -> Node:
    """The program of a plan on these operands, inputs first.

    With a ``page``, in bytes, panels of copies that are long are spread.
    """
    alternative = plan.option.alternative
    if isinstance(alternative, KernelAlternative):
        sizes = dict(zip(plan.spec.family.operation.dims, plan.spec.sizes, strict=True))
        bindings = tuple((n, int(v)) for n, v in alternative.match.bindings(sizes).items())
        kernel = alternative.match.kernel
        return KernelCall(kernel, plan.spec.family.operation, plan.spec.sizes, bindings, views)
    children = iter(plan.children)

    def leaf(_: Leaf, operands: tuple[View, ...]) -> Node:
        return lower_plan(next(children), operands, names, page)

    assert plan.step is not None
    return lower_step(plan.step, alternative, views, names, page, leaf)


def in_sequence(steps: list[tuple[Tensor, Node]], origin: Origin) -> Node:
    """Programs one after the other, each with the tensor that it computes.

    A tensor that is a buffer lives from the first of its steps on; several may compute its parts.
    ``origin``: what asks for the buffers.
    """
    done: list[Node] = []
    first = {tensor.name: place for place, (tensor, _) in reversed([*enumerate(steps)])}
    for place, (tensor, node) in reversed([*enumerate(steps)]):
        done = [node, *done]
        if tensor.role == "buffer" and first[tensor.name] == place:
            done = [Allocate(tensor, _block(done), origin)]
    return _block(done)


def _block(steps: list[Node]) -> Node:
    return steps[0] if len(steps) == 1 else Block(tuple(steps))


def lower_step(
    step: Step,
    alternative: RuleAlternative,
    views: tuple[View, ...],
    names: Names,
    page: int | None,
    leaf: Leaves,
) -> Node:
    """The program of one rule's concrete result.

    Leaves are asked for in the order of `morello.search.results.reconstruct.leaves`.
    """
    declaration = alternative.rule.declaration
    origin = Origin(alternative.rule.name, declaration.name_span)
    known = {str(position): view for position, view in enumerate(views)}
    return _Lowering(names, origin, page, leaf, _reused(step)).node(step, known)


class _Lowering:
    def __init__(
        self, names: Names, origin: Origin, page: int | None, leaf: Leaves, reused: Set[str]
    ) -> None:
        self.names = names
        self.reused = reused
        self.origin = origin
        self.page = page
        self.leaf = leaf
        self.held: dict[str, Version] = {}
        """What lies in a tensor for now, by key, where that is not its own."""
        self._joined: set[int] = set()
        """Loops that become one with another: also of one tile they stay loops until then."""

    def node(self, step: Step, views: Mapping[str, View]) -> Node:
        match step:
            case Leaf(tensors=tensors):
                operands = tuple(
                    views[t.key] if t.view is None else views[t.key].seen(t.view.view_map, extents)
                    for t, extents in zip(tensors, step.extents, strict=True)
                )
                node = self.leaf(step, self._with_versions(step, operands))
                if step.ordered:
                    return Ordered(node)
                return Prepack(operands[0].tensor, node) if step.prepack else node
            case Sequence(steps=steps):
                return Block(tuple(self.node(s, views) for s in steps))
            case Placed():
                return self._placed(step, views)
            case Tiled():
                return self._tiled(step, views)

    def _with_versions(self, leaf: Leaf, operands: tuple[View, ...]) -> tuple[View, ...]:
        """Operands that say what is meant to lie there, where several tensors share memory.

        What computes an intermediate leaves a version of its own, which is there until what reads
        it has written its output in the same place.
        """
        place, last = leaf.intermediate, len(operands) - 1
        output = leaf.tensors[last].key
        if place == last and output in self.reused:
            self.held[output] = self.names.version(leaf.family.operation.operator.result_name)
        elif place is not None and leaf.tensors[place].key in self.reused:
            own, shared = self.held.pop(output, PLAIN), leaf.tensors[place].key
            for position, tensor in enumerate(leaf.tensors[:-1]):
                if tensor.key == shared:  # an operation may read it twice
                    operands = _with_version(operands, position, own)
            return operands
        for position, tensor in enumerate(leaf.tensors):
            if tensor.key in self.held:
                operands = _with_version(operands, position, self.held[tensor.key])
        return operands

    def _placed(self, step: Placed, views: Mapping[str, View]) -> Node:
        operand = step.tensor.operand
        if step.shape is not None:
            return self._made(step, views)
        source = views[step.source.key]
        if not step.copied:
            view = replace(source, level=operand.level.name)
            body = self.node(step.body, {**views, step.tensor.key: view})
            return Resident(view, body, self.origin)
        moved = operand.level.name != source.level
        suffix = operand.level.name if moved else "packed"
        name = self.names.fresh(f"{source.tensor.name.split('_')[0]}_{suffix}")
        page = None if moved or self.page is None else self.page // operand.dtype.bytes
        buffer = buffer_of(source, operand, _panels(step), name, page)
        made = self._allocated(step, buffer, views)
        return replace(made, copied=_as_in(source, buffer)) if _copies_first(step) else made

    def _made(self, step: Placed, views: Mapping[str, View]) -> Node:
        """A buffer of an intermediate tensor."""
        assert step.shape is not None
        operand = step.tensor.operand
        shape = tuple(int(extent) for extent in step.shape)
        layout = Layout(operand.order, _panels(step))
        tensor = _buffer(self.names.fresh(step.source.name), operand, shape, layout)
        return self._allocated(step, whole(tensor), views)

    def _allocated(self, step: Placed, buffer: View, views: Mapping[str, View]) -> Allocate:
        body = self.node(step.body, {**views, step.tensor.key: buffer})
        return Allocate(buffer.tensor, body, self.origin)

    def _tiled(self, step: Tiled, views: Mapping[str, View]) -> Node:
        count, tile, remainder = int(step.count), int(step.step), int(step.remainder)
        if step.pipelined:
            self._joined |= set(map(id, _ends(step.full)))
        if count == 1 and not remainder and not step.parallel and id(step) not in self._joined:
            return self.node(step.full, views)
        variable = self.names.fresh(step.dim)
        body = self.node(step.full, _inside(step, views, variable))
        tail = self.node(step.tail, _inside(step, views)) if remainder else None
        if step.parallel:
            threads = int(step.threads_used)
            return ParallelLoop(variable, step.dim, count, tile, threads, body, tail, self.origin)
        loop = Loop(variable, step.dim, count, _stride(step), body, step.unrolled, self.origin)
        # Its step is 1, so that it has no tail: that is checked where the rule is declared.
        if step.pipelined:
            return pipelined(loop)
        return loop if tail is None else Block((loop, tail))


def _ends(step: Step) -> tuple[Step, Step]:
    """The first and the last step of an iteration."""
    while isinstance(step, Placed):
        step = step.body
    assert isinstance(step, Sequence), "an iteration of a pipelined loop has several steps"
    return step.steps[0], step.steps[-1]


def _reused(step: Step) -> frozenset[str]:
    """Keys of intermediate tensors that what reads them overwrites."""
    match step:
        case Leaf(tensors=tensors, intermediate=place):
            aliased = place is not None and tensors[place].operand.aliased
            return frozenset({tensors[place].key} if aliased and place is not None else ())
        case Sequence(steps=steps):
            return frozenset[str]().union(*map(_reused, steps))
        case Placed(body=body):
            return _reused(body)
        case Tiled(full=full):
            return _reused(full)


def _with_version(operands: tuple[View, ...], place: int, version: Version) -> tuple[View, ...]:
    view = replace(operands[place], version=version)
    return (*operands[:place], view, *operands[place + 1 :])


def _copies_first(step: Placed) -> bool:
    """Whether all that a buffer is of is copied to it before anything else is done."""
    match step.body:
        case Sequence(steps=(Leaf(tensors=(read, written)) as first, *_)):
            keys = (read.key, written.key) == (step.source.key, step.tensor.key)
            whole = read.view is None and written.view is None and not first.prepack
            alike = read.operand.dtype == written.operand.dtype
            return keys and whole and alike and first.family.operation.operator.copies
    return False


def _as_in(source: View, buffer: View) -> View:
    """A view with its dimensions in the order of the buffer of it."""
    order = sorted(range(len(source.sizes)), key=lambda position: buffer.axis(position).dimension)
    axes = tuple(source.axis(position) for position in order)
    return replace(source, sizes=tuple(source.sizes[p] for p in order), axes=axes)


def _indices(step: Tiled) -> dict[str, TensorRef]:
    """Tensors that the loop's leaves use, by key: how the loop's dimension indexes them."""
    found: dict[str, TensorRef] = {}
    pending: list[Step] = [step.full]
    while pending:
        inner = pending.pop()
        match inner:
            case Leaf(tensors=tensors):
                found |= {t.key: t.source for t in tensors}
            case Sequence(steps=steps):
                pending += steps
            case Placed(source=source, body=body):
                found[source.key] = source
                pending.append(body)
            case Tiled(full=full):
                pending.append(full)
    return found


def _stride(step: Tiled) -> int:
    """What a loop's variable grows by: a tile, or 1 where it counts the steps."""
    return int(step.step) if step.counting is None else 1


def _inside(step: Tiled, views: Mapping[str, View], variable: str = "") -> dict[str, View]:
    """The parts of views that an iteration works on; without the loop's variable, its tail."""
    count, tile, remainder = int(step.count), int(step.step), int(step.remainder)
    indices, stride = _indices(step), _stride(step)
    start = Affine(0, ((variable, 1),)) if variable else Affine(count * stride)
    # Where the variable counts steps, a part begins that many tiles further on. A full tile is
    # smaller than the whole by all but itself, the tail by all full tiles.
    at, less = Affine().plus(start, tile // stride), count * tile
    if variable:
        less += remainder - tile
    parts = {key: _part(v, indices.get(key), step.dim, at, less) for key, v in views.items()}
    if step.counting is None:
        return parts
    less = count + (remainder > 0) - 1
    return {key: _part(v, indices.get(key), step.counting, start, less) for key, v in parts.items()}


def _part(view: View, tensor: TensorRef | None, dim: str, start: Affine, less: int) -> View:
    """The part of a view that one iteration works on: ``dim`` is smaller there by ``less``."""
    if tensor is None:
        return view
    offsets, sizes = list(view.offsets), list(view.sizes)
    for position in tensor.indexed_by(dim):
        factor = dict(tensor.indices[position].terms)[dim]
        axis = view.axis(position)
        offsets[axis.dimension] = offsets[axis.dimension].plus(start, factor * axis.step)
        sizes[position] -= factor * less
    return replace(view, offsets=tuple(offsets), sizes=tuple(sizes))
