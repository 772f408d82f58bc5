"""Where the tensors between kernels lie: one arena, planned ahead.

What is read no more makes room. A view lies where its source does, and what is put together by a
``Concat`` is computed in its place where its parts follow each other in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from morello.networks.network import Network, Node
from morello.networks.partition import SEEN, Part, Step

LINE = 64
"""Bytes of which all offsets are multiples: a cache line."""


class Place(Struct, frozen=True):
    """Where a value begins: in the arena, in an argument or among the weights.

    ``argument`` is the name of the network's input or output; without it, and unless it is a
    constant, the value is in the arena.
    """

    offset: int
    argument: str = ""
    constant: str = ""


class Arena(Struct, frozen=True):
    """Places of all values; ``scratch``: where each step's workspace begins; ``bytes`` in all.

    A step that needs no workspace has none.
    """

    places: Mapping[str, Place]
    scratch: tuple[int | None, ...]
    bytes: int


def lines(size: int) -> int:
    """The next multiple of a line."""
    return -(-size // LINE) * LINE


def bytes_of(network: Network, name: str) -> int:
    """How much memory a value takes; truth is kept as numbers."""
    value = network.values[name]
    return value.elements * (4 if value.dtype == "bool" else np.dtype(value.dtype).itemsize)


def plan(network: Network, steps: Sequence[Step], workspaces: Sequence[int]) -> Arena:
    """A place for each value, so that none is overwritten before it is read for the last time.

    Args:
        network: Its outputs are in the arguments, where they are computed there.
        steps: What runs, in this order; views have none of their own.
        workspaces: Bytes that each step wants for itself.
    """
    within = _within(network, steps)
    lives = _lives(network, steps, within)
    arguments = {name: name for name in network.inputs}
    for output in network.outputs:
        root, offset = root_of(output, within)
        if root in lives and not offset and bytes_of(network, root) == bytes_of(network, output):
            arguments.setdefault(root, output)
    wanted = [
        (bytes_of(network, name), first, last, name)
        for name, (first, last) in lives.items()
        if name not in arguments
    ]
    wanted += [(size, i, i, f"workspace {i}") for i, size in enumerate(workspaces) if size]
    offsets, total = _packed(wanted)
    places = {}
    for name in network.values:
        root, offset = root_of(name, within)
        if network.data(root) is not None:
            places[name] = Place(offset, constant=root)
        elif root in arguments:
            places[name] = Place(offset, argument=arguments[root])
        elif root in offsets:
            places[name] = Place(offsets[root] + offset)
    scratch = tuple(offsets.get(f"workspace {i}") for i in range(len(workspaces)))
    return Arena(places, scratch, total)


def root_of(name: str, within: Mapping[str, tuple[str, int]]) -> tuple[str, int]:
    """The value in whose memory another one lies, and how far from its beginning."""
    offset = 0
    while name in within:
        name, more = within[name]
        offset += more
    return name, offset


def _within(network: Network, steps: Sequence[Step]) -> dict[str, tuple[str, int]]:
    """Values that lie in another one's memory, each with how far from its beginning."""
    found = {}
    for node in network.nodes:
        if node.operator in SEEN:
            source = network.values[node.inputs[0]]
            size = bytes_of(network, source.name) // source.elements
            found[node.output] = source.name, node.attributes.get("start", 0) * size
    computed = {name for step in steps for name in step.results}
    for step in reversed(steps):
        if isinstance(step, Part) or step.operator != "Concat":
            continue
        if prod(network.shape(step.output)[: step.attributes["axis"]]) != 1:
            continue
        offset = 0
        for name in step.inputs:
            root, before = root_of(name, found)
            whole = bytes_of(network, root) == bytes_of(network, name)
            if root in computed and whole and not before and root != step.output:
                found[root] = (step.output, offset)
            offset += bytes_of(network, name)
    return found


def _lives(
    network: Network, steps: Sequence[Step], within: Mapping[str, tuple[str, int]]
) -> dict[str, tuple[int, int]]:
    """The first and the last step at which a value that is computed is needed."""
    found: dict[str, tuple[int, int]] = {}
    for place, step in enumerate(steps):
        for name in step.results:
            root, _ = root_of(name, within)
            first, _ = found.get(root, (place, place))
            found[root] = first, place
        for name in filter(None, step.inputs):
            root, _ = root_of(name, within)
            if root in found:
                found[root] = found[root][0], place
    for name in network.outputs:
        root, _ = root_of(name, within)
        if root in found:
            found[root] = found[root][0], len(steps)
    return found


def _packed(wanted: Sequence[tuple[int, int, int, str]]) -> tuple[dict[str, int], int]:
    """Offsets of what lives from one step to another: the largest first, each as low as it can."""
    placed: list[tuple[int, int, int, int]] = []
    offsets: dict[str, int] = {}
    for size, first, last, name in sorted(wanted, key=lambda each: (-each[0], *each[1:])):
        room, offset = lines(size), 0
        for begin, end, start, stop in sorted(placed):
            if start <= last and first <= stop and begin < offset + room and offset < end:
                offset = end
        placed.append((offset, offset + room, first, last))
        offsets[name] = offset
    return offsets, max((end for _, end, _, _ in placed), default=0)


def is_in_place(network: Network, node: Node, arena: Arena) -> list[bool]:
    """For each input of a ``Concat``, whether it lies in its result already."""
    offset, found = 0, []
    result = arena.places[node.output]
    for name in node.inputs:
        place = arena.places[name]
        same = (place.argument, place.constant) == (result.argument, result.constant)
        found.append(same and place.offset == result.offset + offset)
        offset += bytes_of(network, name)
    return found
