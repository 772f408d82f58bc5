"""When two plans of a Spec are so alike that measuring both would say nothing.

Derivations are many, and most differ in what no machine would notice. A cache that holds something
has no code. Loops over registers are written out, so that their nesting leaves no trace, and the
order of what is then straight-line code is for the C compiler and the processor to choose. A loop
around another over the same dimension visits the same tiles in the same order. And there are many
ways to treat a remainder, which takes few of the cycles.

So plans are told apart by their *main parts*: of steps in sequence those that take most of the
cycles, of a loop the tiles that cover most of it. There it is loops, tile sizes, buffers in memory,
and for straight-line code the kernels and the predicted cost: equal kernels at equal cost do the
same work, in another order. All other parts are done in their best way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from morello.ir.layout import panel
from morello.rewriting.alternatives import KernelAlternative
from morello.rewriting.steps import Leaf, Placed, Sequence, Step, Tiled
from morello.search.results.reconstruct import PlanNode

MAIN_SHARE = 0.5
"""Of steps in sequence, a main part takes at least this share of what the largest takes."""

MAX_REPEATS = 8
"""Plans of one decision that are like others, in a row, before it is given up."""

DIGITS = 9
"""Significant digits of a cost that count: sums of the same cycles differ by their order."""


class _Straight(Struct, frozen=True):
    """Code without loops or buffers in memory: names of its kernels, cycles of all."""

    kernels: frozenset[str]
    cycles: float


@dataclass(frozen=True, slots=True)
class _Loop:
    """Tiles along one dimension: size of those that cover most of it, and the code on each.

    ``covered``: by size and code of tiles, how much of the dimension they cover in all.
    """

    dim: str
    unrolled: bool
    tile: int
    code: Hashable
    covered: Mapping[tuple[int, Hashable], int] = field(compare=False)


class _Operands(Struct, frozen=True):
    """Names in a rule's result.

    ``own``: the Spec's operands. ``held``: for a tensor that a cache holds, the tensor that it is.
    """

    own: tuple[str, ...]
    held: Mapping[str, str]

    def name(self, key: str) -> str:
        """What a tensor is called where caches leave no trace."""
        return self.held.get(key, key)


class PlanSignature:
    """Tells plans apart by their main parts: a `Signature` for `morello.search.results.kbest`."""

    max_repeats = MAX_REPEATS

    def varies(self, plan: PlanNode) -> tuple[bool, ...]:
        """For every leaf of a decision, whether it is a main part."""
        return main_parts(plan, loop_share=1.0)

    def code(self, plan: PlanNode, below: tuple[Hashable, ...]) -> Hashable:
        """What is equal for plans that are alike."""
        if isinstance(plan.option.alternative, KernelAlternative):
            return _straight(frozenset((plan.option.name,)), plan.cycles)
        assert plan.step is not None
        parts = [part for part in below if isinstance(part, _Straight)]
        if len(parts) == len(below) and is_straight(plan.step):
            return _straight(frozenset().union(*(part.kernels for part in parts)), plan.cycles)
        own = tuple(str(i) for i in range(len(plan.spec.family.operands)))
        # Full tiles and tail both count here: `_tiled` takes the one that covers more of the
        # dimension.
        main = zip(below, main_parts(plan, loop_share=0.0), strict=True)
        codes = [code if is_main else None for code, is_main in main]
        return _code(plan.step, iter(codes), _Operands(own, {}))


def main_parts(plan: PlanNode, loop_share: float) -> tuple[bool, ...]:
    """For every leaf whether it is a main part.

    ``loop_share``: of a loop's full tiles and tail, the share of the larger that makes one.
    """
    if plan.step is None:
        return ()
    cycles = [n * child.cycles for n, child in zip(plan.counts, plan.children, strict=True)]
    return _main(plan.step, iter(cycles), loop_share)[1]


def _main(step: Step, cycles: Iterator[float], loop_share: float) -> tuple[float, tuple[bool, ...]]:
    """Cycles of all leaves, and which of them are main parts."""
    match step:
        case Leaf():
            return next(cycles), (True,)
        case Sequence(steps=steps):
            return _of_parts([_main(inner, cycles, loop_share) for inner in steps], MAIN_SHARE)
        case Placed(body=body):
            return _main(body, cycles, loop_share)
        case Tiled(full=full, tail=tail, remainder=remainder):
            existing = [full, tail] if remainder else [full]
            return _of_parts([_main(inner, cycles, loop_share) for inner in existing], loop_share)


def _of_parts(
    parts: list[tuple[float, tuple[bool, ...]]], share: float
) -> tuple[float, tuple[bool, ...]]:
    least = share * max((cycles for cycles, _ in parts), default=0.0)
    flags = [main if cycles >= least else (False,) * len(main) for cycles, main in parts]
    return sum(cycles for cycles, _ in parts), tuple(flag for part in flags for flag in part)


def _straight(kernels: frozenset[str], cycles: float) -> _Straight:
    return _Straight(kernels, significant(cycles))


def significant(cycles: float) -> float:
    """A cost without the digits that do not count."""
    return float(f"{cycles:.{DIGITS}g}")


def is_straight(step: Step) -> bool:
    """Whether a rule's result adds no loop and no buffer in memory to its leaves."""
    match step:
        case Leaf():
            return True
        case Sequence(steps=steps):
            return all(map(is_straight, steps))
        case Placed(copied=copied, tensor=tensor, body=body):
            return not (copied and tensor.operand.level.addressable) and is_straight(body)
        case Tiled(unrolled=unrolled, parallel=parallel, full=full):
            return unrolled and not parallel and is_straight(full)


def _code(step: Step, below: Iterator[Hashable], operands: _Operands) -> Hashable:
    """Code of a part of a rule's result, or none where nothing in it is a main part.

    ``below`` has the leaves' codes in the order of `leaves`. A leaf on the Spec's own operands is
    its code alone: what leads there has left no trace.
    """
    match step:
        case Leaf(tensors=tensors):
            keys, code = tuple(operands.name(t.key) for t in tensors), next(below)
            return code if code is None or keys == operands.own else ("on", keys, code)
        case Sequence(steps=steps):
            codes = [_code(inner, below, operands) for inner in steps]
            main = tuple(code for code in codes if code is not None)
            return ("then", *main) if len(main) > 1 else next(iter(main), None)
        case Placed():
            return _placed(step, below, operands)
        case Tiled():
            return _tiled(step, below, operands)


def _placed(step: Placed, below: Iterator[Hashable], operands: _Operands) -> Hashable:
    key, source = step.tensor.key, operands.name(step.source.key)
    if not step.copied:
        held = {**operands.held, key: source}
        return _code(step.body, below, _Operands(operands.own, held))
    buffer = step.tensor.operand
    layout = (buffer.order, int(panel(step.tensor.packing)))
    body = _code(step.body, below, operands)
    return ("buffer", key, buffer.level.name, layout, buffer.vector, source, body)


def _tiled(step: Tiled, below: Iterator[Hashable], operands: _Operands) -> Hashable:
    """A loop: the tiles of loops inside, over the same dimension, are put in place of its own."""
    full = _code(step.full, below, operands)
    tail = _code(step.tail, below, operands) if step.remainder else None
    if step.parallel:
        return ("parallel", step.dim, int(step.step), full)
    covered = _covered(step, int(step.step), int(step.count), full)
    if step.remainder:
        for tiles, extent in _covered(step, int(step.remainder), 1, tail).items():
            covered[tiles] = covered.get(tiles, 0) + extent
    (tile, code), _ = max(covered.items(), key=lambda item: item[1])
    return _Loop(step.dim, step.unrolled, tile, code, covered)


def _covered(step: Tiled, size: int, count: int, code: Hashable) -> dict[tuple[int, Hashable], int]:
    """How much of a loop's dimension is covered by which tiles, in ``count`` runs of a body."""
    match code:
        # A loop directly around another one over the same dimension: its tiles are those of the
        # inner one.
        case _Loop(dim=step.dim, unrolled=step.unrolled, covered=covered):
            return {tiles: extent * count for tiles, extent in covered.items()}
    return {(size, code): size * count}
