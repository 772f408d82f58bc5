"""Whether permutations are computed with what reads or gives them, or by themselves: by costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

from morello.networks.network import Network, Node
from morello.networks.partition import Part, Step, part_of
from morello.networks.views import views_of_same

Cost = Callable[[Part, str], float]
"""What a part takes whose kernel has this name."""

Named = tuple[Step, str]
"""A step, and a name for its kernel that no other step has."""


def chosen_cuts(network: Network, steps: Sequence[Step], cost: Cost) -> list[Named]:
    """The steps, with permutations apart where that costs less."""
    digits, same = len(str(len(steps) - 1)), views_of_same(network)
    found: list[Named] = []
    for place, step in enumerate(steps):
        name = f"{network.name}_{place:0{digits}}"
        if not isinstance(step, Part):
            found.append((step, name))
            continue
        ways = [
            [(part, name + suffix) for part, suffix in way] for way in _ways(step, same, network)
        ]
        # The first one of equal costs: with all in one.
        costs = [sum(cost(*named) for named in way) for way in ways] if len(ways) > 1 else [0.0]
        found += ways[costs.index(min(costs))]
    return found


def _ways(
    part: Part, same: Mapping[str, str], network: Network
) -> Iterator[list[tuple[Part, str]]]:
    """A part, and the same in several, each with a suffix for its name.

    Permutations of what the part is given may be computed before it. Where it permutes what it
    computes, it may end, and another part go on from there.
    """
    own = {node.output for node in part.nodes}
    inner = [{same.get(name, name) for name in node.inputs} & own for node in part.nodes]
    permutes = [n.operator == "Permute" for n in part.nodes]
    before = [place for place, sources in enumerate(inner) if permutes[place] and not sources]
    ends = [place for place, sources in enumerate(inner) if permutes[place] and sources]
    end = ends[-1] if ends and _is_end(part.nodes, inner, ends[-1]) else len(part.nodes)
    for early, late in product((False, True), repeat=2):
        if (early and not before) or (late and end == len(part.nodes)):
            continue
        apart = before if early else []
        stop = end if late else len(part.nodes)
        left = [(place, node) for place, node in enumerate(part.nodes) if place not in apart]
        core = [node for place, node in left if place < stop]
        after = [node for place, node in left if place >= stop]
        if not core:
            continue
        yield [
            *((part_of([part.nodes[p]], same, network), f"_permute{p or ''}") for p in apart),
            (part_of(core, same, network), "_core" if apart or after else ""),
            *([(part_of(after, same, network), "_after")] if after else []),
        ]


def _is_end(nodes: Sequence[Node], inner: Sequence[set[str]], place: int) -> bool:
    """Whether all that is computed before a node is one result for it and those after it."""
    before = {node.output for node in nodes[:place]}
    read = set[str]().union(*(sources & before for sources in inner[place:]))
    return read == {nodes[place - 1].output}
