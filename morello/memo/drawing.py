"""Pictures of slices of pages: the choices with the most cells have colours, all others a grey."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patches import Rectangle as Box

from morello.memo.page import Choice
from morello.memo.slice import Axis, Rectangle, Slice
from morello.report.pictures import COLOURS, picture

Colours = Mapping[Choice | None, str]

LONGEST_NAME = 66
"""Characters of a choice in the legend."""

MOST_TICKS = 24
"""Labels along an axis."""

_TITLE_WIDTH = 96  # characters

_REST, _NOTHING, _OUTLINE = "#d0d0d0", "#ffffff", "#202020"


def draw(of: Slice, title: Sequence[str], kind: str) -> bytes:
    """The picture of a slice.

    Args:
        of: The slice.
        title: Lines above it; long ones are wrapped.
        kind: ``svg`` or ``png``.
    """
    named = [choice for choice, _ in of.shares if choice is not None]
    colours: Colours = dict(zip(named, COLOURS, strict=False))

    def paint(figure: Figure) -> None:
        axes = figure.add_subplot()
        _paint(axes, of.rectangles, colours)
        _label(axes, of.x, of.y)
        axes.set_title("\n".join(_wrapped(title)), loc="left", fontsize=8)
        axes.legend(handles=list(_legend(of, colours)), loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return picture(paint, kind, "morello memo picture")


def choice_name(choice: Choice | None) -> str:
    """A choice as the legend names it: rule or kernel, and parameters."""
    if choice is None:
        return "nothing implements it"
    parameters = ", ".join(f"{name} = {value}" for name, value in choice.parameters)
    text = f"{choice.name}({parameters})" if parameters else choice.name
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 3]}..."


def _paint(axes: Axes, rectangles: Iterable[Rectangle], colours: Colours) -> None:
    for each in rectangles:  # in order: the first is under all others
        patch = Box((each.x - 0.5, each.y - 0.5), each.width, each.height)
        patch.set(**_style(each.choice, colours))
        axes.add_patch(patch)


def _style(choice: Choice | None, colours: Colours) -> dict[str, Any]:
    style: dict[str, Any] = {"edgecolor": _OUTLINE, "linewidth": 0.4}
    if choice is None:
        return style | {"facecolor": _NOTHING, "hatch": "////"}
    return style | {"facecolor": colours.get(choice, _REST)}


def _label(axes: Axes, x: Axis, y: Axis) -> None:
    axes.set_xlim(-0.5, len(x.labels) - 0.5)
    axes.set_ylim(-0.5, len(y.labels) - 0.5)
    axes.set_xlabel(x.title)
    axes.set_ylabel(y.title)
    ticks, labels = _ticks(x)
    axes.set_xticks(ticks, labels, rotation=90 if max(map(len, labels)) > 2 else 0)
    axes.set_yticks(*_ticks(y))


def _ticks(axis: Axis) -> tuple[list[int], list[str]]:
    """Ranks with their labels, evenly thinned where there are too many; the last is in."""
    last = len(axis.labels) - 1
    step = last // MOST_TICKS + 1
    ticks = sorted(range(last, -1, -step))
    return ticks, [axis.labels[tick] for tick in ticks]


def _wrapped(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield from wrap(line, _TITLE_WIDTH)


def _legend(of: Slice, colours: Colours) -> Iterable[Patch]:
    """Named choices, the most frequent first; then how many more there are; then nothing."""
    others = [choice for choice, _ in of.shares if choice is not None and choice not in colours]
    for choice, cells in of.shares:
        if choice in colours:
            label = f"{choice_name(choice)}: {cells / of.cells:.0%}"
            yield Patch(label=label, **_style(choice, colours))
    if others:
        yield Patch(label=f"{len(others)} other choices", **_style(others[0], colours))
    if any(choice is None for choice, _ in of.shares):
        yield Patch(label=choice_name(None), **_style(None, colours))
