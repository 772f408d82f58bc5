"""A rule's result, applied: the tree of loops, buffers and sub-Specs that it yields.

The same interpretation of a rule's ``yield`` serves four readers: with no sizes it tells which
families a family leads to; with arrays it gives the search masks, counts and sub-Specs of a whole
box; with numbers it becomes a program; and the verifier executes that program.

A loop over a dimension makes operands less contiguous, and whether their rows then alias with the
page depends on sizes. Such a step is a `Variants`: alternatives under conditions that exclude each
other and cover everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from morello.language import ast
from morello.language.evaluate import evaluate
from morello.rewriting.functions import Scope, is_unrolled
from morello.rewriting.references import (
    Size,
    Sizes,
    SpecRef,
    TensorRef,
    elements,
    lines,
    registers,
    spec_ref,
)
from morello.spec.layout import contiguity_after_tiling
from morello.spec.machine import Level, Target
from morello.spec.operators import Operation, Operator
from morello.spec.spec import Family, Operand


@dataclass(frozen=True, slots=True)
class Leaf:
    """A sub-Spec. ``sizes`` and ``used`` in the order of `Spec`; absent in structural mode."""

    family: Family
    tensors: tuple[TensorRef, ...]
    sizes: tuple[Size, ...] | None
    used: tuple[Size, ...] | None


@dataclass(frozen=True, slots=True)
class Tiled:
    """A loop: ``count`` full tiles, then the tail where ``remainder`` is not 0.

    ``guard`` must hold: tiles of a register operand begin at a register. ``runs`` is how often the
    slowest thread executes the full tile.
    """

    dim: str
    step: Size
    count: Size
    runs: Size
    remainder: Size
    parallel: bool
    unrolled: bool
    guard: Any
    full: Step
    tail: Step


@dataclass(frozen=True, slots=True)
class Placed:
    """``with``: ``tensor`` is ``source`` at another level; ``copied`` if it is a buffer.

    ``fits`` must hold: what this takes, in grains, is no more than what is free of the level.
    """

    tensor: TensorRef
    source: TensorRef
    copied: bool
    taken: Size
    fits: Any
    body: Step


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps, in order."""

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Variants:
    """Alternatives under exclusive conditions (absent in structural mode)."""

    options: tuple[tuple[Any, Step], ...]


Step = Leaf | Tiled | Placed | Sequence | Variants


@dataclass(frozen=True, slots=True)
class Use:
    """A sub-Spec as the search needs it.

    ``count``: how often it runs (where ``active``; elsewhere it does not exist). ``consumed`` are
    the levels in which something was placed on the way to it.
    """

    leaf: Leaf
    count: Size
    active: Any
    consumed: frozenset[str]


@dataclass(slots=True)
class Flattened:
    """Every leaf below a step, and what must hold for the whole to be legal."""

    uses: list[Use]
    required: list[Any]

    def _require(self, active: Any, condition: Any) -> None:
        if condition is True:
            return
        self.required.append(condition if active is True else condition | ~active)

    def _add(self, step: Step, count: Size, active: Any, consumed: frozenset[str]) -> None:
        match step:
            case Leaf():
                self.uses.append(Use(step, count, active, consumed))
            case Sequence(steps=steps):
                for inner in steps:
                    self._add(inner, count, active, consumed)
            case Variants(options=options):
                for condition, inner in options:
                    self._add(inner, count, _both(active, condition), consumed)
            case Placed():
                self._require(active, step.fits)
                inside = consumed | {step.tensor.operand.level.name}
                self._add(step.body, count, active, inside)
            case Tiled():
                self._require(active, step.guard)
                self._add(step.full, count * step.runs, active, consumed)
                self._add(step.tail, count, _both(active, step.remainder > 0), consumed)


def flatten(step: Step) -> Flattened:
    """Leaves and requirements of a step tree."""
    flat = Flattened([], [])
    flat._add(step, 1, True, frozenset())
    return flat


@lru_cache(maxsize=65536)
def operation_at(
    operator: Operator,
    group_rank: int,
    accumulating: bool = False,
    scalars: tuple[tuple[str, float], ...] = (),
) -> Operation:
    """One object per operation, so that comparing them is comparing identities."""
    return Operation(operator, group_rank, accumulating, scalars)


class Instantiation:
    """Applies one rule's result to a family.

    ``sizes`` and ``used`` are absent in structural mode. ``page_possible`` tells there whether any
    row of the goal can be a multiple of the page long.
    """

    def __init__(
        self,
        target: Target,
        operators: Mapping[str, Operator],
        f: SpecRef,
        sizes: Sizes | None,
        used: Mapping[str, Size] | None,
        page_possible: bool,
    ) -> None:
        self.target = target
        self.operators = operators
        self.f = f
        self.structural = sizes is None
        self.page_possible = page_possible
        self.sizes: Sizes = sizes or {}
        self.used: Mapping[str, Size] = used or {}

    def run(self, block: ast.Block, variables: Mapping[str, Any]) -> Step:
        """The tree for a block, with the rule's variables bound."""
        tensors = {t.key: t for t in self.f.tensors}
        aliases = {n: v.key for n, v in variables.items() if isinstance(v, TensorRef)}
        state = _State(self.f, tensors, aliases, dict(variables), self.sizes, self.used)
        return self._block(block, state)

    def _block(self, block: ast.Block, state: _State) -> Step:
        steps = [s for node in block.steps if (s := self._node(node, state)) is not None]
        return steps[0] if len(steps) == 1 else Sequence(tuple(steps))

    def _node(self, node: ast.YieldNode, state: _State) -> Step | None:
        match node:
            case ast.ForLoop():
                return self._loop(node, state)
            case ast.With():
                return self._with(node, state)
            case ast.Reapply():
                return self._reapply(node, state) if self._wanted(node, state) else None
            case ast.Apply():
                return self._apply(node, state) if self._wanted(node, state) else None

    def _wanted(self, node: ast.Reapply | ast.Apply, state: _State) -> bool:
        return node.condition is None or bool(self._value(node.condition, state))

    def _value(self, expr: ast.Expr, state: _State) -> Any:
        return evaluate(expr, Scope(self.target, state.variables, state.sizes, state.used))

    # ------------------------------------------------------------------ leaves

    def _reapply(self, node: ast.Reapply, state: _State) -> Step:
        family = self.f.family
        substitutions = dict(node.substitutions)
        renamed = {state.aliases[old]: state.aliases[new] for old, new in substitutions.items()}
        tensors = tuple(state.tensors[renamed.get(t.key, t.key)] for t in self.f.tensors)
        operation = family.operation
        if node.accumulating:
            operation = operation_at(
                operation.operator, operation.group_rank, True, operation.scalars
            )
        threads = 1 if node.serial else family.threads
        child = Family(operation, tuple(t.operand for t in tensors), threads)
        if self.structural:
            return Leaf(child, tensors, None, None)
        sizes = tuple(state.sizes[d] for d in operation.dims)
        return Leaf(child, tensors, sizes, self._used(state))

    def _used(self, state: _State) -> tuple[Size, ...]:
        return tuple(state.used[level.name] for level in self.target.bounded)

    def _apply(self, node: ast.Apply, state: _State) -> Step:
        operator = self.operators[node.operator]
        tensors = tuple(self._tensor(e, state) for e in node.operands)
        rank = operator.group_rank(tuple(len(t.indices) for t in tensors))
        assert rank is not None, f"'{operator.name}' cannot take operands of these ranks"
        values = tuple(float(self._value(e, state)) for e in node.scalars)
        scalars = tuple(zip(operator.scalars, values, strict=True))
        operation = operation_at(operator, rank, False, scalars)
        child = Family(operation, tuple(t.operand for t in tensors), self.f.family.threads)
        if self.structural:
            return Leaf(child, tensors, None, None)
        return Leaf(child, tensors, _direct_sizes(operation, tensors, state), self._used(state))

    def _tensor(self, expr: ast.Expr, state: _State) -> TensorRef:
        found: TensorRef = self._value(expr, state)
        return state.tensors[found.key]

    # ------------------------------------------------------------------ with

    def _with(self, node: ast.With, state: _State) -> Step:
        source = state.tensors[state.aliases[node.operand]]
        level: Level = self._value(node.level, state)
        copied = node.layout is not None
        if copied:
            layout = self._value(node.layout, state) if node.layout else source.operand.layout
            vector = self._value(node.vector, state) if node.vector else 0
            operand = Operand(source.operand.dtype, level, layout, len(layout), False, vector)
        else:
            operand = self._held(source.operand, level)
        tensor = TensorRef(node.variable, node.variable, operand, source.indices)
        inside = state.bind(node.variable, tensor)
        taken: Size = 0
        fits: Any = True
        if not self.structural and level.capacity is not None:
            taken = _grains(tensor if copied else source, level, copied, state.sizes)
            total = state.used[level.name] + taken
            fits = total <= level.capacity
            inside.used = {**state.used, level.name: np.minimum(total, level.capacity)}
        return Placed(tensor, source, copied, taken, fits, self._block(node.body, inside))

    def _held(self, operand: Operand, level: Level) -> Operand:
        """An operand that a cache holds. How it lies in memory is forgotten where nothing asks."""
        if self.target.moves_lines_from(level):
            return replace(operand, level=level)
        return replace(operand, level=level, contiguity=len(operand.layout), paged=False)

    # ------------------------------------------------------------------ loops

    def _loop(self, node: ast.ForLoop, state: _State) -> Step:
        dim: str = self._value(node.dimension, state)
        unrolled = is_unrolled(self.f, dim)
        if self.structural:
            body = self._variants(node.body, state, dim, None)
            return Tiled(dim, 1, 1, 1, 1, node.parallel, unrolled, True, body, body)
        size, tile = state.sizes[dim], self._value(node.step, state)
        count, remainder = size // tile, size % tile
        threads = self.f.family.threads if node.parallel else 1
        guard = tile < size
        for tensor in state.tensors.values():
            if tensor.operand.vector and _fastest(tensor, dim):
                guard = guard & (tile % tensor.operand.lanes == 0)
        full = self._variants(node.body, state, dim, tile)
        tail = self._variants(node.body, state, dim, np.maximum(remainder, 1))
        runs = -(-count // threads)
        return Tiled(dim, tile, count, runs, remainder, node.parallel, unrolled, guard, full, tail)

    def _variants(self, body: ast.Block, state: _State, dim: str, size: Size) -> Step:
        options = []
        for condition, tensors in self._tiled(list(state.tensors.values()), state, dim):
            inside = state.tile(tensors, dim, size)
            options.append((condition, self._block(body, inside)))
        if len(options) == 1 and options[0][0] is True:
            return options[0][1]
        return Variants(tuple(options))

    def _tiled(
        self, tensors: list[TensorRef], state: _State, dim: str
    ) -> list[tuple[Any, dict[str, TensorRef]]]:
        """What tensors become when they are tiled along ``dim``, with the condition for it."""
        result: list[tuple[Any, dict[str, TensorRef]]] = [(True, {})]
        for tensor in tensors:
            options = self._tensor_tiled(tensor, state, dim)
            result = [
                (_both(condition, extra), {**done, tensor.key: changed})
                for condition, done in result
                for extra, changed in options
            ]
        return [r for r in result if r[0] is not False]

    def _tensor_tiled(
        self, tensor: TensorRef, state: _State, dim: str
    ) -> list[tuple[Any, TensorRef]]:
        operand = tensor.operand
        contiguity = operand.contiguity
        for position in tensor.indexed_by(dim):
            contiguity = contiguity_after_tiling(operand.layout, contiguity, position)
        if contiguity == operand.contiguity or not self.target.moves_lines_from(operand.level):
            return [(True, tensor)]
        plain = replace(tensor, operand=replace(operand, contiguity=contiguity))
        if operand.paged or operand.contiguity < len(operand.layout):
            return [(True, plain)]
        paged = replace(tensor, operand=replace(operand, contiguity=contiguity, paged=True))
        if self.structural:
            return [(None, plain), (None, paged)] if self.page_possible else [(True, plain)]
        extents = tensor.extents(state.sizes)
        inner = prod((extents[d] for d in operand.layout[-contiguity:]), start=1)
        aliasing = inner * operand.dtype.bytes % self.target.page == 0
        return [(_negated(aliasing), plain), (_plain(aliasing), paged)]


@dataclass(slots=True)
class _State:
    """What changes on the way down a rule's result."""

    f: SpecRef
    tensors: dict[str, TensorRef]
    aliases: dict[str, str]
    variables: dict[str, Any]
    sizes: Sizes
    used: Mapping[str, Size]

    def bind(self, name: str, tensor: TensorRef) -> _State:
        """With one more tensor in scope."""
        return _State(
            self.f,
            {**self.tensors, tensor.key: tensor},
            {**self.aliases, name: tensor.key},
            {**self.variables, name: tensor},
            self.sizes,
            self.used,
        )

    def tile(self, tensors: dict[str, TensorRef], dim: str, size: Size) -> _State:
        """Inside a loop: parts of the tensors, one size smaller."""
        variables = {
            n: tensors[v.key] if isinstance(v, TensorRef) else v for n, v in self.variables.items()
        }
        sizes = {**self.sizes, dim: size} if self.sizes else self.sizes
        return _State(self.f, tensors, self.aliases, variables, sizes, self.used)


def _direct_sizes(
    operation: Operation, tensors: tuple[TensorRef, ...], state: _State
) -> tuple[Size, ...]:
    """Sizes of an operation's dimensions from the shapes of its operands."""
    found: dict[str, Size] = {}
    for indices, tensor in zip(operation.operands, tensors, strict=True):
        for index, extent in zip(indices, tensor.extents(state.sizes), strict=True):
            if len(index.terms) == 1 and index.terms[0][1] == 1:
                found.setdefault(index.terms[0][0], extent)
    return tuple(found[d] for d in operation.dims)


def _grains(tensor: TensorRef, level: Level, copied: bool, sizes: Sizes) -> Size:
    """What a tensor takes of a level's capacity."""
    if not level.addressable:
        return registers(tensor, sizes)
    if copied:
        size = elements(tensor, sizes) * tensor.operand.dtype.bytes
    else:
        size = lines(tensor, sizes) * level.line
    return -(-size // level.grain)


def _fastest(tensor: TensorRef, dim: str) -> bool:
    return tensor.operand.layout[-1] in tensor.indexed_by(dim)


def _both(left: Any, right: Any) -> Any:
    if left is True or left is None:
        return right
    return left if right is True or right is None else _plain(left & right)


def _plain(condition: Any) -> Any:
    return bool(condition) if np.ndim(condition) == 0 else condition


def _negated(condition: Any) -> Any:
    return not condition if np.ndim(condition) == 0 else ~condition


def instantiate(
    target: Target,
    operators: Mapping[str, Operator],
    family: Family,
    block: ast.Block,
    variables: Mapping[str, Any],
    sizes: Sizes | None = None,
    used: Mapping[str, Size] | None = None,
    page_possible: bool = True,
) -> Step:
    """The tree that a rule's result becomes for a family."""
    f = spec_ref(family)
    return Instantiation(target, operators, f, sizes, used, page_possible).run(block, variables)
