"""Sizes that kernels are tried at: around the vectors', in long rows, past panels, and large ones.

Each with every packing of whole operands that the kernel's pattern accepts there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from random import Random
from typing import NamedTuple

from morello.ir.layout import Layout, contiguity, pack, packed, panel, panel_of
from morello.ir.spec import Operand
from morello.ir.target import Target
from morello.language import ast
from morello.language.evaluate import evaluate
from morello.language.sized import is_sized
from morello.rewriting.functions import Scope
from morello.rewriting.matching import KernelMatch
from morello.rewriting.references import Point, Sizes, TensorRef, registers

Shape = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes of the dimensions, and how each operand is packed."""

LANES_OF_MEMORY = 8
"""Around which sizes a kernel is tried that has no operand in registers."""

ROWS = (9, 22, 48, 2300)
"""How many vectors are in long rows: the longest are more than the nearest cache holds."""

EVERY = 8
"""Up to which number, where guards name one, all sizes are tried."""

MULTIPLES = 3
"""How many multiples are tried of what a guard says that a size is a multiple of."""

MOST_DRAWN = 8192
"""So many combinations of sizes are tried at most: a kernel of six dimensions has 262,144."""

MOST_ITERATIONS = 1 << 20
"""Of one instance: several long rows at once would be more than a machine holds."""

LARGE = range(100, 1101)
"""Every free size is tried at one of these at least, if the guards accept any."""

LARGE_SIZES = (259, 517, 1021, 131, 101)
"""Those that are tried, in turn, until one is accepted; each without its remainder by a step.

The first is more than a byte holds. C compilers take a long time for larger ones, written out.
"""

DRAWS = 256
"""How many combinations are tried of a size that guards tell apart."""

LARGE_DRAWS = 32
"""How many combinations with small sizes of the other dimensions are tried of each."""


def small_shapes(target: Target, match: KernelMatch, random: Random) -> Iterator[Shape]:
    """Sizes that satisfy the pattern, the guards, and the capacity of the registers, shuffled.

    With each of them, every packing of whole operands that the pattern accepts. They are worked out
    when they are asked for.
    """
    yield from _accepted_of(target, match, _drawn(list(_tried(match).values()), random))


def told_apart(match: KernelMatch) -> Iterator[tuple[str, int]]:
    """Each dimension that guards bound by a number up to `EVERY`, with each size up to that."""
    for dim, sizes in _ends(match).items():
        yield from ((dim, size) for size in sorted(sizes) if size <= EVERY)


def shapes_with(
    target: Target, match: KernelMatch, dim: str, size: int, random: Random
) -> Iterator[Shape]:
    """Some of the small shapes in which one dimension has this size."""
    drawn = _drawn(list((_tried(match) | {dim: [size]}).values()), random)
    yield from _accepted_of(target, match, islice(drawn, DRAWS))


def accepts_family(target: Target, match: KernelMatch) -> bool:
    """Whether the guards hold that no size decides, such as those of scalars alone."""
    variables = dict(match.variables)
    guards = [guard for guard in match.kernel.guards if not is_sized(guard, variables)]
    sizes = dict.fromkeys(match.f.family.operation.dims, 1)
    packing = tuple(packed(len(o.order)) for o in match.f.family.operands)
    scope = Scope(target, match.scope_variables(Point(sizes, {}, packing)), sizes, {}, match)
    return all(evaluate(guard, scope) for guard in guards)


class Part(NamedTuple):
    """An operand that is a part of a larger tensor, which has more along these dimensions."""

    position: int
    along: tuple[int, ...]


def possible_parts(target: Target, match: KernelMatch, shape: Shape) -> frozenset[Part]:
    """Which operands in memory may be parts of larger tensors.

    Of all dimensions, so that rows are apart; where the guards ask for some in one piece, of the
    fastest one beyond which they do not. One operand after the other, as long as the guards hold.
    """
    sizes, packing = shape
    by_dim = dict(zip(match.f.family.operation.dims, sizes, strict=True))
    parts, taken = list(packing), set[Part]()
    for position, operand in enumerate(match.f.family.operands):
        for part, own in _cuts(position, operand, packing[position]):
            tried = (*parts[:position], own, *parts[position + 1 :])
            if _accepted(target, match, by_dim, tried):
                parts[position] = own
                taken.add(part)
                break
    return frozenset(taken)


def _cuts(position: int, operand: Operand, packing: int) -> Iterator[tuple[Part, int]]:
    """Parts that an operand may be, with how they are packed; none of one in registers."""
    order, panels = operand.order, panel(packing)
    if operand.vector:
        return
    yield Part(position, tuple(range(len(order)))), pack(min(1, contiguity(packing)), panel=panels)
    for place in range(1, len(order) if not panels else 0):
        yield Part(position, (order[-1 - place],)), pack(place + 1)


def large_shapes(target: Target, match: KernelMatch, dim: str) -> list[Shape]:
    """One shape with a `LARGE` size of a dimension, in every packing; none if none is accepted.

    The other sizes are as small as they may be.
    """
    tried = _tried(match)
    step = _steps(match).get(dim, 1)
    for size in dict.fromkeys(large - large % step for large in LARGE_SIZES):
        if size in LARGE:
            combined = product(*(tried | {dim: [size]}).values())
            accepted = _accepted_of(target, match, islice(combined, LARGE_DRAWS))
            if first := next(accepted, None):
                return [first, *(shape for shape in accepted if shape[0] == first[0])]
    return []


def free_dims(match: KernelMatch) -> list[str]:
    """Dimensions whose size the pattern does not state."""
    fixed = _fixed_dims(match)
    return [dim for dim in match.f.family.operation.dims if dim not in fixed]


def _tried(match: KernelMatch) -> dict[str, list[int]]:
    """Sizes of each dimension, in rising order, whatever the guards say of them together."""
    dims = match.f.family.operation.dims
    fixed = _fixed_dims(match)
    around = _sizes_around([o.lanes for o in match.f.family.operands if o.vector])
    if match.patterns.rows is not None:
        around = _sizes_of_rows(match.lanes)
    panels = [_panels(match, p) for p in range(len(match.f.tensors))]
    past = _past_panels(panels, max(around))
    ends = _ends(match)
    sizes_of = {d: sorted({*around, *past.get(d, ()), *ends.get(d, ())}) for d in dims}
    steps = _steps(match)
    tried = {d: _multiples(n, steps[d]) if d in steps else n for d, n in sizes_of.items()}
    return {d: [fixed[d]] if d in fixed else tried[d] for d in dims}


def _drawn(tried: Sequence[Sequence[int]], random: Random) -> Iterator[tuple[int, ...]]:
    """Combinations of sizes, each once, that make no more than `MOST_ITERATIONS`."""
    count = prod(map(len, tried))
    for number in random.sample(range(count), min(count, MOST_DRAWN)):
        left, chosen = number, []
        for sizes in tried:
            left, position = divmod(left, len(sizes))
            chosen.append(sizes[position])
        if prod(chosen) <= MOST_ITERATIONS:
            yield tuple(chosen)


def _accepted_of(
    target: Target, match: KernelMatch, combined: Iterable[tuple[int, ...]]
) -> Iterator[Shape]:
    """What is accepted of combinations of sizes."""
    panels = [_panels(match, p) for p in range(len(match.f.tensors))]
    for sizes in combined:
        by_dim = dict(zip(match.f.family.operation.dims, sizes, strict=True))
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
    steps = filter(None, map(_multiple, match.kernel.guards))
    return {dim: step for name, step in steps for dim in _dims_of(match, name)}


def _ends(match: KernelMatch) -> dict[str, set[int]]:
    """By dimension, where a guard compares it with a number: that, and the one before.

    Of numbers up to `EVERY` all up to that: kernels for few rows or columns differ with how many.
    """
    found: dict[str, set[int]] = {}
    for name, number in filter(None, map(_end, match.kernel.guards)):
        for dim in _dims_of(match, name):
            sizes = range(1 if number <= EVERY else number - 1, number + 1)
            found.setdefault(dim, set()).update(sizes)
    return found


def _dims_of(match: KernelMatch, name: str) -> Iterator[str]:
    """Dimensions whose size a variable of the pattern is."""
    for position, dimension, _ in dict(match.variables).get(name, ()):
        terms = match.f.tensors[position].indices[dimension].terms
        if len(terms) == 1:
            yield terms[0][0]


def _end(guard: ast.Expr) -> tuple[str, int] | None:
    """Name and number of ``name <= number`` and its like; none of any other guard."""
    match guard:
        case ast.Binary(
            operator="<=" | "<" | ">=" | ">",
            left=ast.Name(id=name),
            right=ast.Number(value=int(number)),
        ):
            return name, number
        case _:
            return None


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


def _whole(match: KernelMatch, sizes: Mapping[str, int]) -> bool:
    """Whether the output has all its values: merged rows are of the width that it states."""
    merged = (index for index in match.f.family.operation.operands[-1] if len(index.terms) > 1)
    return all(index.extent(sizes) == prod(sizes[d] for d in index.dims) for index in merged)


def _accepted(
    target: Target, match: KernelMatch, sizes: Mapping[str, int], packing: tuple[int, ...]
) -> bool:
    if not _whole(match, sizes):
        return False
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
