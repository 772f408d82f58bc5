"""What the functions of the rule language mean for a family and its sizes.

The list, with kinds and documentation, is `morello.language.functions`; a test holds the two
together. The arithmetic functions are the evaluator's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from morello.ir.dtypes import DType
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.constants import elsewhere_of
from morello.ir.graphs.data_movement import framed, rearranged, sliced
from morello.ir.layout import (
    Layout,
    column_major,
    contiguity,
    panel,
    row_major,
    shortened,
    width_of,
)
from morello.ir.numeric import Number, Size, Truth
from morello.ir.primitives import EVERY_SECOND, IN_ORDER, LOAD_FIRST, STORE_FIRST
from morello.ir.pruning import prunes
from morello.ir.target import Level, Target
from morello.ir.views import ViewMap
from morello.language import ast
from morello.language.evaluate import Value, evaluate
from morello.rewriting import structure
from morello.rewriting.layout_requests import LayoutRequest, LayoutRequests
from morello.rewriting.matching import KernelMatch
from morello.rewriting.meaning_cost import arithmetic_cycles, lanes_of, primitive_cycles
from morello.rewriting.patterns import (
    Held,
    PartialOperand,
    accepts_held,
    operand_refusal,
    possible_kernels,
)
from morello.rewriting.references import (
    Sizes,
    SpecRef,
    TensorRef,
    Variables,
    elements,
    lines,
    registers,
)
from morello.rewriting.transfer import fetched_ahead, transfer_cycles
from morello.rewriting.views import is_seen_along_rows, slice_of

LONGEST_BLOCK = 4096
"""Bytes of a block of a row in a pipelined loop."""


@dataclass(slots=True)
class Scope:
    """An environment for expressions: variables, the target, and the sizes if there are any.

    ``used`` maps a bounded level's name to its capacity units in use. ``match`` is that of the
    kernel whose guards and cost are evaluated; a rule has none. ``requests`` says what kernels want
    of a tensor of an operation, in an element type: choices ask for that. ``view_maps``: the views
    of an operand that rules for the operation apply others to; ``direct``: whether a kernel that
    says so takes the element types. Guards that no size decides ask for these.
    """

    target: Target
    variables: Variables
    sizes: Sizes
    used: Mapping[str, Size]
    match: KernelMatch | None = None
    requests: Callable[[SpecRef, TensorRef, DType], LayoutRequests] | None = None
    view_maps: Callable[[SpecRef, TensorRef], Iterable[ViewMap]] | None = None
    direct: Callable[[SpecRef], bool] | None = None

    def name(self, node: ast.Name) -> Value:
        """A variable, a coefficient or a level."""
        if node.id in self.variables:
            return self.variables[node.id]
        if node.id in self.target.coefficients:
            return self.target.coefficients[node.id].value
        return self.target.level_by_name[node.id]

    def attribute(self, base: Value, node: ast.Attribute) -> Value:
        """``X.level``, ``X.dtype``, ``f.out``, and ``f``'s operands and scalars by their names."""
        match base, node.name:
            case SpecRef(), "out":
                return base.out
            case SpecRef(), name:
                return base.member(name, self.target)
            case _, "level":
                return base.operand.level
            case _:
                return base.operand.dtype

    def element(self, node: ast.Element) -> Value:
        """Elements occur in operators' meanings only."""
        raise AssertionError(f"an element of '{node.tensor}' outside of an operator's meaning")

    def call(self, node: ast.Call, args: tuple[Value, ...]) -> Value:
        """A function of the rule language."""
        return SPEC_FUNCTIONS[node.function](self, *args)


def _tile_sizes(scope: Scope, _: str) -> tuple[int, ...]:
    return scope.target.sizes


def _levels(scope: Scope, tensor: TensorRef) -> tuple[Level, ...]:
    """Where an intermediate may be, or a copy of an operand.

    A copy is not where only arguments are. An intermediate is there like an argument, if that is
    behind all caches: what has been written is found in the cache that programs know nothing of.

    What is small beside all that reads it, as a statistic of rows is, is in the nearest cache or in
    memory. A slice of an input is as near where it is read in place, so that one level is enough to
    copy it to: the farthest that is no farther than any operand.
    """
    f = _operation_of(scope)
    composition = composition_of(f.family.operation.operator)
    if composition is None or not tensor.intermediate:
        return tuple(v for v in scope.target.levels if not v.arguments and v.addressable)
    if composition.is_slice(tensor.name) and prunes("slices_once"):
        near = (v for v in scope.target.levels if v.distance <= _nearest(scope, f))
        found = [v for v in near if v.addressable and not v.arguments]
        return tuple(sorted(found, key=lambda v: v.distance)[-1:])
    caches = [level for level in scope.target.levels if level.cache]
    small = composition.is_statistic(tensor.name) and prunes("statistics_near")
    skipped = caches[1:] if small else []
    return tuple(
        v
        for v in scope.target.levels
        if v not in skipped and (not v.arguments or scope.target.is_behind_caches(v))
    )


def _operation_of(scope: Scope) -> SpecRef:
    """The matched operation, whatever the rule calls it."""
    return next(v for v in scope.variables.values() if isinstance(v, SpecRef))


def _layouts(
    scope: Scope, tensor: TensorRef, level: Level, dtype: DType | None = None
) -> tuple[Layout, ...]:
    """Row-major, and what kernels for the operation want where the tensor is going, in its type.

    In memory the tensor may be on its way to the registers: any layout counts that some kernel
    wants of this operand at that level or a nearer one. Panels keep lines together, so that they
    are for levels that lines are moved from. Where those with a height are wanted, the same panels
    without one are not tried. Where a kernel refuses what is not in panels, it does not want the
    layout without them.
    """
    rank = len(tensor.operand.order)
    wanted = _requests(scope, tensor, dtype or tensor.operand.dtype)
    return wanted.once(
        (level.name, rank), lambda: _wanted_layouts(scope.target, wanted.of, level, rank)
    )


def _wanted_layouts(
    target: Target, requests: Iterable[LayoutRequest], level: Level, rank: int
) -> tuple[Layout, ...]:
    wanted = {row_major(rank)} if level.addressable else set[Layout]()
    for request in requests:
        levels = request.pattern.levels
        near = any(target.level_by_name[n].distance <= level.distance for n in levels)
        if request.plain and near and request.possible and request.pattern.order != ():
            wanted.add(Layout(request.order(rank)))
        elif request.plain and near and level.name in levels:
            wanted.add(row_major(rank))
        if near and request.read and target.moves_lines_from(level) and request.possible:
            wanted.update(request.in_panels(rank))
    return tuple(sorted(wanted))


def _requests(scope: Scope, tensor: TensorRef, dtype: DType) -> LayoutRequests:
    assert scope.requests is not None, "only choices ask what kernels want"
    return scope.requests(_operation_of(scope), tensor, dtype)


def _vectors(
    scope: Scope, tensor: TensorRef, level: Level, dtype: DType | None = None
) -> tuple[int, ...]:
    """Vector widths that kernels for the operation want of this operand; 0 in memory.

    Of kernels that accept the operands that are in registers already.
    """
    if level.addressable:
        return (0,)
    given = dtype or tensor.operand.dtype
    wanted = _requests(scope, tensor, given)
    held = _held(scope.target, _operation_of(scope))
    return wanted.once(
        (level.name, held), lambda: _wanted_vectors(scope.target, wanted.of, level, given, held)
    )


def _held(target: Target, f: SpecRef) -> Held:
    """The operands that no rule brings nearer any more, in registers."""
    return tuple(
        (name, PartialOperand((own.operand.dtype,), own.operand.level, own.operand.vector))
        for name, own in zip(f.family.operation.names, f.tensors, strict=True)
        if own.operand.vector and not target.nearer(own.operand.level)
    )


def _wanted_vectors(
    target: Target, requests: Iterable[LayoutRequest], level: Level, dtype: DType, held: Held
) -> tuple[int, ...]:
    def wants(request: LayoutRequest, known: PartialOperand) -> bool:
        return not operand_refusal(request.pattern, target, known, request.name) and (
            not request.own or accepts_held(request.kernel, target, held)
        )

    return tuple(
        vector
        for vector in level.vectors
        if any(wants(request, PartialOperand((dtype,), level, vector)) for request in requests)
    )


def _reads(_: Scope, f: SpecRef, tensor: TensorRef) -> bool:
    return f.family.operation.reads(structure.operand_position(f, tensor))


def _writes(_: Scope, f: SpecRef, tensor: TensorRef) -> bool:
    return f.family.operation.writes(structure.operand_position(f, tensor))


def _visible(scope: Scope, f: SpecRef, tensor: TensorRef) -> bool:
    """Whether some rule for this very operator can see it as it lies, or none looks at it."""
    assert scope.view_maps is not None, "only guards that no size decides ask what rules see"
    views = scope.view_maps(f, tensor)
    seen = not views or any(is_seen_along_rows(tensor, view_map) for view_map in views)
    return seen and prunes("visible")


def _rearranged(_: Scope, f: SpecRef, tensor: TensorRef, operand: TensorRef) -> bool:
    """Whether it can be seen in an operand: only its elements are in other places."""
    return rearranged(f.family.operation.operator, tensor.name, operand.name) is not None


def _slice(scope: Scope, f: SpecRef) -> TensorRef:
    """What is between margins; the whole input where there is no such part."""
    return slice_of(f.tensors, f, scope.target, scope.sizes or None)[0]


def _margin(_: Scope, f: SpecRef) -> float | None:
    return elsewhere_of(f.family.operation, f.out.operand.dtype)


def _direct(scope: Scope, f: SpecRef) -> bool:
    assert scope.direct is not None, "only guards that no size decides ask what kernels take"
    return scope.direct(f)


def takes_directly(target: Target, f: SpecRef) -> bool:
    """Whether a kernel that says ``direct`` is for an operation on these element types.

    Of a kernel with conditions, all of them hold for the target's coefficients.
    """
    coefficients = Scope(target, {}, {}, {})
    direct = (
        kernel
        for kernel in target.kernels
        if kernel.clauses.direct is not None
        and all(evaluate(condition, coefficients) for condition in kernel.clauses.direct)
    )
    known = [PartialOperand((own.operand.dtype,)) for own in f.tensors]
    found = any(True for _ in possible_kernels(direct, target, f.family.operation, known))
    return found and prunes("direct")


def _identity(_: Scope, f: SpecRef) -> float | None:
    return f.family.operation.identity


def _contiguity(scope: Scope, x: TensorRef) -> Size:
    """At most one dimension where packings do not tell, since no cost depends on them.

    To a kernel, those of its pattern, without what lies between them and is left out by it.
    """
    known = contiguity(x.packing)
    if scope.match is not None:
        known = scope.match.together(x, known)
    return known if x.operand.moves_lines(scope.target) else np.minimum(known, 1)


def _has_layout(scope: Scope, tensor: TensorRef, layout: Layout) -> Truth:
    panels = shortened(layout, tensor.extents(scope.sizes))
    return (tensor.operand.order == layout.order) & (panel(tensor.packing) == panels)


def _nearest(_: Scope, f: SpecRef) -> int:
    return min(t.operand.level.distance for t in f.tensors)


def _size(scope: Scope, dim: str) -> Size:
    return scope.sizes[dim]


def _steps(scope: Scope, dim: str, tile: Size) -> Size:
    return -(-scope.sizes[dim] // tile)


def _share(scope: Scope, dim: str, number: Number) -> Size:
    """At least 1 and at most the size, whatever the number is."""
    size = scope.sizes[dim]
    if isinstance(number, int):
        return -(-size // max(1, number))
    return np.ceil(size / np.maximum(1, number)).astype(np.int64)


def _volume(scope: Scope, f: SpecRef) -> Size:
    return prod((scope.sizes[d] for d in f.family.operation.dims), start=1)


def _free(scope: Scope, level: Level) -> Size:
    assert level.capacity is not None
    return level.capacity - scope.used[level.name]


def _fits_argument_cache(scope: Scope, bytes: Size) -> Truth:
    """Whether a call would find them where arguments are, beside the farthest level."""
    return np.less_equal(bytes, max(level.arguments for level in scope.target.levels))


def _holds(scope: Scope, level: Level, bytes: Size) -> Truth:
    """Whether so many bytes that a program computes are at a level, as arguments would be."""
    target = scope.target
    if level.arguments:
        return np.less_equal(bytes, level.arguments)
    behind = (v.arguments for v in target.levels if target.is_behind_caches(v))
    least = max(behind, default=0) if level == target.farthest else -1
    return np.greater(bytes, least)


def _short_block(_: Scope, bytes: Size) -> Truth:
    """Whether memory takes no less time for a block than it takes to compute the next one."""
    return np.less_equal(bytes, LONGEST_BLOCK if prunes("short_blocks") else np.inf)


def _transfer(kind: str, *, by_rows: bool = False) -> Callable[[Scope, TensorRef, Level], Number]:
    def cycles(scope: Scope, tensor: TensorRef, level: Level) -> Number:
        ahead = kind == "fetch" and fetched_ahead(scope.target, _operation_of(scope), tensor)
        return transfer_cycles(
            scope.target, tensor, scope.sizes, level, kind, by_rows=by_rows, ahead=ahead
        )

    return cycles


_FETCH, _STORE = _transfer("fetch"), _transfer("store")
_FETCH_ROWS, _STORE_ROWS = (_transfer(kind, by_rows=True) for kind in ("fetch", "store"))


def _traffic(scope: Scope, f: SpecRef, level: Level) -> Number:
    operation = f.family.operation
    total: Number = 0.0
    in_memory = ((p, t) for p, t in enumerate(f.tensors) if t.operand.addressable)
    for position, tensor in in_memory:
        if operation.reads(position):
            total = total + _FETCH_ROWS(scope, tensor, level)
        if operation.writes(position):
            total = total + _STORE_ROWS(scope, tensor, level)
    return total


def _arithmetic(scope: Scope, f: SpecRef) -> float:
    lanes = _lanes(scope, f)
    strided = sum(
        primitive_cycles(scope.target, f.family.operands[p].dtype.name, lanes, primitive)
        for p in _row_operands(scope, f, True)
        if _step(scope, p) > 1
        for primitive in (EVERY_SECOND, IN_ORDER)
    )
    return arithmetic_cycles(scope.target, f.family, lanes) + strided


def _lanes(scope: Scope, f: SpecRef) -> int:
    return scope.match.lanes if scope.match else lanes_of(f.family)


def _row_operands(scope: Scope, f: SpecRef, along: bool) -> list[int]:
    """Operands that lie along the rows of the kernel, or do not; without rows all of them do."""
    rows = scope.match.patterns.rows if scope.match else None
    every = range(len(f.tensors))
    return [p for p in every if bool(rows.along[p] if rows else True) == along]


def _step(scope: Scope, position: int) -> int:
    """How many elements neighbours along the rows of the kernel are apart."""
    rows = scope.match.patterns.rows if scope.match else None
    return rows.along[position] if rows else 1


def _loads(scope: Scope, f: SpecRef) -> int:
    found = (p for p in _row_operands(scope, f, True) if f.family.operation.reads(p))
    return sum(_step(scope, p) for p in found if f.tensors[p].operand.addressable)


def _stores(scope: Scope, f: SpecRef) -> int:
    found = (p for p in _row_operands(scope, f, True) if f.family.operation.writes(p))
    return sum(f.tensors[p].operand.addressable for p in found)


def _tails(scope: Scope, f: SpecRef) -> float:
    operation, lanes = f.family.operation, _lanes(scope, f)
    return sum(
        primitive_cycles(scope.target, f.family.operands[p].dtype.name, lanes, primitive)
        for p in _row_operands(scope, f, True)
        for primitive, used in ((LOAD_FIRST, operation.reads), (STORE_FIRST, operation.writes))
        if f.family.operands[p].addressable and used(p)
    )


def _capacity(_: Scope, level: Level) -> Number:
    return inf if level.capacity is None else level.capacity


def _broadcasts(scope: Scope, f: SpecRef) -> int:
    operation = f.family.operation
    return sum(not operation.writes(p) for p in _row_operands(scope, f, False))


SPEC_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "output_dims": lambda _, f: structure.divisible(f, f.family.operation.output_dims),
    "reduced_dims": lambda _, f: structure.divisible(f, f.family.operation.reduced_dims),
    "batch_dims": lambda _, f: structure.first_batch(f),
    "tile_sizes": _tile_sizes,
    "divisors": lambda _, number: tuple(n for n in range(1, int(number) + 1) if number % n == 0),
    "levels": _levels,
    "nearer": lambda scope, level: scope.target.nearer(level),
    "layouts": _layouts,
    "column_major": lambda _, tensor: column_major(len(tensor.operand.order)),
    "vectors": _vectors,
    "direct": _direct,
    "is_intermediate": lambda _, tensor: tensor.intermediate,
    "composite": lambda _, f: f.family.operation.operator.composite,
    "partly_tileable": lambda _, f: f.family.operation.operator.partly_tileable,
    "parts_first": lambda _, f: structure.parts_first(f),
    "turns": lambda _, f: structure.turns(f),
    "reads": _reads,
    "writes": _writes,
    "reused": lambda _, f, tensor: structure.is_reused(f, tensor),
    "visible": _visible,
    "in_place": lambda _, f, tensor: structure.may_be_in_place(f, tensor),
    "rearranged": _rearranged,
    "slices": lambda _, f: sliced(f.family.operation) is not None,
    "slice": _slice,
    "frames": lambda _, f: framed(f.family.operation) is not None,
    "margin": _margin,
    "first_to_move": lambda _, f, tensor, level: structure.is_first_to_move(f, tensor, level),
    "reduces": lambda _, f: structure.reduces(f),
    "splits": lambda _, f: structure.splits(f),
    "identity": _identity,
    "is_parallel": lambda _, f: f.family.threads > 1,
    "threads": lambda _, f: f.family.threads,
    "cache": lambda _, level: level.cache,
    "addressable": lambda _, level: level.addressable,
    "distance": lambda _, level: level.distance,
    "farthest": lambda scope, level: level == scope.target.farthest,
    "nearest": _nearest,
    "fits_argument_cache": _fits_argument_cache,
    "holds": _holds,
    "short_block": _short_block,
    "unrolled": lambda _, f, dim: structure.is_unrolled(f, dim),
    "arithmetic": _arithmetic,
    "loads": _loads,
    "stores": _stores,
    "broadcasts": _broadcasts,
    "tails": _tails,
    "capacity": _capacity,
    "size": _size,
    "steps": _steps,
    "share": _share,
    "has_layout": _has_layout,
    "volume": _volume,
    "elements": lambda scope, x: elements(x, scope.sizes),
    "bytes": lambda scope, x: elements(x, scope.sizes) * x.operand.dtype.bytes,
    "lines": lambda scope, x: lines(x, scope.sizes),
    "panels": lambda _, x: width_of(panel(x.packing)),
    "contiguity": _contiguity,
    "registers": lambda scope, x: registers(x, scope.sizes),
    "free": _free,
    "fetch": _FETCH,
    "store": _STORE,
    "traffic": _traffic,
}
