"""The rows and bars of a page, from the document: what is said of each, not how it looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from morello.report.documents import Part

MOST_LINES = 1500
"""Of the tree; of a longer one those with the most cycles are shown."""

NAMED_COEFFICIENTS = 7
"""With a colour and a pattern of their own; all others share one."""

REST = f"k{NAMED_COEFFICIENTS}"

DEAREST = 12
"""Lines that are listed by their own cycles."""

FOLDED = 0.01
"""Share of the cycles below which a part of the tree is folded when the page is opened."""


def classes(document: Part) -> dict[str, str]:
    """The class of each coefficient: one each for those with the most cycles, one for the rest."""
    names = [row["coefficient"] for row in document["costs"]]
    named = {name: f"k{place}" for place, name in enumerate(names[:NAMED_COEFFICIENTS])}
    return {name: named.get(name, REST) for name in names}


def rows(document: Part) -> list[Part]:
    """Lines of the tree in program order, each with what the grid shows of it."""
    found = list(_rows(document["plan"], document["cycles"], classes(document)))
    if len(found) <= MOST_LINES:
        return found
    dearest = sorted(found, key=lambda row: (-row["total_cycles"], row["line"]))[:MOST_LINES]
    kept = {row["line"] for row in dearest}
    return [row for row in found if row["line"] in kept]


class Parent(NamedTuple):
    """Of a line the one above it; before the first, there is line 0."""

    line: int
    operation: str


def _rows(plan: Part, cycles: float, colours: Mapping[str, str]) -> Iterator[Part]:
    several = plan["kind"] == "sequence"
    roots = plan["children"] if several else [plan]
    pending = [(root, 1, place, len(roots), Parent(0, "")) for place, root in enumerate(roots, 1)]
    pending.reverse()
    totals: dict[int, dict[str, float]] = {}
    for root in roots:
        _total(root, totals)
    while pending:
        node, level, place, siblings, parent = pending.pop()
        below = node["children"]
        here = Parent(node["line"], node["operation"])
        pending += [
            (child, level + 1, n, len(below), here)
            for n, child in reversed(list(enumerate(below, 1)))
        ]
        share = node["total_cycles"] / cycles if cycles else 0.0
        yield {
            "line": node["line"],
            "level": level,
            "place": place,
            "siblings": siblings,
            "parent": parent.line,
            "parents": bool(below),
            "folded": bool(below) and share < FOLDED,
            "computes": node.get("computes", "") if several else "",
            "operation": "" if node["operation"] == parent.operation else node["operation"],
            "sizes": node["sizes"],
            "name": node["name"],
            "parameters": node["parameters"],
            "kind": node["kind"],
            "count": node["count"],
            "runs": node["runs"],
            "total_cycles": node["total_cycles"],
            "share": share,
            "own_cycles": node["own_cycles"] * node["runs"],
            "segments": segments(totals[node["line"]], cycles, colours),
            "memory": node["memory"],
            "placed": node["placed"],
            "decision": node["decision"],
        }


def _total(node: Part, totals: dict[int, dict[str, float]]) -> dict[str, float]:
    """Cycles by coefficient of a node with all below it."""
    found = dict(node["costs"])
    for child in node["children"]:
        for name, cycles in _total(child, totals).items():
            found[name] = found.get(name, 0.0) + cycles
    totals[node["line"]] = found
    return found


def segments(costs: Mapping[str, float], cycles: float, colours: Mapping[str, str]) -> list[Part]:
    """Parts of a bar that is as long as all cycles: one for each class, in their order."""
    found: dict[str, float] = {}
    for name, part in costs.items():
        its = colours.get(name, REST)
        found[its] = found.get(its, 0.0) + part
    return [
        {"class": name, "share": found[name] / cycles}
        for name in sorted(found)
        if cycles and found[name] > 0
    ]


def dearest(shown: Sequence[Part]) -> list[Part]:
    """Lines with the most cycles of their own."""
    own = [row for row in shown if row["own_cycles"] > 0]
    return sorted(own, key=lambda row: (-row["own_cycles"], row["line"]))[:DEAREST]


def decisions(document: Part, shown: Sequence[Part]) -> list[Part]:
    """Those of lines that are shown."""
    lines = {row["line"] for row in shown}
    return [decision for decision in document["decisions"] if lines.intersection(decision["lines"])]


def own_costs(document: Part) -> dict[int, Mapping[str, float]]:
    """Cycles by coefficient that each line has without those below it."""
    pending = [document["plan"]]
    found: dict[int, Mapping[str, float]] = {}
    while pending:
        node = pending.pop()
        pending += node["children"]
        if node["kind"] != "sequence":
            found[node["line"]] = node["costs"]
    return found


def holders(document: Part, usage: Part) -> list[tuple[int, Part]]:
    """What is held of a level where the most of it is in use, with the lines that hold it."""
    path: list[Part] = []
    pending = [(document["plan"], 0)]
    while pending:
        node, depth = pending.pop()
        path[depth:] = [node]
        if node.get("line") == usage["line"]:
            break
        pending += [(child, depth + 1) for child in reversed(node["children"])]
    own = [node for node in path if node["kind"] != "sequence"]
    return [
        (node["line"], held)
        for node in own
        for held in node["placed"]
        if held["level"] == usage["level"]
    ]


def left_out(document: Part) -> list[str]:
    """What the page does not show, in sentences."""
    count = sum(len(decision["lines"]) for decision in document["decisions"])
    sentences = list(document["left_out"])
    if count > MOST_LINES:
        sentences.append(
            f"{count - MOST_LINES:,} of {count:,} lines of the tree, those with the fewest cycles, "
            "with their decisions"
        )
    return sentences
