"""A rule's result, applied: the tree of loops, buffers and sub-Specs that it yields.

The same interpretation of a rule's ``yield`` serves four readers: with no sizes it tells which
families a family leads to; with arrays it gives the search masks, counts and sub-Specs of a whole
box; with numbers it becomes a program; and the verifier executes that program.

A loop over a dimension makes operands less contiguous, takes the panels of a layout apart, and
whether rows then alias with the page depends on sizes: that is arithmetic on their packing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial

import numpy as np

from morello.ir.graphs.batches import without_batch
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.data_movement import rearranged
from morello.ir.layout import Axis, Layout, Packing, packed_whole, panel, shortened, width_of
from morello.ir.numeric import Size, Truth
from morello.ir.operators import OperandIndex, Operation, Operator, is_whole
from morello.ir.scalars import Scalars
from morello.ir.spec import Family, Operand
from morello.ir.target import Level, Target
from morello.ir.views import ViewMap, view_map, without_index
from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.language.unparse import unparse
from morello.records import replace
from morello.rewriting.functions import Scope
from morello.rewriting.lifetimes import places_of
from morello.rewriting.parts import can_be_cut, less_contiguous, narrowed
from morello.rewriting.references import (
    ABSENT,
    INTERMEDIATE,
    OperandView,
    Sizes,
    SpecRef,
    TensorRef,
    Variables,
    capacity_units,
    operation_sizes,
)
from morello.rewriting.state import State
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.rewriting.structure import is_unrolled
from morello.rewriting.views import Seen, ends_with_rows, fastest_last, slice_of, view_of


def operation_at(
    operator: Operator,
    group_rank: int,
    accumulating: bool,
    scalars: Scalars,
) -> Operation:
    """One object per operation, so that comparing them is comparing identities."""
    return _known(operator, Operation(operator, group_rank, accumulating, scalars))


@lru_cache(maxsize=65536)
def _known(_: Operator, operation: Operation) -> Operation:
    """The first of equal ones; that of another operator of the same name is another one."""
    return operation


class Instantiation:
    """Applies one rule's result to a family.

    ``sizes``, ``used`` and the operands' packing are absent in structural mode.
    """

    def __init__(
        self,
        target: Target,
        operators: Mapping[str, Operator],
        f: SpecRef,
        sizes: Sizes | None,
        used: Mapping[str, Size] | None,
    ) -> None:
        self.target = target
        self.operators = operators
        self.f = f
        self.structural = sizes is None
        self.sizes: Sizes = sizes or {}
        self.used: Mapping[str, Size] = used or {}

    def run(self, block: ast.Block, variables: Variables) -> Step:
        """The tree for a block, with the rule's variables bound."""
        bound = {n: v for n, v in variables.items() if isinstance(v, TensorRef)}
        tensors = {t.key: t for t in (*self.f.tensors, *bound.values())}
        aliases = {n: v.key for n, v in bound.items()}
        places = places_of(self.f)
        state = State(self.f, tensors, aliases, dict(variables), self.sizes, self.used, places, {})
        return self._block(block, state)

    def applied(self, node: ast.Apply, variables: Variables) -> Leaf:
        """What one application in the result becomes, outside of loops and buffers."""
        tensors = {t.key: t for t in self.f.tensors}
        return self._apply(node, State(self.f, tensors, {}, dict(variables), {}, {}, {}, {}))

    def _block(self, block: ast.Block, state: State) -> Step:
        steps = [s for node in block.steps if (s := self._node(node, state)) is not None]
        return steps[0] if len(steps) == 1 else Sequence(tuple(steps))

    def _node(self, node: ast.YieldNode, state: State) -> Step | None:
        match node:
            case ast.ForLoop():
                return self._loop(node, state)
            case ast.With():
                return self._with(node, state)
            case ast.Reapply():
                return self._reapply(node, state) if self._wanted(node, state) else None
            case ast.Apply():
                return self._apply(node, state) if self._wanted(node, state) else None

    def _wanted(self, node: ast.Reapply | ast.Apply, state: State) -> bool:
        return node.condition is None or bool(self._value(node.condition, state))

    def _value(self, expr: ast.Expr, state: State) -> Value:
        return evaluate(expr, Scope(self.target, state.variables, state.sizes, state.used))

    # ------------------------------------------------------------------ leaves

    def _reapply(self, node: ast.Reapply, state: State) -> Step:
        family = self.f.family
        substitutions = dict(node.substitutions)
        renamed = {state.aliases[old]: state.aliases[new] for old, new in substitutions.items()}
        if node.part is not None:
            return self._part_of(node, renamed, state)
        tensors = tuple(state.tensors[renamed.get(t.key, t.key)] for t in self.f.tensors)
        if not state.whole:
            tensors = tuple(map(_not_prepacked, tensors))
        operation = family.operation
        if node.accumulating:
            operation = operation_at(
                operation.operator, operation.group_rank, True, operation.scalars
            )
        threads = 1 if node.serial else family.threads
        right: Truth = self._computes_alike(renamed, state)
        if node.without is not None:
            operation, tensors, alone = self._without(node.without, operation, tensors, state)
            right = right & alone
        tensors, child = self._child(operation, tensors, threads, state)
        if self.structural:
            return Leaf(node, child, tensors, None, None, required=right)
        if node.without is not None:
            sizes, _ = operation_sizes(operation, tensors, state.sizes)
        else:
            sizes = tuple(state.sizes[d] for d in operation.dims)
        return Leaf(node, child, tensors, sizes, self._used(state), required=right)

    def _without(
        self, batch: ast.Name, operation: Operation, tensors: tuple[TensorRef, ...], state: State
    ) -> tuple[Operation, tuple[TensorRef, ...], Truth]:
        """An operation without a dimension of a batch, and what must hold for that."""
        dim: str = self._value(batch, state)
        part = without_batch(operation, dim)
        sizes = None if self.structural else state.sizes
        seen = {
            name: view_of(tensor, without_index(tensor.indices, dim), self.target, sizes)
            for name, tensor in zip(operation.names, tensors, strict=True)
        }
        required: Truth = True
        for _, alone in seen.values():
            required = required & alone
        return part.operation, tuple(seen[name][0] for name in part.tensors), required

    def _computes_alike(self, renamed: Mapping[str, str], state: State) -> bool:
        """Whether a graph that reads copies of other types computes with those types anyway.

        A declared operation does: it converts what it reads to the type of its output.
        """
        changed = [
            (name, dtype)
            for name, own in zip(self.f.family.operation.names, self.f.tensors, strict=True)
            if own.key in renamed
            and (dtype := state.tensors[renamed[own.key]].operand.dtype) != own.operand.dtype
        ]
        composition = composition_of(self.f.family.operation.operator) if changed else None
        return composition is None or all(composition.converts(*each) for each in changed)

    def _part_of(self, node: ast.Reapply, renamed: Mapping[str, str], state: State) -> Step:
        """What computes an intermediate, or what remains once it is there."""
        family = self.f.family
        composition = composition_of(family.operation.operator)
        assert composition is not None
        [intermediate] = (old for old in renamed if old.startswith(INTERMEDIATE))
        name = intermediate.removeprefix(INTERMEDIATE)
        producer, consumer = composition.parts(name, accumulating=family.operation.accumulating)
        part = producer if node.part == "producing" else consumer
        keys = (renamed.get(t.key, t.key) for t in self.f.tensors)
        known = dict(zip(family.operation.names, keys, strict=True))
        known[name] = renamed[intermediate]
        found = {own: state.tensors[known[own]] for own in part.tensors}
        shared = {*producer.tensors} & {*consumer.tensors}
        required: Truth = True
        if known[name] in {t.key for t in self.f.tensors}:
            found[name], required = self._rearranged(name, found[name], state)
            shared = set()  # the other part is not done
        counts = Counter(known[own] for own in part.tensors)
        alone = {own for own in found if own not in shared and counts[known[own]] == 1}
        tensors = tuple(
            found[own] if state.whole and own in alone else _not_prepacked(found[own])
            for own in part.tensors
        )
        threads = 1 if node.serial else family.threads
        tensors, child = self._child(part.operation, tensors, threads, state)
        leaf = partial(Leaf, node, child, tensors)
        place = part.tensors.index(name)
        if self.structural:
            return leaf(None, None, required=required, intermediate=place)
        sizes, possible = operation_sizes(part.operation, tensors, state.sizes)
        required = required & possible
        return leaf(sizes, self._used(state), required=required, intermediate=place)

    def _rearranged(self, name: str, operand: TensorRef, state: State) -> tuple[TensorRef, Truth]:
        """An intermediate as it is seen in an operand, and what must hold for that."""
        whole = self.f.family.operation.operator
        composition = composition_of(whole)
        seen = rearranged(whole, name, operand.name)
        assert composition is not None
        assert seen is not None, "a guard of the rule says that it can be"
        seen = replace(seen, indices=composition.locals[name])
        return view_of(operand, seen, self.target, None if self.structural else state.sizes)

    def _child(
        self, operation: Operation, tensors: tuple[TensorRef, ...], threads: int, state: State
    ) -> tuple[tuple[TensorRef, ...], Family]:
        """The family of a sub-Spec, and its tensors; inputs where its output lies are marked."""
        *inputs, output = tensors
        place = state.places.get(output.key, output.key)
        marked = (
            t.with_operand(operand) if operand is not t.operand else t
            for t in inputs
            if (operand := t.operand.changed(aliased=state.places.get(t.key, t.key) == place))
        )
        tensors = (*marked, output)
        return tensors, Family(operation, tuple(t.operand for t in tensors), threads)

    def _used(self, state: State) -> tuple[Size, ...]:
        return tuple(state.used[level.name] for level in self.target.bounded)

    def _apply(self, node: ast.Apply, state: State) -> Leaf:
        operator = self.operators[node.operator]
        count = len(operator.parameters)
        seen = [self._tensor(argument, state) for argument in node.arguments[:count]]
        if operator.copies:
            seen = fastest_last(seen, self.target, None if self.structural else state.sizes)
        tensors = tuple(tensor for tensor, _ in seen)
        rank = operator.group_rank(tuple(len(t.indices) for t in tensors))
        assert rank is not None, f"'{operator.name}' cannot take operands of these ranks"
        values = (float(self._value(e, state)) for e in _numbers(node.arguments[count:]))
        scalars = tuple(zip(operator.scalars, values, strict=True))
        required: Truth = all(
            is_whole(dict(scalars)[n], least) for n, least in operator.least.items()
        )
        operation = operation_at(operator, rank, node.accumulating, scalars)
        alone = node.prepack or node.ordered or state.divided
        threads = 1 if alone else self.f.family.threads
        tensors, child = self._child(operation, tensors, threads, state)
        sizes, used = None, None
        if not self.structural:
            sizes, possible = operation_sizes(operation, tensors, state.sizes)
            used, required = self._used(state), required & possible
        for _, condition in seen:
            required = required & condition
        required = required & ends_with_rows(tensors[-1])
        return Leaf(node, child, tensors, sizes, used, node.prepack, node.ordered, required)

    def _tensor(self, argument: ast.Expr | ast.View, state: State) -> Seen:
        """An operand, and what must hold for it to be what is asked for."""
        if isinstance(argument, ast.Call):
            sources = [_not_prepacked(state.tensors[own.key]) for own in self.f.tensors]
            return slice_of(sources, self.f, self.target, None if self.structural else state.sizes)
        if not isinstance(argument, ast.View):
            found: TensorRef = self._value(argument, state)
            return _not_prepacked(state.tensors.get(found.key, found)), not found.intermediate
        found = self._value(argument.operand, state)
        position = int(state.origins.get(found.key, found.key))
        seen = view_map(self.f.family.operation, position, argument.indices)
        source = state.tensors[found.key]
        source = source if state.once else _not_prepacked(source)
        return view_of(source, seen, self.target, None if self.structural else state.sizes)

    # ------------------------------------------------------------------ with

    def _with(self, node: ast.With, state: State) -> Step:
        source = state.tensors[state.aliases[node.operand]]
        fits: Truth = True
        indices = source.indices
        if node.expanded is not None:
            indices, fits, state = self._for_each_step(node.expanded, source, state)
        copied = node.layout is not None
        level: Level = self._value(node.level, state)
        layout: Layout | None = None if node.layout is None else self._value(node.layout, state)
        if layout is not None:
            vector = self._value(node.vector, state) if node.vector else 0
            dtype = self._value(node.dtype, state) if node.dtype else source.operand.dtype
            order = (*layout.order, *range(len(layout.order), len(indices)))
            operand = Operand(dtype, level, order, vector)
        else:
            operand = source.operand.changed(level=level, weight=False)
        packing = self._packing(source, operand, layout, state.sizes)
        tensor = TensorRef(node.variable, node.variable, operand, indices, packing)
        inside = state.bind(node.variable, tensor, source)
        if not copied:
            place = state.places.get(source.key, source.key)
            inside.places = {**state.places, tensor.key: place}
        inside.whole = state.whole and (source.intermediate or level == source.operand.level)
        taken: Size = 0
        # An intermediate is nowhere yet that could be held.
        fits = fits & (copied or not source.intermediate)
        if not self.structural and layout is not None and layout.panel:
            # What is no wider than a panel is plain: variants in panels have no such sizes.
            wide = tensor.extents(state.sizes)[layout.order[-1]] > width_of(layout.panel)
            fits = fits & (wide if node.expanded is None else False)
        if not self.structural and level.capacity is not None:
            held = tensor if copied else source
            taken = capacity_units(held, level, copied, state.sizes, self.target.page)
            total = state.used[level.name] + taken
            fits = fits & (total <= level.capacity)
            # Where it does not fit, the result is masked: it need only be some valid coordinate.
            inside.used = {**state.used, level.name: np.minimum(total, level.capacity)}
        made = not self.structural and (source.intermediate or node.expanded is not None)
        shape = tensor.extents(state.sizes) if made else None
        return Placed(tensor, source, copied, taken, fits, self._block(node.body, inside), shape)

    def _for_each_step(
        self, expanded: ast.Expanded, source: TensorRef, state: State
    ) -> tuple[tuple[OperandIndex, ...], Truth, State]:
        """Indices of one tensor for each step of a loop, what must hold for that, and their scope.

        Each part is one element, so that all of them are a row, and any of them lies together.
        """
        dim, counting = self._value(expanded.dimension, state), self._counting(expanded, state)
        indices = (*source.indices, OperandIndex(((counting, 1),)))
        alone: Truth = True
        sizes = state.sizes
        if not self.structural:
            steps = -(-sizes[dim] // self._value(expanded.step, state))
            for extent in source.extents(sizes):
                alone = alone & np.equal(extent, 1)
            sizes = {**sizes, counting: steps}
        known = replace(state, sizes=sizes, counting=state.counting | {counting})
        return indices, alone, known

    def _counting(self, loop: ast.ForLoop | ast.Expanded, state: State) -> str:
        """The dimension that counts the steps of a loop."""
        return f"steps({self._value(loop.dimension, state)}, {unparse(loop.step)})"

    def _packing(
        self, source: TensorRef, operand: Operand, layout: Layout | None, sizes: Sizes
    ) -> Packing:
        """Of a tensor at another level. Contiguity is forgotten where nothing asks for it."""
        if self.structural:
            return ABSENT
        rank = len(operand.order)
        if layout is not None:
            return packed_whole(rank, shortened(layout, source.extents(sizes)))
        if operand.moves_lines(self.target):
            return source.packing
        return packed_whole(rank, panel(source.packing))

    # ------------------------------------------------------------------ loops

    def _loop(self, node: ast.ForLoop, state: State) -> Step:
        dim: str = self._value(node.dimension, state)
        unrolled = is_unrolled(self.f, dim)
        inner = state.divided and node.parallel
        state = replace(state, divided=state.divided or node.parallel)
        counting = self._counting(node, state) if state.counting else None
        counting = counting if counting in state.counting else None
        loop = partial(
            Tiled,
            dim=dim,
            parallel=node.parallel,
            unrolled=unrolled,
            inner=inner,
            counting=counting,
            pipelined=node.pipelined,
        )
        if self.structural:
            # A match by name says of dimensions that they may be divided, though they are whole.
            by_name = self.f.match is not None
            divided = by_name or dim not in self.f.family.operation.whole_dims
            tensors = {k: self._of_a_step(t, counting) for k, t in state.tensors.items()}
            body = self._block(node.body, state.tile(tensors, state.sizes))
            return loop(
                step=1, count=1, threads=1, remainder=1, guard=divided, full=body, tail=body
            )
        size, tile = state.sizes[dim], self._value(node.step, state)
        count, remainder = size // tile, size % tile
        threads = self.f.family.threads if node.parallel else 1
        # A chosen tile as large as the dimension would yield the Spec itself again. What a rule
        # with a written step yields is smaller in another way (`progress`).
        guard = tile <= size if isinstance(node.step, ast.Number) else tile < size
        for tensor in state.tensors.values():
            guard = guard & can_be_cut(tensor, state.sizes, dim, tile)
        parts = {
            key: self._part(self._of_a_step(t, counting), state.sizes, dim)
            for key, t in state.tensors.items()
        }
        if counting is not None:
            state = replace(state, sizes={**state.sizes, counting: 1})
        full = self._block(node.body, self._inside(state, parts, dim, tile))
        tail: Step = Sequence(())
        # Where there is no remainder the tail has no weight: any size that can be will do.
        if not isinstance(remainder, np.ndarray) or np.any(guard & (remainder > 0)):
            tail = self._block(node.body, self._inside(state, parts, dim, np.maximum(remainder, 1)))
        return loop(
            step=tile,
            count=count,
            threads=threads,
            remainder=remainder,
            guard=guard,
            full=full,
            tail=tail,
        )

    def _of_a_step(self, tensor: TensorRef, counting: str | None) -> TensorRef:
        """The part for one step of a tensor that has one for each step of this loop."""
        if counting is None or not tensor.indexed_by(counting):
            return tensor
        rank = len(tensor.indices) - 1
        seen = ViewMap(tensor.indices[:-1], tuple(map(Axis, range(rank))), (0,) * (rank + 1))
        order = tuple(d for d in tensor.operand.order if d < rank)
        packing = ABSENT if self.structural else packed_whole(rank, 0)
        operand = tensor.operand.changed(order=order)
        return replace(
            tensor,
            operand=operand,
            indices=seen.indices,
            packing=packing,
            view=OperandView(tensor, seen),
        )

    def _part(self, tensor: TensorRef, sizes: Sizes, dim: str) -> TensorRef:
        """A strict part of a tensor along ``dim``, if it takes no panel apart."""
        dimensions = tensor.indexed_by(dim)
        if not dimensions or not tensor.operand.moves_lines(self.target):
            return tensor
        ones = self.f.family.operation.partly_tileable
        packing = less_contiguous(tensor, sizes, dimensions, self.target.page, ones=ones)
        return tensor.with_packing(packing)

    def _inside(self, state: State, parts: Mapping[str, TensorRef], dim: str, size: Size) -> State:
        """Inside a loop, for an iteration of this size."""
        sizes = {**state.sizes, dim: size}
        return state.tile({key: self._narrow(t, sizes, dim) for key, t in parts.items()}, sizes)

    def _narrow(self, tensor: TensorRef, sizes: Sizes, dim: str) -> TensorRef:
        """A tensor that a loop over ``dim`` may have made no wider than its panels."""
        order = tensor.operand.order
        if not {*order[-2:]} & {*tensor.indexed_by(dim)} or not np.any(panel(tensor.packing)):
            return tensor
        packing = narrowed(tensor, sizes, self.target.page)
        if not tensor.operand.moves_lines(self.target):
            packing = packed_whole(len(tensor.operand.order), panel(packing))
        return tensor.with_packing(packing)


def _numbers(arguments: Iterable[ast.Expr | ast.View]) -> Iterator[ast.Expr]:
    """Arguments that are scalars: the checks refuse views there."""
    return (a for a in arguments if not isinstance(a, ast.View))


def _not_prepacked(tensor: TensorRef) -> TensorRef:
    """Of which nothing more can be done ahead of all calls."""
    operand = tensor.operand.changed(weight=False)
    return tensor if operand is tensor.operand else tensor.with_operand(operand)


def instantiate(
    target: Target,
    operators: Mapping[str, Operator],
    f: SpecRef,
    block: ast.Block,
    variables: Variables,
    sizes: Sizes | None = None,
    used: Mapping[str, Size] | None = None,
) -> Step:
    """The tree that a rule's result becomes for ``f``."""
    return Instantiation(target, operators, f, sizes, used).run(block, variables)
