"""What a kernel is tried on: families that its pattern accepts, at sizes around the vectors'.

Families are shuffled, always alike, the operators and their operations taking turns, and paired
with shapes along diagonals: family i with shape i, i + 1, ... So a small budget already sees every
operator and every shape, and as many operations and families as it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product, zip_longest
from random import Random
from typing import TypeVar

from morello.language import ast
from morello.language.evaluate import evaluate
from morello.rewriting.functions import Scope
from morello.rewriting.kernels import KernelMatch, match_kernel
from morello.rewriting.patterns import implements, pattern_order
from morello.rewriting.references import Point, Sizes, TensorRef, registers
from morello.spec.dtypes import DTYPES, DType
from morello.spec.layout import Layout, Order, packed, panel_of
from morello.spec.machine import Kernel, Level, Target
from morello.spec.operators import Operation, Operator
from morello.spec.rows import ROW_KINDS
from morello.spec.spec import Family, Operand, Variant
from morello.verify.families import dtype_choices, operations

_Item = TypeVar("_Item")

LANES_OF_MEMORY = 8
"""Around which sizes a kernel is tried that has no operand in registers."""

BUDGET = 40
"""Instances of a kernel that are tried, unless the caller says otherwise."""

TURNS = 1
"""How often an operation is tried at least, if that is of a kernel for any of them."""

ROWS = (9, 22, 48, 2300)
"""How many vectors are in long rows: the longest are more than the nearest cache holds."""

MULTIPLES = 3
"""How many multiples are tried of what a guard says that a size is a multiple of."""

GROUP_RANKS = 2
"""How many ranks of an operator's group are tried, the smallest that the pattern accepts."""


@dataclass(frozen=True, slots=True)
class KernelInstance:
    """A kernel on a family at some sizes.

    ``packing`` is that of whole operands, some of them perhaps in panels. ``whole``: operands in
    memory are tensors of exactly their size; otherwise they are parts of larger ones.
    """

    match: KernelMatch
    sizes: tuple[int, ...]
    packing: tuple[int, ...]
    whole: bool

    @property
    def family(self) -> Family:
        """The family that the kernel accepted."""
        return self.match.f.family

    @property
    def by_dim(self) -> dict[str, int]:
        """Size of each dimension."""
        return dict(zip(self.family.operation.dims, self.sizes, strict=True))

    def __str__(self) -> str:
        sizes = ", ".join(f"{d}={n}" for d, n in self.by_dim.items())
        placed = "" if self.whole else ", parts of larger tensors"
        return f"{Variant(self.family, self.packing)} [{sizes}]{placed}"


def kernel_instances(
    target: Target,
    kernel: Kernel,
    operators: Mapping[str, Operator],
    budget: int | None = None,
) -> list[KernelInstance]:
    """At most so many different instances of a kernel.

    Without a budget `BUDGET`, or more where that is needed to see every operation `TURNS` times.
    """
    return instances_of(target, kernel, kernel_families(target, kernel, operators), budget)


def instances_of(
    target: Target, kernel: Kernel, accepted: Sequence[KernelMatch], budget: int | None = None
) -> list[KernelInstance]:
    """The same, where the families that the kernel accepts are known."""
    families = _in_turn(accepted, Random(kernel.name))
    if budget is None:
        possible: set[Operation] = set()
        for match in families:
            operation = match.f.family.operation
            if operation not in possible and any(True for _ in _shapes(target, match)):
                possible.add(operation)
        budget = max(BUDGET, TURNS * len(possible))
    return list(islice(_diagonals(target, families), budget))


def _diagonals(target: Target, families: Sequence[KernelMatch]) -> Iterator[KernelInstance]:
    """All instances: one of each family by turns. Shapes are worked out when they are asked for."""
    queues: list[list[KernelInstance]] = []
    for match in families:
        in_memory = any(not o.vector for o in match.f.family.operands)
        placed = (True, False) if in_memory else (True,)
        shapes = product(_shapes(target, match), placed)
        queue = [KernelInstance(match, *shape, whole) for shape, whole in shapes]
        if queue:
            yield queue[len(queues) % len(queue)]
            queues.append(queue)
    for turn in range(1, max(map(len, queues), default=0)):
        for i, queue in enumerate(queues):
            if turn < len(queue):
                yield queue[(turn + i) % len(queue)]


def _in_turn(matches: Sequence[KernelMatch], random: Random) -> list[KernelMatch]:
    """Shuffled, one of each operation after the other: first one of each operator."""
    groups: dict[Operation, list[KernelMatch]] = {}
    for match in random.sample(matches, len(matches)):
        groups.setdefault(match.f.family.operation, []).append(match)
    by_operator: dict[str, list[Operation]] = {}
    for operation in sorted(groups, key=lambda o: o.key):
        by_operator.setdefault(operation.operator.name, []).append(operation)
    ordered = [groups[operation] for operation in _turns(by_operator.values())]
    return list(_turns(ordered))


def _turns(queues: Iterable[Sequence[_Item]]) -> Iterator[_Item]:
    """The first of each, then the second of each, and so on."""
    for turn in zip_longest(*queues):
        yield from (item for item in turn if item is not None)


# ------------------------------------------------------------------------------- families


def kernel_families(
    target: Target, kernel: Kernel, operators: Mapping[str, Operator]
) -> list[KernelMatch]:
    """Every family that a kernel accepts, of at most `GROUP_RANKS` ranks of each operator."""
    found: list[KernelMatch] = []
    places: Places = {}
    for operator in operators.values():
        ranks: set[int] = set()
        for operation in operations(operator):
            if operation.group_rank not in ranks and len(ranks) == GROUP_RANKS:
                continue
            matches = list(_matches(target, kernel, operation, places))
            ranks |= {operation.group_rank for _ in matches[:1]}
            found += matches
    return found


Places = dict[tuple[str, DType, int], tuple[Operand, ...]]
"""Operands that a kernel's pattern may accept, by name, element type and rank."""


def _matches(
    target: Target, kernel: Kernel, operation: Operation, places: Places
) -> Iterator[KernelMatch]:
    match = kernel.match
    if not implements(kernel, operation.operator):
        return
    ranks = [len(indices) for indices in operation.operands]
    for dtypes in dtype_choices(operation.operator):
        keys = list(zip(operation.names, dtypes, ranks, strict=True))
        for key in keys:
            if key not in places:
                places[key] = _places(target, match, *key)
        for operands in product(*(places[key] for key in keys)):
            found = match_kernel(kernel, target, Family(operation, operands))
            if isinstance(found, KernelMatch):
                yield found


def _places(
    target: Target, match: ast.KernelMatch, name: str, dtype: DType, rank: int
) -> tuple[Operand, ...]:
    patterns = _patterns(match, name)
    return tuple(
        dict.fromkeys(o for p in patterns for o in _operands(target, match, p, dtype, rank))
    )


def _patterns(match: ast.KernelMatch, name: str) -> list[ast.KernelOperand]:
    """Patterns that may be for an operand; none if the kernel is for another operator."""
    return [p for p in match.operands if p.name in ("", name)]


def _operands(
    target: Target, match: ast.KernelMatch, pattern: ast.KernelOperand, dtype: DType, rank: int
) -> Iterator[Operand]:
    """Operands that a pattern may accept; the matching has the last word.

    What is written for rows is the same for all levels of memory: of those one is tried.
    """
    if pattern.dtype in DTYPES and pattern.dtype != dtype.name:
        return
    levels = [target.level_by_name[name] for name in pattern.levels]
    if match.kind in ROW_KINDS:
        in_memory = [level for level in levels if level.addressable]
        levels = [level for level in levels if level not in in_memory[:-1]]
    for level, order in product(levels, _orders(pattern, rank)):
        for vector in _vectors(pattern, level, dtype):
            yield Operand(dtype, level, order, vector)


def _orders(pattern: ast.KernelOperand, rank: int) -> list[Order]:
    if rank < len(pattern.shape):
        return []
    found = pattern_order(pattern, rank)
    return sorted({found, found[::-1]}) if pattern.order == () else [found]


def _vectors(pattern: ast.KernelOperand, level: Level, dtype: DType) -> tuple[int, ...]:
    if level.addressable:
        return (0,)
    width = pattern.width(dtype.bytes)
    return tuple(v for v in level.vectors if width in (None, v))


# ------------------------------------------------------------------------------- sizes


def _shapes(
    target: Target, match: KernelMatch
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Sizes that satisfy the pattern, the guards, and the capacity of the registers.

    With each of them, every packing of whole operands that the pattern accepts.
    """
    dims = match.f.family.operation.dims
    fixed = _fixed_dims(match)
    around = _sizes_around([o.lanes for o in match.f.family.operands if o.vector])
    if match.patterns.rows is not None:
        around = _sizes_of_rows(match.lanes)
    panels = [_panels(match, p) for p in range(len(match.f.tensors))]
    past = _past_panels(panels, max(around))
    sizes_of = {d: sorted({*around, *past.get(d, ())}) for d in dims}
    steps = _steps(match)
    tried = {d: _multiples(n, steps[d]) if d in steps else n for d, n in sizes_of.items()}
    for sizes in product(*(tried[d] if d not in fixed else (fixed[d],) for d in dims)):
        by_dim = dict(zip(dims, sizes, strict=True))
        for packing in product(*(_packings(t, w, by_dim) for t, w in panels)):
            if _accepted(target, match, by_dim, packing):
                yield sizes, packing


def _panels(match: KernelMatch, position: int) -> tuple[TensorRef, tuple[int, ...]]:
    """An operand, and the panels that it may be in, if it may."""
    tensor = match.f.tensors[position]
    written = () if tensor.operand.vector else match.patterns.of[position].panels
    return tensor, tuple(map(panel_of, written))


def _past_panels(
    panels: Iterable[tuple[TensorRef, tuple[int, ...]]], largest: int
) -> dict[str, set[int]]:
    """By dimension, one more than is in panels that are as large as the largest other size."""
    found: dict[str, set[int]] = {}
    for tensor, own in panels:
        for one in own:
            for position, extent in Layout(tensor.operand.order, one).cuts.items():
                terms = tensor.indices[position].terms
                if extent >= largest and len(terms) == 1:
                    found.setdefault(terms[0][0], set()).add(extent + 1)
    return found


def _packings(tensor: TensorRef, panels: tuple[int, ...], sizes: Sizes) -> Iterator[int]:
    """Of a whole operand: plain, and in every kind of panels of which it fills more than one.

    That is along each dimension that they cut.
    """
    order = tensor.operand.order
    yield packed(len(order))
    extents = tensor.extents(sizes) if panels else ()
    for own in panels:
        cuts = Layout(order, own).cuts
        if cuts and all(extent < extents[d] for d, extent in cuts.items()):
            yield packed(len(order), own)


def _fixed_dims(match: KernelMatch) -> dict[str, int]:
    """Dimensions whose size the pattern states."""
    fixed: dict[str, int] = {}
    for position, dimension, wanted in match.fixed:
        terms = match.f.tensors[position].indices[dimension].terms
        if wanted == 1:  # an extent of 1 is one index: whatever it is a sum of has size 1
            fixed |= {dim: 1 for dim, _ in terms}
        elif len(terms) == 1:
            fixed[terms[0][0]] = wanted
    return fixed


def _steps(match: KernelMatch) -> dict[str, int]:
    """Dimensions that are a multiple of a number because a guard says so, and that number."""
    places = dict(match.variables)
    steps: dict[str, int] = {}
    for name, step in filter(None, map(_multiple, match.kernel.guards)):
        for position, dimension in places.get(name, ()):
            terms = match.f.tensors[position].indices[dimension].terms
            if len(terms) == 1:
                steps[terms[0][0]] = step
    return steps


def _multiple(guard: ast.Expr) -> tuple[str, int] | None:
    """Name and number of ``name % number == 0``; none of any other guard."""
    match guard:
        case ast.Binary(
            operator="==",
            left=ast.Binary(
                operator="%", left=ast.Name(id=name), right=ast.Number(value=int(step))
            ),
            right=ast.Number(value=0),
        ):
            return name, step
        case _:
            return None


def _multiples(sizes: Sequence[int], step: int) -> list[int]:
    """Those of the sizes that are multiples, and the first ones."""
    every = {*sizes, *(turn * step for turn in range(1, MULTIPLES + 1))}
    return sorted(size for size in every if size % step == 0)


def _sizes_around(lanes: Sequence[int]) -> list[int]:
    """1, 2, and the neighbours of one and two vectors."""
    sizes = {1, 2}
    for width in lanes or [LANES_OF_MEMORY]:
        sizes |= {n for k in (width, 2 * width) for n in (k - 1, k, k + 1) if n > 0}
    return sorted(sizes)


def _sizes_of_rows(lanes: int) -> list[int]:
    """As above; and rows that may be a loop with vectors and a part of one after it."""
    return sorted({*_sizes_around([lanes]), *(n * lanes + 1 for n in ROWS), ROWS[-1] * lanes})


def _accepted(target: Target, match: KernelMatch, sizes: Sizes, packing: tuple[int, ...]) -> bool:
    used = {level.name: 0 for level in target.bounded}
    for tensor in match.f.tensors:
        if tensor.operand.vector:
            used[tensor.operand.level.name] += registers(tensor, sizes)
    fits = all(used[v.name] <= v.capacity for v in target.bounded if v.capacity is not None)
    at = Point(sizes, used, packing)
    if not fits or not all(holds for _, holds in match.conditions(at)):
        return False
    if not match.kernel.guards:  # what they may name is not worked out either
        return True
    scope = Scope(target, match.scope_variables(at), sizes, used, match)
    return all(evaluate(guard, scope) for guard in match.kernel.guards)
