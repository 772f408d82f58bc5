"""What a kernel is tried on: families that its pattern accepts, at sizes around the vectors'.

Families are shuffled, always alike, the operators and their operations taking turns, and paired
with shapes along diagonals: family i with shape i, i + 1, ... So a small budget already sees every
operator and every shape, and as many operations and families as it can. What is wrong beyond a
threshold shows at large sizes only: of each free dimension one instance has one. Small sizes that
guards tell apart are all tried, in tensors of their own and in parts of larger ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from random import Random
from typing import TypeVar

from msgspec import Struct

from morello.ir.dtypes import DTYPES, DType
from morello.ir.layout import Order
from morello.ir.operators import Operation, Operator
from morello.ir.spec import Family, Operand, Variant
from morello.ir.target import Level, Microkernel, Target
from morello.ir.vector_axis import ROW_KINDS
from morello.language import target_ast
from morello.rewriting.matching import KernelMatch, match_kernel
from morello.rewriting.patterns import accepts_order, implements, pattern_order
from morello.verify.families import dtype_choices, operations
from morello.verify.kernel_sizes import (
    LARGE,
    Part,
    Shape,
    accepts_family,
    free_dims,
    large_shapes,
    possible_parts,
    shapes_with,
    small_shapes,
    told_apart,
)

_Item = TypeVar("_Item")

BUDGET = 40
"""Instances of a kernel that are tried, unless the caller says otherwise."""

TURNS = 1
"""How often an operation is tried at least, if that is of a kernel for any of them."""

LARGE_FAMILIES = 12
"""In so many families a dimension is tried to be large, until the guards of a kernel accept it."""

GROUP_RANKS = 2
"""How many ranks of an operator's group are tried, the smallest that the pattern accepts."""


class KernelInstance(Struct, frozen=True):
    """A kernel on a family at some sizes.

    ``packing`` is that of whole operands, some of them perhaps in panels. ``parts``: which operands
    in memory are parts of larger tensors; the others are tensors of exactly their size.
    """

    match: KernelMatch
    sizes: tuple[int, ...]
    packing: tuple[int, ...]
    parts: frozenset[Part]

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
        names = (self.family.operation.names[part.position] for part in sorted(self.parts))
        placed = f", parts of larger tensors: {', '.join(names)}" if self.parts else ""
        return f"{Variant(self.family, self.packing)} [{sizes}]{placed}"


def kernel_instances(
    target: Target,
    kernel: Microkernel,
    operators: Mapping[str, Operator],
    budget: int | None = None,
) -> list[KernelInstance]:
    """At most so many different instances of a kernel.

    Without a budget `BUDGET`, or more where that is needed to see every operation `TURNS` times.
    """
    return instances_of(target, kernel, kernel_families(target, kernel, operators), budget)


def instances_of(
    target: Target, kernel: Microkernel, accepted: Sequence[KernelMatch], budget: int | None = None
) -> list[KernelInstance]:
    """The same, where the families that the kernel accepts are known."""
    families = _first_to_move(accepted, Random(kernel.name))
    if budget is None:
        possible: set[Operation] = set()
        for match in families:
            operation = match.f.family.operation
            if operation not in possible and any(small_shapes(target, match, Random(0))):
                possible.add(operation)
        budget = max(BUDGET, TURNS * len(possible))
    instances = _turns(
        _shuffled(target, match, Random(f"{kernel.name} {number}"))
        for number, match in enumerate(families)
    )
    found = list(islice(instances, budget))
    found += _told_apart(target, families, found)
    return [*found, *_large(target, families, found)]


def _told_apart(
    target: Target, families: Sequence[KernelMatch], found: Sequence[KernelInstance]
) -> Iterator[KernelInstance]:
    """Of each small size that guards tell from others, an instance with parts, and one without.

    Kernels for few rows or columns are written out for how many there are, and how far apart.
    """
    known = {(d, n, bool(one.parts)) for one in found for d, n in one.by_dim.items()}
    for match in islice(families, LARGE_FAMILIES):
        for (dim, size), part in product(told_apart(match), (True, False)):
            if (dim, size, part) in known:
                continue
            for shape in shapes_with(target, match, dim, size, Random(f"{dim} {size}")):
                parts = possible_parts(target, match, shape) if part else frozenset[Part]()
                if bool(parts) == part:
                    one = KernelInstance(match, *shape, parts)
                    known |= {(d, n, part) for d, n in one.by_dim.items()}
                    yield one
                    break


def _large(
    target: Target, families: Sequence[KernelMatch], found: Sequence[KernelInstance]
) -> Iterator[KernelInstance]:
    """Of each free dimension that is nowhere large yet, an instance where it is."""
    dims = dict.fromkeys(dim for match in families for dim in free_dims(match))
    known = {dim for one in found for dim, size in one.by_dim.items() if size in LARGE}
    for dim in (dim for dim in dims if dim not in known):
        having = (match for match in families if dim in free_dims(match))
        for match in islice(having, LARGE_FAMILIES):
            if shapes := large_shapes(target, match, dim):
                for shape in shapes:
                    yield KernelInstance(match, *shape, possible_parts(target, match, shape))
                break


def _shuffled(target: Target, match: KernelMatch, random: Random) -> Iterator[KernelInstance]:
    """All instances of a family. They are worked out when they are asked for."""

    def instances(shape: Shape, part: bool) -> Iterator[KernelInstance]:
        parts = possible_parts(target, match, shape) if part else frozenset()
        if parts or not part:
            yield KernelInstance(match, *shape, parts)

    others = []
    for shape in small_shapes(target, match, random):
        part = random.random() < 0.5
        others.append((shape, not part))
        yield from instances(shape, part)
    for shape, part in others:
        yield from instances(shape, part)


def _first_to_move(matches: Sequence[KernelMatch], random: Random) -> list[KernelMatch]:
    """Shuffled, one of each operation after the other: first one of each operator."""
    groups: dict[Operation, list[KernelMatch]] = {}
    for match in random.sample(matches, len(matches)):
        groups.setdefault(match.f.family.operation, []).append(match)
    by_operator: dict[str, list[Operation]] = {}
    for operation in sorted(groups, key=lambda o: o.key):
        by_operator.setdefault(operation.operator.name, []).append(operation)
    ordered = [groups[operation] for operation in _turns(by_operator.values())]
    return list(_turns(ordered))


def _turns(queues: Iterable[Iterable[_Item]]) -> Iterator[_Item]:
    """The first of each, then the second of each, and so on, each when it is asked for."""
    waiting = [iter(queue) for queue in queues]
    while waiting:
        left = []
        for queue in waiting:
            for item in islice(queue, 1):
                yield item
                left.append(queue)
        waiting = left


# ------------------------------------------------------------------------------- families


def kernel_families(
    target: Target, kernel: Microkernel, operators: Mapping[str, Operator]
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
    target: Target, kernel: Microkernel, operation: Operation, places: Places
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
            if isinstance(found, KernelMatch) and accepts_family(target, found):
                yield found


def _places(
    target: Target, match: target_ast.KernelMatch, name: str, dtype: DType, rank: int
) -> tuple[Operand, ...]:
    patterns = _patterns(match, name)
    return tuple(
        dict.fromkeys(o for p in patterns for o in _operands(target, match, p, dtype, rank))
    )


def _patterns(match: target_ast.KernelMatch, name: str) -> list[target_ast.KernelOperand]:
    """Patterns that may be for an operand; none if the kernel is for another operator."""
    return [p for p in match.operands if p.name in ("", name)]


def _operands(
    target: Target,
    match: target_ast.KernelMatch,
    pattern: target_ast.KernelOperand,
    dtype: DType,
    rank: int,
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
    for level in levels:
        for order, vector in product(
            _orders(pattern, rank, level), _vectors(pattern, level, dtype)
        ):
            yield Operand(dtype, level, order, vector)


def _orders(pattern: target_ast.KernelOperand, rank: int, level: Level) -> list[Order]:
    """Orders to try. Dimensions that a pattern leaves out are moved where that moves elements."""
    if rank < len(pattern.shape):
        return []
    found = pattern_order(pattern, rank)
    if pattern.order == ():
        return sorted({found, found[::-1]})
    between = (*found[1:-1], *found[:1], *found[-1:])  # the first one next to the fastest
    if level.addressable and between != found and accepts_order(pattern, between):
        return [found, between]
    return [found]


def _vectors(pattern: target_ast.KernelOperand, level: Level, dtype: DType) -> tuple[int, ...]:
    if level.addressable:
        return (0,)
    width = pattern.width(dtype.bytes)
    return tuple(v for v in level.vectors if width in (None, v))
