"""An explanation as text: the plan's tree beside its numbers, and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from math import exp
from typing import Literal

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from morello.cli.session import Session
from morello.cli.tables import Row, show_table
from morello.ranking.rank import Ranking
from morello.report.alternatives import Beginning, Why
from morello.report.explain.document import Explanation, nodes_of
from morello.report.explain.parts import Arithmetic, LevelLimit, Node, Roofline

PLANS = 5
"""Plans that are shown of a ranking, besides the search's choice and the model's."""

SHOWN = 10
"""First steps that are shown of one line; the JSON document has all."""

WIDE = 150
"""Columns of a terminal from which on there is one table."""

MAIN, LESS, PROGRAM = ("cycles", "share", ""), ("own", "mostly", "next best"), "program"
TEXTS = ("", "mostly", PROGRAM)
"""Columns of the plan, besides a line's number and the levels; those that hold text."""

_BAR = 8
"""Characters of a whole bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BRANCHES = "│├└─ \xa0"
"""What a line of a tree may begin with."""

_GOING_ON = str.maketrans("├└─", "│  ")
"""Branches as they are below a line."""

_HANGING = "  "
_LEAST_ROOM = 20
"""Characters: with less room beside the branches, a folded line begins at the left."""

_WIDEST = 10_000
"""Columns of the tree before it is put beside its numbers: no line of it is folded."""


def show_explanation(session: Session, explanation: Explanation) -> None:
    """The tree, costs by coefficient, and the limits of the target."""
    _show_plan(session, explanation)
    columns = ("coefficient", "count", "cycles", "share")
    rows = [{**row, "share": f"{row['share']:.1%}"} for row in explanation.costs]
    show_table(session, "costs", columns, rows)
    _show_limits(session, explanation.roofline)


def show_reasons(
    session: Session,
    reasons: Why,
    line: int,
    alternatives: Callable[[Sequence[Beginning]], list[Row]],
) -> None:
    """What one line could begin with instead, and what refused."""
    session.say(f"line {line}: {reasons.spec}")
    found = reasons.beginnings
    session.say(f"the cheapest {min(SHOWN, len(found))} of {len(found)} first steps that apply:")
    columns = ("step", "parameters", "cycles", "ratio", "mostly")
    show_table(session, "alternatives", columns, alternatives(found[:SHOWN]))
    session.say("what does not apply to it:")
    for refusal in reasons.refused:
        session.say(f"  {refusal}")


def show_ranking(session: Session, ranking: Ranking) -> None:
    """How a model orders plans beside their costs, and what moved it."""
    session.say(f"the model {ranking.digest}: {ranking}")
    by_cost = sorted(range(len(ranking.plans)), key=lambda place: ranking.predicted[place])
    shown = ranking.order[:PLANS]
    rows: list[Row] = [
        {
            "by model": ranking.order.index(place) + 1,
            "by cost": by_cost.index(place) + 1,
            "cycles": ranking.predicted[place],
            "expected": f"{ranking.ratios[place]:.3f}",
            "at most": f"{ranking.bounds[place]:.3f}",
            "plan": ranking.plans[place] + ("" if place != ranking.chosen else ", chosen"),
        }
        for place in (*shown, *({0, ranking.chosen} - {*shown}))
    ]
    show_table(session, "plans", tuple(rows[0]), rows)
    if ranking.moved:
        told = ", ".join(f"{name} {exp(by) - 1:+.1%}" for name, by in ranking.moved)
        session.say(f"what makes the first one other than the search's choice: {told}")


# ------------------------------------------------------------------------- the plan


def _show_plan(session: Session, explanation: Explanation) -> None:
    """A row a line: numbers first, so that the tree may be as wide as it likes.

    On a narrow terminal, what is less asked for has a table of its own.
    """
    levels = [row["level"] for row in explanation.memory]
    tree = _tree_lines(explanation)
    rows: list[tuple[str | _TreeLine, ...]] = [
        (*_cells(node, explanation), *_memory(node, levels), text)
        for node, text in zip(nodes_of(explanation.plan), tree, strict=True)
    ]
    names = ("line", *MAIN, *LESS, *levels, PROGRAM)
    less = (*LESS, *levels)
    wide = session.out.width >= WIDE
    shown = [names] if wide else [("line", *MAIN, PROGRAM), ("line", *less)]
    for columns in shown:
        places = [names.index(name) for name in columns]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for name in columns:
            left = name in TEXTS
            justify: Literal["left", "right"] = "left" if left else "right"
            folded = name == PROGRAM
            table.add_column(name, justify=justify, no_wrap=not folded, overflow="fold")
        for row in rows:
            table.add_row(*(row[place] for place in places))
        session.out.print(table)
    limits = ", ".join(f"{m['level']} {_amount(m['limit'], m['unit'])}" for m in explanation.memory)
    session.say(f"memory in use is of: {limits}; cycles are those of all runs in a call\n")


def _memory(node: Node, levels: Sequence[str]) -> list[str]:
    used = {m["level"]: m["in_use"] / m["limit"] for m in node["memory"]}
    return [f"{used[level]:.0%}" for level in levels]


def _cells(node: Node, explanation: Explanation) -> list[str]:
    cycles = explanation.chosen.cycles
    own = sum(node["costs"].values())
    mostly = max(node["costs"].items(), key=lambda item: item[1], default=None)
    ratio = explanation.decision_of[node["line"]].next_ratio
    share = node["total_cycles"] / cycles if cycles else 0.0
    return [
        str(node["line"]),
        f"{node['total_cycles']:,.0f}",
        f"{share:.1%}",
        _bar(share),
        f"{own / cycles:.1%}" if own and cycles else "",
        f"{mostly[1] / own:.0%} {mostly[0]}" if mostly and own else "",
        "" if ratio is None else f"+{ratio - 1:.1%}",
    ]


def _bar(share: float) -> str:
    """A bar of `_BAR` characters for all, in eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    return _EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


class _TreeLine:
    """A line of a tree; where it is folded, the branches beside it go on."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, Text(self._text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        label = self._text.lstrip(_BRANCHES)
        before = self._text.removesuffix(label)
        beside = before.translate(_GOING_ON) + _HANGING
        if width - len(beside) < _LEAST_ROOM:
            yield Text(self._text, overflow="fold")
            return
        yield Text(
            "\n".join(textwrap.wrap(label, width, initial_indent=before, subsequent_indent=beside))
        )


def _tree_lines(explanation: Explanation) -> list[_TreeLine]:
    """A line of a `rich` tree for each node, in program order."""
    plan = explanation.plan
    several = plan["kind"] == "sequence"
    lines: list[_TreeLine] = []
    for child in plan["children"] if several else [plan]:
        named = f"{child['computes']} = " if several else ""
        console = Console(width=_WIDEST, markup=False, highlight=False, emoji=False, no_color=True)
        with console.capture() as captured:
            console.print(_tree(child, named))
        lines += [_TreeLine(line.rstrip()) for line in captured.get().splitlines()]
    return lines


def _tree(node: Node, before: str = "") -> Tree:
    tree = Tree(Text(before + _label(node)))
    for child in node["children"]:
        tree.children.append(_tree(child))
    return tree


def _label(node: Node) -> str:
    sizes = " ".join(f"{d}={n}" for d, n in node["sizes"].items())
    parameters = ", ".join(f"{n} = {v}" for n, v in node["parameters"].items())
    step = f"{node['name']}({parameters})" if parameters else node["name"]
    times = "ahead: " if not node["count"] else f"{node['count']:,} x " if node["count"] > 1 else ""
    return f"{times}{node['operation']} [{sizes}]: {step}"


# ------------------------------------------------------------------------- limits


def _show_limits(session: Session, found: Roofline) -> None:
    """Least cycles that the arithmetic and each level allow, beside those that are predicted."""
    cycles = found["cycles"]
    arithmetic = found["arithmetic"]
    rows = [_limit("arithmetic", found["operations"], "operations", None, arithmetic, cycles)]
    rows += [
        _limit(row["level"], row["bytes"], "bytes", row["intensity"], row, cycles)
        for row in found["levels"]
    ]
    columns = ("limit", "does", "operations a byte", "at most a cycle", "least cycles", "share")
    show_table(session, "limits", columns, rows)


def _limit(
    name: str,
    does: int,
    unit: str,
    intensity: float | None,
    row: Arithmetic | LevelLimit,
    cycles: float,
) -> Row:
    rate = row.get("bytes_per_cycle", row["roof"])
    return {
        "limit": name,
        "does": f"{does:,} {unit}",
        "operations a byte": intensity,
        "at most a cycle": rate,
        "least cycles": row["cycles"],
        "share": f"{row['cycles'] / cycles:.1%}" if row["cycles"] is not None and cycles else "-",
    }


def _amount(size: int, unit: str) -> str:
    if unit != "bytes":
        return f"{size:,} {unit}"
    return f"{size / 1024:,g} KiB" if size >= 1024 else f"{size} bytes"
