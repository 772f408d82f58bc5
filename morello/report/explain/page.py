"""A document as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from jinja2 import Environment, StrictUndefined, Template

from morello.report.documents import Part
from morello.report.explain import charts, view
from morello.report.explain.decisions import ROUNDING

SMALL = 0.001
"""More than the same, and less than has a digit."""

TEMPLATE, STYLE, SCRIPT = "page.html.jinja", "page.css", "page.js"


def page(document: Part, origin: str) -> str:
    """The page.

    Args:
        document: By `morello.report.explain.document.Explanation`.
        origin: What wrote it: stands in the first line, and at the end.
    """
    colours = view.classes(document)
    rows = view.rows(document)
    own = view.own_costs(document)
    return _template().render(
        d=document,
        origin=origin,
        style=_text(STYLE),
        script=_text(SCRIPT),
        colours=colours,
        rows=rows,
        shown={row["line"] for row in rows},
        decisions=view.decisions(document, rows),
        dearest=[
            {**row, "bar": view.segments(own[row["line"]], _most(rows), colours)}
            for row in view.dearest(rows)
        ],
        own=own,
        holders=[view.holders(document, usage) for usage in document["memory"]],
        roofline=charts.roofline_chart(document["roofline"]),
        boxes=[(boxes, charts.boxes_chart(boxes)) for boxes in document["boxes"]],
        paint=charts.paint,
        left_out=view.left_out(document),
    )


def _most(rows: list[Part]) -> float:
    return max((row["own_cycles"] for row in rows), default=0.0)


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "number": number,
        "percent": percent,
        "more": more,
        "next_best": next_best,
        "amount": amount,
        "step": step,
        "listed": listed,
    }
    return environment.from_string(_text(TEMPLATE))


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


# ------------------------------------------------------------------------- how values are written


def number(value: float | None) -> str:
    """Whole where it is large, with four digits where it is not; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def percent(share: float | None) -> str:
    """With one digit after the point."""
    return "-" if share is None else f"{share:.1%}"


def more(ratio: float) -> str:
    """How much more a ratio of at least 1 is."""
    if ratio <= 1 + ROUNDING:
        return "same"
    if ratio < 1 + SMALL:
        return f"+<{SMALL:.1%}"
    return f"+{ratio - 1:.1%}" if ratio < 10 else f"{ratio:,.0f} times"


def next_best(decision: Part) -> str:
    """How much more the next best costs here, and how many cost the same as what was chosen."""
    equal = f"{decision['equal']} equal" if decision["equal"] else ""
    if decision["next_ratio"] is None:
        return equal or "none"
    return f"{more(decision['next_ratio'])}{', ' if equal else ''}{equal}"


def amount(size: int | None, unit: str) -> str:
    """So many bytes, in a unit in which it is short; or so many of something else."""
    if size is None:
        return ""
    if unit != "bytes":
        return f"{size:,} {unit}"
    for name, each in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= each:
            return f"{size / each:.4g} {name}"
    return f"{size} bytes" if size else "0"


def step(of: Part) -> str:
    """A rule or kernel with its parameters."""
    parameters = ", ".join(f"{name} = {value}" for name, value in of["parameters"].items())
    name = of.get("step", of.get("name"))
    if name is None:
        return "nothing implements it"
    return f"{name}({parameters})" if parameters else str(name)


def listed(lines: list[int], most: int = 6) -> str:
    """Some numbers, and how many more there are."""
    shown = ", ".join(map(str, lines[:most]))
    return shown if len(lines) <= most else f"{shown} and {len(lines) - most} more"
