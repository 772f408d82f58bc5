"""The families below a goal, as a graph: discovered, pruned of dead ends, and ordered.

No sizes here. A family is *dead* if no choice of alternatives reaches kernels only; an alternative
with a dead child is dropped. What remains tells which levels' capacity a family can still ask for:
a level that nothing below a family asks for is no coordinate of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.spec import Family
from morello.rewriting.alternatives import Alternative, RuleAlternative
from morello.rewriting.context import Context
from morello.rewriting.enumeration import alternatives


class FamilyNode(Struct, frozen=True):
    """A live family: its alternatives, and the levels that matter below it."""

    family: Family
    alternatives: tuple[Alternative, ...]
    consumes: frozenset[str]

    @property
    def tileable(self) -> frozenset[str]:
        """Dimensions that loops tile so that the tiles are of the same family."""
        rules = (a for a in self.alternatives if isinstance(a, RuleAlternative))
        return frozenset(a.divides for a in rules if a.divides and self.family in a.children)


class FamilyGraph(Struct, frozen=True):
    """Live families in topological order, every family before those it leads to."""

    nodes: dict[Family, FamilyNode]

    def __contains__(self, family: Family) -> bool:
        return family in self.nodes


class TooManyFamiliesError(MorelloError):
    """There are more families than ``limit``, the number that was allowed."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the search would have more than {limit:,} families")


def discover(context: Context, goal: Family, limit: int | None = None) -> FamilyGraph:
    """All live families that the goal leads to.

    The progress check of the rules guarantees that families form a directed acyclic graph, apart
    from a family's tilings, which lead to itself.

    Raises:
        TooManyFamiliesError: There are more than ``limit``, if that is given. Those count too that
            turn out to be needed for nothing.
    """
    nodes: dict[Family, FamilyNode | None] = {}
    count = 0
    stack = [_Open(goal, alternatives(context, goal))]
    while stack:
        family = stack[-1].family
        child = stack[-1].next_child(nodes)
        if child is not None:
            stack.append(_Open(child, alternatives(context, child)))
            continue
        node = nodes[family] = _finish(family, stack.pop().alternatives, nodes)
        count += node is not None
        if limit is not None and count > limit:
            raise TooManyFamiliesError(limit)
    live = [n for n in nodes.values() if n is not None]
    return FamilyGraph({n.family: n for n in _topological(live, goal)})


@dataclass(slots=True)
class _Open:
    """A family whose children are being looked at, those of one alternative after the other.

    Of an alternative with a dead child the others are not: what only they lead to is never built.
    """

    family: Family
    alternatives: Sequence[Alternative]
    place: int = 0

    def next_child(self, nodes: Mapping[Family, FamilyNode | None]) -> Family | None:
        """A child that is not known yet; none if all are that matter."""
        while self.place < len(self.alternatives):
            for child in self.alternatives[self.place].children:
                if child == self.family:
                    continue
                if child not in nodes:
                    return child
                if nodes[child] is None:
                    break
            self.place += 1
        return None


def _finish(
    family: Family, found: Sequence[Alternative], nodes: dict[Family, FamilyNode | None]
) -> FamilyNode | None:
    """The node of a family whose children are finished; none if it is dead."""
    kept = [a for a in found if all(c == family or nodes.get(c) is not None for c in a.children)]
    # A family of which no alternative is left is dead, too: `all` of nothing is true.
    if all(family in a.children for a in kept):  # nothing but tilings: they lead nowhere
        return None
    consumes: frozenset[str] = frozenset()
    for alternative in kept:
        consumes |= alternative.consumes
        for child in alternative.children:
            node = nodes.get(child)
            if node is not None:
                consumes |= node.consumes
    return FamilyNode(family, tuple(kept), consumes)


def _topological(live: list[FamilyNode], goal: Family) -> list[FamilyNode]:
    """Parents before children, by depth-first search from the goal."""
    by_family = {n.family: n for n in live}
    if goal not in by_family:
        return []
    order: list[FamilyNode] = []
    seen: set[Family] = set()
    stack: list[tuple[Family, bool]] = [(goal, False)]
    while stack:
        family, done = stack.pop()
        if done:
            order.append(by_family[family])
            continue
        if family in seen:
            continue
        seen.add(family)
        stack.append((family, True))
        children = dict.fromkeys(c for a in by_family[family].alternatives for c in a.children)
        stack += [(child, False) for child in reversed(children) if child not in seen]
    order.reverse()
    return order
