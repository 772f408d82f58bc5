"""Everything that is shown a compiled spec, as one document of plain values.

docs/explain.md says what its parts mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import cast

from morello.memo.pages import Pages
from morello.report.explain.boxes import boxes
from morello.report.explain.decisions import Decision, decisions
from morello.report.explain.memory import in_use, peaks, placed
from morello.report.explain.parts import Cost, Node, Peak, Roofline
from morello.report.explain.roofline import roofline
from morello.report.plan import Line, Plan, shares_of


class Explanation:
    """What was chosen for a spec, at what cost, instead of what, and within which limits.

    Parts are worked out when they are asked for, while what the spec was solved from is open.
    """

    def __init__(self, name: str, computes: str, plan: Plan) -> None:
        """Of a compiled spec: the name of its function, its formula, and its plan."""
        self.name = name
        self.computes = computes
        self.chosen = plan

    @cached_property
    def lines(self) -> list[Line]:
        """Those of the plan."""
        return self.chosen.lines

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """Each Spec of the plan once."""
        return decisions(self.chosen)

    @cached_property
    def decision_of(self) -> Mapping[int, Decision]:
        """By line, from 1 on."""
        return {line: decision for decision in self.decisions for line in decision.lines}

    @cached_property
    def costs(self) -> list[Cost]:
        """Cycles by coefficient, the most first; ``share`` is that of all cycles."""
        known, cycles = self.chosen.trees[0].target.every_coefficient, self.chosen.cycles
        return [
            {
                "coefficient": cost.coefficient,
                "count": cost.count,
                "value": cost.value,
                "cycles": cost.cycles,
                "share": cost.cycles / cycles if cycles else 0.0,
                "doc": known[cost.coefficient].doc,
                "source": known[cost.coefficient].source,
            }
            for cost in self.chosen.costs()
        ]

    @cached_property
    def plan(self) -> Node:
        """The plan's tree; each node with its line, and with what that line costs and uses."""
        tree = cast(Node, self.chosen.to_json())
        known: dict[int, Mapping[str, float]] = {}
        pairs = zip(nodes_of(tree), self.lines, strict=True)
        for number, (node, line) in enumerate(pairs, 1):
            each = known.setdefault(id(line.node), _own_costs(line))
            own: dict[str, object] = cast(dict[str, object], node)
            below = own.pop("children")
            own |= {
                "line": number,
                "decision": self.decision_of[number].number,
                "runs": line.runs,
                "total_cycles": line.node.cycles * line.runs,
                "costs": {n: c * line.runs for n, c in each.items()} if line.runs else {},
                "memory": in_use(line),
                "placed": placed(line),
                "children": below,
            }
        return tree

    @cached_property
    def memory(self) -> list[Peak]:
        """Of each level with a limit, the most that is in use."""
        return peaks(self.lines)

    @cached_property
    def roofline(self) -> Roofline:
        """Operations and bytes, and what the target allows."""
        return roofline(self.chosen)

    def document(self, pages: Pages) -> dict[str, object]:
        """All of it.

        Args:
            pages: Where the boxes of its families are.
        """
        shown, left_out = boxes(self.chosen, pages)
        target = self.chosen.trees[0].target
        return {
            "name": self.name,
            "computes": self.computes,
            "target": target.name,
            "target_doc": target.doc,
            "cycles": self.chosen.cycles,
            "plan": self.plan,
            "costs": self.costs,
            "memory": self.memory,
            "decisions": [d.document(self.chosen.cycles) for d in self.decisions],
            "roofline": self.roofline,
            "boxes": shown,
            "left_out": left_out,
        }


def nodes_of(tree: Node) -> Iterator[Node]:
    """Those of a plan in program order; not the sequence that holds several trees."""
    pending = [tree]
    while pending:
        node = pending.pop()
        pending += reversed(node["children"])
        if node["kind"] != "sequence":
            yield node


def _own_costs(line: Line) -> dict[str, float]:
    """Cycles of a node in one run, without those below it, by coefficient, the most first."""
    return {s.coefficient: s.cycles for s in shares_of(line.tree.target, line.node)}
