"""What a target promises at most, read off its own declarations.

Of the arithmetic: the most operations a cycle of any kernel that the search could call, where lines
cost nothing and operands fit; whatever the kernel is and whatever it is written with. Of the
nearest level of memory: the most bytes a cycle of any kernel that computes nothing and takes an
operand from there to registers or back. Of a farther level: its line, over its coefficient
``fetch``, which is what one line costs on its way to the next nearer level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.layout import packed, panel_of
from morello.ir.numeric import Array, Ints, Size, Truth
from morello.ir.spec import Family
from morello.ir.target import Coefficient, Level, Target
from morello.language.evaluate import evaluate
from morello.records import replace
from morello.report.explain.traffic import Kind, kind_of, operations_of
from morello.rewriting.alternatives import KernelAlternative, scope_at
from morello.rewriting.matching import KernelMatch
from morello.rewriting.references import Point, elements_in_memory, registers, spec_ref
from morello.search.results.solved_view import SolvedView

MOST_CELLS = 1 << 16
"""Sizes at which a kernel is looked at: of more dimensions, fewer of each."""

FETCH = "fetch"
"""The coefficient of a level that is the cost of one of its lines."""


class Roof(Struct, frozen=True):
    """A limit: so much a cycle, and what it is from."""

    rate: float
    source: str


@dataclass(frozen=True)
class Roofs:
    """``arithmetic``: operations a cycle, by what is computed. ``registers``: bytes a cycle."""

    arithmetic: Mapping[Kind, Roof]
    registers: Roof | None


def bandwidth(level: Level) -> Roof | None:
    """Bytes a cycle of a level; none where its lines cost nothing."""
    cost = level.coefficients.get(FETCH)
    if cost is None or cost.value <= 0 or not level.line:
        return None
    return Roof(level.line / cost.value, f"{level.line} bytes a line, {cost.value:g} cycles each")


def roofs_of(searches: Iterable[tuple[SolvedView, Family]]) -> Roofs:
    """Of the kernels below the goals of some searches."""
    arithmetic: dict[Kind, Roof] = {}
    moving: Roof | None = None
    for target, match in _matches(searches):
        family = match.f.family
        count = operations_of(family)
        found = _best(target, match, float(count or _bytes_between(family)))
        if found is None:
            continue
        if count:
            known = arithmetic.get(kind_of(family))
            arithmetic[kind_of(family)] = max(known or found, found, key=_rate)
        else:
            moving = max(moving or found, found, key=_rate)
    return Roofs(arithmetic, moving)


def _rate(roof: Roof) -> float:
    return roof.rate


def _matches(
    searches: Iterable[tuple[SolvedView, Family]],
) -> Iterator[tuple[Target, KernelMatch]]:
    """Kernels with the families that they accept.

    Those that compute nothing are for moving; and as lines cost nothing, it is the same from which
    level they are.
    """
    seen: set[object] = set()
    for solved, goal in searches:
        target = solved.context.target
        for family in _families(solved, goal):
            for alternative in solved.alternatives_of(family):
                if not isinstance(alternative, KernelAlternative):
                    continue
                operands = tuple((o.dtype.name, o.order, o.vector) for o in family.operands)
                key = (alternative.match.kernel.name, family.operation, operands)
                useful = operations_of(family) or _bytes_between(family)
                if key not in seen and useful:
                    seen.add(key)
                    yield target, alternative.match


def _families(solved: SolvedView, goal: Family) -> list[Family]:
    found = {goal: None}
    pending = [goal]
    while pending:
        for alternative in solved.alternatives_of(pending.pop()):
            new = [child for child in alternative.children if child not in found]
            found |= dict.fromkeys(new)
            pending += new
    return list(found)


def _bytes_between(family: Family) -> int:
    """Bytes an iteration that a family takes between memory and registers, if that is all."""
    near = [o for o in family.operands if not o.level.addressable]
    far = [o for o in family.operands if o.level.addressable]
    return far[0].dtype.bytes if len(near) == len(far) == 1 else 0


# ------------------------------------------------------------------------- one kernel


def _best(target: Target, match: KernelMatch, each: float) -> Roof | None:
    """The most a cycle, where an iteration is worth ``each``; none where it costs nothing."""
    best: Roof | None = None
    free = target.with_coefficients(_only_instructions)
    for packing in _packings(match):
        at = Point(_grid(target, match), {v.name: 0 for v in target.bounded}, packing)
        cost, volume, applies = _on_grid(free, match, at)
        rates = np.where(applies & (cost > 0), each * volume / np.where(cost > 0, cost, 1.0), 0.0)
        rate = float(rates.max(initial=0.0))
        if rate > 0 and (best is None or rate > best.rate):
            best = Roof(rate, match.kernel.name)
    return best


def _only_instructions(name: str, coefficient: Coefficient) -> Coefficient:
    """Coefficients of levels are of lines; all others are of what processors do."""
    return replace(coefficient, value=0.0) if "." in name else coefficient


def _on_grid(target: Target, match: KernelMatch, at: Point) -> tuple[Array, Array, Array]:
    """Costs and iterations at all sizes of a grid, and whether the kernel is for them."""
    family = match.f.family
    alternative = KernelAlternative(match, frozenset())
    scope = scope_at(target, family, alternative, at)
    applies = _fits(target, family, at)
    for _, holds in match.conditions(at):
        applies = applies & np.asarray(holds)
    for guard in match.kernel.guards:
        applies = applies & np.asarray(evaluate(guard, scope))
    volume = prod((at.sizes[d] for d in family.operation.dims), start=1)
    cost = np.asarray(evaluate(match.kernel.cost, scope), np.float64)
    return (*np.broadcast_arrays(cost, volume, applies),)  # type: ignore[return-value]


def _fits(target: Target, family: Family, at: Point) -> Truth:
    """Whether the operands fit in the levels where they are."""
    taken: dict[str, Size] = {}
    for tensor in spec_ref(family, at.packing).tensors:
        level = tensor.operand.level
        size = (
            elements_in_memory(tensor, at.sizes) * tensor.operand.dtype.bytes
            if level.addressable
            else registers(tensor, at.sizes)
        )
        taken[level.name] = taken.get(level.name, 0) + size
    fits: Truth = True
    for level in target.bounded:
        capacity_unit = level.capacity_unit if level.addressable else 1
        fits = fits & np.asarray(taken.get(level.name, 0) <= (level.capacity or 0) * capacity_unit)
    return fits


def _packings(match: KernelMatch) -> Iterator[tuple[int, ...]]:
    """Of whole operands: plain, and in the panels that the kernel reads."""
    kinds: list[Sequence[int]] = []
    for tensor, pattern in zip(match.f.tensors, match.patterns.of, strict=True):
        rank = len(tensor.operand.order)
        panels = () if tensor.operand.vector else map(panel_of, pattern.panels)
        kinds.append([packed(rank), *(packed(rank, panel) for panel in panels)])
    return product(*kinds)


def _grid(target: Target, match: KernelMatch) -> dict[str, Ints]:
    """An open grid of the target's sizes, with those that the kernel states."""
    dims = match.f.family.operation.dims
    stated: dict[str, int] = {}
    for position, dimension, wanted in match.fixed:
        for dim in match.f.tensors[position].indices[dimension].dims:
            stated[dim] = wanted
    free = [d for d in dims if d not in stated]
    sizes = [1, *target.sizes]
    while len(sizes) ** len(free) > MOST_CELLS:
        sizes = sizes[::-2][::-1]
    axes = [np.array([stated[d]] if d in stated else sorted(set(sizes)), np.int64) for d in dims]
    return dict(zip(dims, np.ix_(*axes), strict=True)) if dims else {}
