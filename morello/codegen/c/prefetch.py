"""Fetching ahead: the next tile of a tensor, while a loop works on the one that a cache holds.

Loads of a tile that nobody has touched wait for memory, and arithmetic with them: prefetchers of
the hardware follow rows, not tiles. What lies in one piece, and is gone through in another order,
is fetched in order before: the first touch of each part of a row would wait for memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from morello.codegen.c.operands import COperand
from morello.codegen.c.scope import CScope, NextTile, size_in_bytes
from morello.ir.primitives import PREFETCH
from morello.ir.programs.tree import (
    Affine,
    Allocate,
    Block,
    KernelCall,
    Loop,
    Node,
    Resident,
    View,
    walk,
)
from morello.ir.target import Target
from morello.records import replace

MOST_LINES = 32
"""In one iteration: about as many as L1 waits for at a time. More of them would stop its loads."""


def next_tiles(loop: Loop, target: Target, scope: CScope) -> Iterator[NextTile]:
    """What can be fetched ahead where this loop moves tiles, each in a loop that stays in one."""
    if not _prefetch(target):
        return
    node = loop.body
    while isinstance(node, Resident):
        tile, node = node.view, node.body
        steps = [dict(offset.terms).get(loop.variable, 0) * loop.step for offset in tile.offsets]
        if not any(steps) or not _waited_for(tile, target):
            continue
        staying = (inner for inner in _loops(node) if _fits_argument_cache(tile, inner))
        longest = max(staying, key=lambda inner: inner.count, default=None)
        if longest is not None:
            moved = (o.plus(Affine(s)) for o, s in zip(tile.offsets, steps, strict=True))
            following = replace(tile, offsets=tuple(moved))
            yield from _divided(following, longest, target, scope)


def fetching(tile: NextTile, target: Target, variable: str, scope: CScope) -> list[str]:
    """Statements of one iteration of the tile's loop, whose variable has this name in C."""
    operand = COperand(tile.view.tensor.name, tile.view, scope, reads=True)
    count, apart = tile.pieces[tile.divided]
    per_step, rest = divmod(tile.share * apart, tile.loop.step)
    # The variable is a multiple of the step: C need not divide where the share is one, too.
    along = f"{variable} * {per_step}"
    if rest:
        along = f"{variable} / {tile.loop.step} * {tile.share * apart}"
    places = [0]
    for number, (many, stride) in enumerate(tile.pieces):
        taken = tile.share if number == tile.divided else many
        places = [place + i * stride for place in places for i in range(taken)]
    prefetch = _prefetch(target)
    lines = [f"const uintptr_t ahead_ = {operand.address()} + {along};"]
    lines += [f"{prefetch.format(f'ahead_ + {place}')};" for place in places]
    iterations = -(-count // tile.share)
    head = "{"
    if iterations < tile.loop.count:
        head = f"if ({variable} < {iterations * tile.loop.step}) {{"
    return [head, *(f"  {line}" for line in lines), "}"]


def in_order(node: Resident, target: Target, scope: CScope) -> list[str]:
    """Statements that fetch a tile line by line, where what follows would touch it otherwise."""
    tile, prefetch = node.view, _prefetch(target)
    tensor, level = tile.tensor, target.level_by_name[tile.level]
    if not prefetch or tensor.role not in ("input", "weight") or not _waited_for(tile, target):
        return []
    operand = COperand(tensor.name, tile, scope, reads=True)
    pieces = operand.pieces
    size = prod(count for count, _ in pieces) * tensor.dtype.bytes
    room = (level.capacity or 0) * level.capacity_unit // 2
    fetched = any(own.view.tensor == tensor for own in scope.prefetched)
    if len(pieces) != 1 or fetched or not 2 * level.line < size <= room:
        return []
    if not _is_out_of_order(node.body, operand, ()):
        return []
    line = prefetch.format("tile_ + at_")
    return [
        "{",
        f"  const uintptr_t tile_ = {operand.address()};",
        f"  for (ptrdiff_t at_ = 0; at_ < {size}; at_ += {level.line}) {line};",
        "}",
    ]


def _is_out_of_order(node: Node, tile: COperand, around: tuple[Loop, ...]) -> bool:
    """Whether a loop that goes less far in memory is around one that goes farther."""
    match node:
        case Loop(body=body):
            return _is_out_of_order(body, tile, (*around, node))
        case Resident(body=body) | Allocate(body=body):
            return _is_out_of_order(body, tile, around)
        case Block(steps=steps):
            return any(_is_out_of_order(step, tile, around) for step in steps)
        case KernelCall(operands=operands):
            used = [view for view in operands if view.tensor == tile.view.tensor]
            return any(not _goes_in_order(view, tile, around) for view in used)
    return False


def _goes_in_order(view: View, tile: COperand, around: Sequence[Loop]) -> bool:
    steps = [tile.advance(view, loop.variable) * loop.step for loop in around if loop.count > 1]
    moving = [step for step in steps if step]
    return moving == sorted(moving, reverse=True)


def _waited_for(tile: View, target: Target) -> bool:
    """Whether loads of it wait: there are caches between, and none holds all of its tensor."""
    tensor, levels = tile.tensor, target.level_by_name
    near, far = levels[tile.level], levels[tensor.level]
    between = [v for v in target.levels if v.cache and near.distance < v.distance < far.distance]
    size = size_in_bytes(tensor)
    return bool(between) and all(size > (v.capacity or 0) * v.capacity_unit for v in between)


def _loops(node: Node) -> Iterator[Loop]:
    """Loops at run time that are in no other."""
    match node:
        case Loop(unrolled=False):
            yield node
        case Resident(body=body) | Allocate(body=body):
            yield from _loops(body)
        case Block(steps=steps):
            for step in steps:
                yield from _loops(step)


def _fits_argument_cache(tile: View, loop: Loop) -> bool:
    """Whether the loop uses the tile, and the same part of it in each iteration."""
    calls = (node for node in walk(loop.body) if isinstance(node, KernelCall))
    used = [view for call in calls for view in call.operands if view.tensor == tile.tensor]
    return bool(used) and all(loop.variable not in dict(o.terms) for v in used for o in v.offsets)


def _divided(tile: View, loop: Loop, target: Target, scope: CScope) -> Iterator[NextTile]:
    """The tile as it is divided among the iterations so that they fetch least, if not too much."""
    pieces = COperand(tile.tensor.name, tile, scope, reads=True).pieces
    element, line = tile.tensor.dtype.bytes, target.level_by_name[tile.level].line
    in_bytes = [(count, apart * element) for count, apart in pieces]
    if in_bytes and in_bytes[-1][1] < line:
        count, apart = in_bytes.pop()
        in_bytes.append((-(-count * apart // line), line))
    shares = [-(-count // loop.count) for count, _ in in_bytes]
    lines = prod(count for count, _ in in_bytes)
    each = [lines // count * share for (count, _), share in zip(in_bytes, shares, strict=True)]
    if each and min(each) <= MOST_LINES:
        divided = each.index(min(each))
        yield NextTile(tile, loop, tuple(in_bytes), divided, shares[divided])


def _prefetch(target: Target) -> str:
    """C that begins to fetch the line at an address; empty if the target has none."""
    tables = target.primitives.values()
    return next((t.entries[PREFETCH][0] for t in tables if PREFETCH in t.entries), "")
