"""Whether permutations are computed with what reads or gives them, or by themselves: by costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from morello.networks.network import Network, Node
from morello.networks.partition import Part, Step, part_of

Cost = Callable[[Part, str], float]
"""What a part takes whose kernel has this name."""

Named = tuple[Step, str]
"""A step, and a name for its kernel that no other step has."""


def chosen_cuts(network: Network, steps: Sequence[Step], cost: Cost) -> list[Named]:
    """The steps, with permutations apart where that costs less."""
    digits = len(str(len(steps) - 1))
    found: list[Named] = []
    for place, step in enumerate(steps):
        name = f"{network.name}_{place:0{digits}}"
        if not isinstance(step, Part):
            found.append((step, name))
            continue
        ways = [[(part, name + suffix) for part, suffix in way] for way in _ways(step, network)]
        # The first one of equal costs: with all in one.
        costs = [sum(cost(*named) for named in way) for way in ways] if len(ways) > 1 else [0.0]
        found += ways[costs.index(min(costs))]
    return found


def _ways(part: Part, network: Network) -> Iterator[list[tuple[Part, str]]]:
    """A part, and the same in several, each with a suffix for its name."""
    own = {node.output for node in part.nodes}
    *others, last = part.nodes
    before = [n for n in others if n.operator == "Permute" and not own & {*n.inputs}]
    after = [last] if others and last.operator == "Permute" else []
    choices = [(False, True) if nodes else (False,) for nodes in (before, after)]
    for early, late in product(*choices):
        apart = (*(before if early else ()), *(after if late else ()))
        core = [node for node in part.nodes if node not in apart]

        def alone(nodes: Sequence[Node], suffix: str) -> list[tuple[Part, str]]:
            return [(part_of([n], network), f"{suffix}{i or ''}") for i, n in enumerate(nodes)]

        yield [
            *(alone(before, "_before") if early else ()),
            (part_of(core, network), "_core" if apart else ""),
            *(alone(after, "_after") if late else ()),
        ]
