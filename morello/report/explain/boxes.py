"""The memo's boxes where a plan decided: of each goal's family, and along the dearest path."""

from __future__ import annotations

from collections.abc import Iterator

from morello.errors import UsageError
from morello.memo.names import variant_text
from morello.memo.page import Choice, Page
from morello.memo.pages import Pages
from morello.memo.slice import Axis, Slice, axes_of, cut, default_axes
from morello.report.documents import Document
from morello.report.plan import Line, Plan

MOST_FAMILIES = 6
"""Besides those of the goals."""

MOST_RECTANGLES = 1500
"""Of a slice that is shown; a finer one is left out."""


def boxes(plan: Plan, pages: Pages) -> tuple[list[Document], list[str]]:
    """Slices of pages through Specs of a plan; and what was left out, in sentences."""
    found: list[Document] = []
    left_out: list[str] = []
    further = 0
    for number, line in _wanted(plan):
        text = variant_text(line.tree.solved.context.searched_variant(line.node.spec.variant))
        goal = not line.depth
        if not goal and further == MOST_FAMILIES:
            continue
        page = pages.page(line.tree.solved.context, line.node.spec)
        if page is None:
            left_out.append(f"boxes of line {number}: the memo has no page of {text}")
            continue
        part = _through(line, page)
        if part is None or len(part.rectangles) > MOST_RECTANGLES:
            why = "one coordinate" if part is None else f"{len(part.rectangles):,} boxes"
            left_out.append(f"boxes of line {number}: there are {why} in a slice of {text}")
        elif goal or len(part.shares) > 1:
            further += not goal
            found.append(_document(number, line, page, part, text))
    return found, left_out


def _wanted(plan: Plan) -> Iterator[tuple[int, Line]]:
    """The goals; then, down from each, the sub-Spec that takes most; variants once."""
    lines = plan.lines
    roots = [(n, line) for n, line in enumerate(lines, 1) if not line.depth]
    seen = {line.node.spec.variant for _, line in roots}
    yield from roots
    for root, _ in roots:
        number = root
        while below := list(_children(lines, number)):
            number, line = max(below, key=lambda pair: pair[1].runs * pair[1].node.cycles)
            if line.node.spec.variant not in seen:
                seen.add(line.node.spec.variant)
                yield number, line


def _children(lines: list[Line], number: int) -> Iterator[tuple[int, Line]]:
    """Lines that are one deeper, up to the next that is not below."""
    depth = lines[number - 1].depth
    for place in range(number, len(lines)):
        if lines[place].depth <= depth:
            return
        if lines[place].depth == depth + 1:
            yield place + 1, lines[place]


def _through(line: Line, page: Page) -> Slice | None:
    """A slice along two axes through the line's own Spec; none where there is one axis."""
    axes = axes_of(line.tree.solved.context, line.node.spec.family, page)
    try:
        shown = default_axes(axes)
    except UsageError:
        return None
    own = zip(axes, line.node.spec.coordinates, strict=True)
    at = {axis.name: str(value) for axis, value in own if str(value) in axis.labels}
    return cut(page, axes, shown, {name: v for name, v in at.items() if name not in shown})


def _document(number: int, line: Line, page: Page, part: Slice, text: str) -> Document:
    places: dict[Choice | None, int] = {}
    for choice, _ in part.shares:
        places.setdefault(choice, len(places))
    hidden = [r for r in part.rectangles if r.choice not in places]  # all of it painted over
    for rectangle in hidden:
        places.setdefault(rectangle.choice, len(places))
    axes = axes_of(line.tree.solved.context, line.node.spec.family, page)
    own = {
        axis.name: str(value) for axis, value in zip(axes, line.node.spec.coordinates, strict=True)
    }
    shares = dict(part.shares)
    return {
        "line": number,
        "spec": str(line.node.spec),
        "family": text,
        "cells": page.cells,
        "boxes": page.entries,
        "axes": [_axis(part.x), _axis(part.y)],
        "at": dict(part.fixed),
        "here": [_rank(part.x, own), _rank(part.y, own)],
        "choices": [
            {
                "step": None if choice is None else choice.name,
                "parameters": {} if choice is None else dict(choice.parameters),
                "cells": shares.get(choice, 0),
            }
            for choice in places
        ],
        "rectangles": [[r.x, r.y, r.width, r.height, places[r.choice]] for r in part.rectangles],
    }


def _rank(axis: Axis, own: dict[str, str]) -> int | None:
    value = own[axis.name]
    return axis.labels.index(value) if value in axis.labels else None


def _axis(axis: Axis) -> Document:
    return {"name": axis.name, "unit": axis.unit, "values": list(axis.labels)}
