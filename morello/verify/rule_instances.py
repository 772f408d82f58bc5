"""Specs that a rule applies to, with its choices made: a sample that is the same every time.

Every combination of target, operation, threads and levels of the operands is one stratum. Strata
are visited in a shuffled order, one of each operator in turn, those of each again from the start
while the budget lasts; within a stratum element types, layouts, contiguity, vectors, sizes, memory
in use and the rule's own choices are drawn at random. What the guards or limits refuse does not
count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, islice, product, zip_longest
from math import prod
from random import Random

import numpy as np
from msgspec import Struct

from morello.definitions import Definitions
from morello.ir.dtypes import DTYPES, DType
from morello.ir.graphs.composition import composition_of
from morello.ir.graphs.graph import Graph
from morello.ir.layout import contiguity, pack, packed, panel_of, row_major
from morello.ir.operators import Operation
from morello.ir.rule import Rule
from morello.ir.sizes import sizes_from
from morello.ir.spec import Family, Operand, Spec
from morello.ir.target import Level, Target
from morello.language import ast
from morello.language.canonical import nodes
from morello.records import replace
from morello.reference.views import extents
from morello.rewriting.alternatives import RuleAlternative, choice_text, tiles_below
from morello.rewriting.bind import bind
from morello.rewriting.context import Context
from morello.rewriting.enumeration import rule_alternatives
from morello.rewriting.lifetimes import may_alias
from morello.search.tables.box import one_cell
from morello.verify.families import dtype_choices, group_ranks, operations
from morello.verify.graphs import composed, random_graphs

SIZES = (1, 2, 3, 4, 5, 7, 9, 17, 33)
"""Sizes of dimensions: below, at and above the tiles and vectors of real targets."""

PAGE_ROW = 1024
"""A size whose rows of 4-byte elements are a multiple of the usual page apart."""

LARGE = (101, 131, 259, 517, 1021)
"""Sizes beyond what a threshold in a rule may be."""

SMALL = (1, 2, 3)
"""Sizes of the other dimensions where one is large."""

MAX_VOLUME = 1 << 13
"""Iterations of the largest Spec, but where a guard asks for more."""

MAX_ASKED = 1 << 22
"""The largest size that is tried because a guard names it."""

MAX_TOTAL = 1 << 13
"""Iterations of all Specs with sizes that guards name; the one that reaches it is the last."""

PANELS = (0, 2, 4, 16)
"""Widths and heights of panels; 0 is none."""

GRAPHS = 12
"""Graphs of several operators."""

DRAWS = 100
"""Of sizes, until they fit each other and are not too large."""

RARE_GRAPHS = 2000
"""So many are drawn at most where few of them have what a rule is for."""

THREADS = 4
"""They can be divided again, among the rows of a grid."""

ALIASED = 0.5
"""How often an input lies where the output does, if one may."""

ALTERNATIVES_OF_A_FAMILY = 2
SHAPES_OF_AN_ALTERNATIVE = 6
MISSES = 40_000
LATE_MISSES = 10_000
"""After so many strata without a new instance, one after the other, no more are looked for: some
rules are for one place of each operand alone."""


class Instance(Struct, frozen=True):
    """A rule with its choices made, on one Spec. ``tile`` is absent where the rule has none."""

    context: Context
    spec: Spec
    alternative: RuleAlternative
    tile: int | None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells instances of one rule apart."""
        return (self.context.target.name, self.spec, self.alternative.key, self.tile)

    def __str__(self) -> str:
        chosen = [(name, choice_text(value)) for name, value in self.alternative.choices]
        if self.alternative.axis is not None:
            chosen.append((self.alternative.axis, str(self.tile)))
        text = f"{self.spec} on {self.context.target.name}"
        return ", ".join([text, *(f"{name} = {value}" for name, value in chosen)])


class _Stratum(Struct, frozen=True):
    context: Context
    operation: Operation
    threads: int
    levels: tuple[Level, ...]


def rule_instances(
    definitions: Definitions,
    rule: Rule,
    budget: int,
    admits: Callable[[Instance], bool] = lambda instance: True,
) -> Iterator[Instance]:
    """So many different instances of a rule; and one of each operator that was not met by then.

    ``admits``: asked of each before it counts.
    """
    random = Random(rule.name)
    seen: set[tuple[object, ...]] = set()
    unmet = {o.name for o in definitions.operators.values() if not o.parts and rule.may_match(o)}
    misses, asked_total = 0, 0
    asked = _asked_sizes(rule)
    for stratum in _strata(definitions, rule, random):
        misses += 1
        name = stratum.operation.operator.name
        exhausted = asked_total >= MAX_TOTAL
        if len(seen) < budget or name in unmet:
            for instance in _draw(rule, stratum, random, () if exhausted else asked):
                wanted = len(seen) < budget or name in unmet
                if wanted and instance.key not in seen and admits(instance):
                    seen.add(instance.key)
                    unmet.discard(name)
                    misses = 0
                    if max(instance.spec.sizes, default=1) in asked:
                        asked_total += prod(instance.spec.sizes)
                    yield instance
        most = LATE_MISSES if exhausted else MISSES
        if misses >= most or (len(seen) >= budget and not unmet):
            return


def _asked_sizes(rule: Rule) -> tuple[int, ...]:
    """Sizes at which guards of a rule may begin or cease to hold, beyond those that are drawn.

    A number in a guard is taken for a size, for elements, or for bytes of elements.
    """
    guards = rule.declaration.guards
    named = {
        node.value for guard in guards for node in nodes(guard) if isinstance(node, ast.Number)
    }
    elements = {int(n) // size for n in named for size in (1, 2, 4)}
    around = {size for n in elements for size in (n - 1, n, n + 1, 2 * n)}
    return tuple(sorted(size for size in around if max(SIZES) < size <= MAX_ASKED))


def _strata(definitions: Definitions, rule: Rule, random: Random) -> Iterator[_Stratum]:
    """All strata, shuffled: operators take turns, and so do targets, forms and threads of each.

    Each has its own again when they are through: some have far more of them than others.
    """
    match = rule.declaration.match
    contexts = [
        Context(target, definitions.operators, definitions.rules if rule.asks_others else (rule,))
        for target in _different(definitions.targets.values())
    ]
    queues: list[Iterator[_Stratum]] = []
    drawn = _graphs(definitions, rule)
    graphs = {operation.operator.name: operation.operator for operation in drawn}
    for operator in (*definitions.operators.values(), *graphs.values()):
        if operator.parts or not rule.may_match(operator):
            continue
        forms = [o for o in operations(operator) if o.accumulating or not match.accumulating]
        threads = (THREADS,) if match.parallel else (1, THREADS)
        kinds = list(product(contexts, forms, threads))
        random.shuffle(kinds)
        queues.append(_first_to_move([cycle(_placements(*kind, random)) for kind in kinds]))
    return _first_to_move(queues)


def _different(targets: Iterable[Target]) -> Iterable[Target]:
    """One of those that differ in costs only, which no rule can tell apart."""
    found: dict[tuple[object, ...], Target] = {}
    for target in targets:
        kernels = tuple(kernel.name for kernel in target.kernels)
        found.setdefault((target.sizes, target.page, target.levels, kernels), target)
    return found.values()


def _placements(
    context: Context, operation: Operation, threads: int, random: Random
) -> Iterator[_Stratum]:
    """Every choice of levels for the operands, shuffled; no more are made than are asked for."""
    levels = context.target.levels
    for number in _shuffled(len(levels) ** len(operation.operands), random):
        places = (number // len(levels) ** p % len(levels) for p in range(len(operation.operands)))
        yield _Stratum(context, operation, threads, tuple(levels[place] for place in places))


def _shuffled(count: int, random: Random) -> Iterator[int]:
    """The numbers below a count, in random order: Fisher and Yates's, of what was moved alone."""
    moved: dict[int, int] = {}
    for last in range(count - 1, -1, -1):
        chosen = random.randint(0, last)
        yield moved.get(chosen, chosen)
        moved[chosen] = moved.get(last, last)


def _first_to_move(queues: Sequence[Iterator[_Stratum]]) -> Iterator[_Stratum]:
    """The first of each, then the second of each, and so on."""
    for turn in zip_longest(*queues):
        yield from (stratum for stratum in turn if stratum is not None)


def _graphs(definitions: Definitions, rule: Rule) -> Iterator[Operation]:
    """Graphs to try a rule on, some of those that it may match."""
    dtype, random = DTYPES["f32"], Random(rule.name)
    if rule.pattern is not None:
        for rank in group_ranks(rule.pattern):
            yield composed(Operation(rule.pattern, rank), dtype)
    last = [o for o in definitions.operators.values() if rule.may_match(o)]  # none: graphs only
    moving = bool(rule.rearranges)
    kept = _moves if moving else _batched if rule.leaves_out_batch else None
    count = GRAPHS if kept is None else RARE_GRAPHS
    operators = definitions.operators
    drawn = random_graphs(
        operators, dtype, random, count, last=last or None, split=moving, kept=kept
    )
    found = (o for o in drawn if rule.may_match(o.operator) and _sizes(o, Random(rule.name)))
    yield from islice(found, GRAPHS)
    if rule.intermediates and rule.pattern is None:
        random = Random(rule.name)
        more = random_graphs(
            operators, dtype, random, RARE_GRAPHS, last=last or None, kept=_reads_one_twice
        )
        found = (o for o in more if rule.may_match(o.operator) and _rereads(o))
        yield from islice((o for o in found if _sizes(o, Random(rule.name))), GRAPHS)


def _moves(graph: Graph) -> bool:
    """Whether an operation only moves elements to other places."""
    operators = (node.operation.operator for node in graph.nodes)
    return any(operator.moves and not operator.copies for operator in operators)


def _batched(graph: Graph) -> bool:
    """Whether all operations are on batches, and one of them sums."""
    operations = [node.operation for node in graph.nodes]
    sums = any(operation.operator.reduction for operation in operations)
    return sums and all(operation.group_rank for operation in operations)


def _reads_one_twice(graph: Graph) -> bool:
    """Whether several operations read one input, of as many dimensions as the output has."""
    rank = len(graph.nodes[-1].operation.operands[-1])
    readers = ([*graph.occurrences(name)] for name in graph.inputs)
    return any(
        len(found) > 1 and len(found[0][0].operation.operands[found[0][1]]) == rank
        for found in readers
    )


def _rereads(operation: Operation) -> bool:
    """Whether the output may take the place of an input that several operations of a graph read."""
    composition = composition_of(operation.operator)
    if composition is None:
        return False
    places = _overwritten(operation, [DTYPES["f32"]] * len(operation.operands))
    return any(len(composition.occurrences(operation.names[p])) > 1 for p in places)


def _draw(
    rule: Rule, stratum: _Stratum, random: Random, asked: Sequence[int] = ()
) -> Iterator[Instance]:
    """Instances of one stratum: a family, a few alternatives, one shape of each."""
    context, operation = stratum.context, stratum.operation
    family = _family(stratum, random)
    found = rule_alternatives(context, rule, family)
    for alternative in random.sample(found, min(len(found), ALTERNATIVES_OF_A_FAMILY)):
        for _ in range(SHAPES_OF_AN_ALTERNATIVE):
            sizes = _sizes(operation, random, asked)
            if sizes is None:
                return
            shapes = (extents(operation, sizes, p) for p in range(len(family.operands)))
            packing = tuple(
                _packing(operand, shape, random)
                for operand, shape in zip(family.operands, shapes, strict=True)
            )
            used = _used(context.target, random)
            packing = tuple(
                packing[-1] if operand.aliased else own
                for operand, own in zip(family.operands, packing, strict=True)
            )
            spec = Spec(family, sizes, used, packing)
            legal = _legal_tiles(context, spec, alternative)
            if legal:
                yield Instance(context, spec, alternative, random.choice(legal))
                break


def _family(stratum: _Stratum, random: Random) -> Family:
    """Element types, layouts and vectors at random; about half of the inputs are weights.

    An input that may lie where the output does is there now and then.
    """
    operation = stratum.operation
    dtypes = random.choice(dtype_choices(operation.operator))
    drawn = zip(dtypes, stratum.levels, operation.operands, strict=True)
    *inputs, output = (_operand(dtype, level, len(rank), random) for dtype, level, rank in drawn)
    marked = [replace(o, weight=not o.vector and random.random() < 0.5) for o in inputs]
    reused = _overwritten(operation, dtypes)
    if reused and random.random() < ALIASED:
        marked[random.choice(reused)] = replace(output, aliased=True)
    return Family(operation, (*marked, output), stratum.threads)


def _overwritten(operation: Operation, dtypes: Sequence[DType]) -> list[int]:
    """Positions of inputs that the output may take the place of."""
    if operation.accumulating:
        return []
    places = range(len(operation.operands) - 1)
    return [p for p in places if dtypes[p] == dtypes[-1] and may_alias(operation, p)]


def _operand(dtype: DType, level: Level, rank: int, random: Random) -> Operand:
    rows = row_major(rank).order
    order = random.choice(sorted({rows, rows[::-1]}))
    if not level.addressable:
        widths = [v for v in level.vectors if v % dtype.bytes == 0]
        return Operand(dtype, level, order, random.choice(widths))
    return Operand(dtype, level, order)


def _packing(operand: Operand, shape: Sequence[int], random: Random) -> int:
    """How an operand of this shape may lie: in panels only if it is wider than one."""
    rank = len(operand.order)
    if not operand.level.addressable:
        return packed(rank)
    extents = [shape[d] for d in operand.order[-2:]]
    drawn = [random.choice([n for n in PANELS if n < extent]) for extent in extents]
    height, width = [0, 0, *drawn][-2:] if random.random() < 0.5 else (0, 0)
    panels = panel_of((height, width))
    in_memory = contiguity(packed(rank, panels))
    together = random.randint(min(1, in_memory), in_memory)
    aliased = together < in_memory and random.random() < 0.25
    return int(pack(together, aliased, panels))


def _sizes(
    operation: Operation, random: Random, asked: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """Sizes that go together; none where no draw is found, as rows in rows may ask for much.

    ``asked``: sizes that guards name, of which one dimension has one now and then.
    """
    for _ in range(DRAWS):
        sizes = [random.choice(SIZES) for _ in operation.dims]
        if random.random() < 0.5:  # views leave out dimensions, which have to be of size 1
            sizes = [1 if random.random() < 0.5 else size for size in sizes]
        most = MAX_VOLUME
        if sizes and random.random() < 0.05:
            sizes[random.randrange(len(sizes))] = PAGE_ROW
        elif sizes and random.random() < (0.5 if asked else 0.05):
            large = random.choice(asked or LARGE)
            sizes = [random.choice(SMALL) for _ in sizes]
            sizes[random.randrange(len(sizes))] = large
            most = max(most, 4 * large)
        sizes = _consistent(operation, sizes)
        if prod(sizes) <= most and _agree(operation, sizes):
            return tuple(sizes)
    return None


def _agree(operation: Operation, sizes: Sequence[int]) -> bool:
    """Whether the operations of a graph with rows or slices find the shapes that they want.

    Elsewhere what has to agree has the same dimensions.
    """
    composition = composition_of(operation.operator)
    if composition is None:
        return True
    accesses = [access for node in composition.graph.nodes for access in node.operation.operands]
    indices = [index for access in accesses for index in access]
    if all(len(index.terms) == 1 and not index.margins for index in indices):
        return True
    shapes = {n: extents(operation, sizes, p) for p, n in enumerate(operation.names)}
    wanted = shapes.pop(composition.graph.output)
    for node in composition.graph.nodes:
        own = node.operation
        given = [shapes[name] for name in node.inputs]
        found = sizes_from(own, given)
        if any(found[d] != n for d, n in own.stated if d in own.whole_dims):
            return False
        for shape, access in zip(given, own.operands, strict=False):
            if shape != tuple(index.extent(found) for index in access):
                return False
        shapes[node.output] = tuple(index.extent(found) for index in own.operands[-1])
    return wanted == shapes[composition.graph.output]


def _consistent(operation: Operation, sizes: Sequence[int]) -> list[int]:
    """The same size for the dimensions of a graph that always have the same.

    What goes through rows of the output has the size that is stated.
    """
    composition = composition_of(operation.operator)
    size = dict(zip(operation.dims, sizes, strict=True))
    size |= {d: n for d, n in operation.stated if d in operation.whole_dims and d in size}
    for group in () if composition is None else composition.alike:
        known = [d for d in group if d in size]
        size |= dict.fromkeys(known, size[known[0]])
    return list(size.values())


def _used(target: Target, random: Random) -> tuple[int, ...]:
    """Capacity units in use: none, or anything up to the capacity."""
    if random.random() < 0.7:
        return (0,) * len(target.bounded)
    return tuple(random.randint(0, level.capacity or 0) for level in target.bounded)


def _legal_tiles(
    context: Context, spec: Spec, alternative: RuleAlternative
) -> Sequence[int | None]:
    """Tile sizes with which guards and limits hold; ``(None,)`` if they do and there is none."""
    box = one_cell(spec)
    sizes = dict(zip(spec.family.operation.dims, spec.sizes, strict=True))
    tiles = tiles_below(context.target, alternative, sizes)
    if tiles is None:
        return ()
    bound = bind(context, spec.variant, alternative, box.open_grid, tiles)
    if alternative.axis is None:
        return (None,) if bound.mask.all() else ()
    masks = np.broadcast_to(bound.mask, (len(tiles), *box.shape)).reshape(-1)
    return [t for t, holds in zip(tiles, masks, strict=True) if holds]
