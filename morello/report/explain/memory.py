"""Memory in use at each line of a plan, of every level that has a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from morello.ir.target import Level
from morello.report.explain.parts import Held, Peak, Usage
from morello.report.plan import Line
from morello.rewriting.steps import Leaf, Placed, Step, Tiled


def in_use(line: Line) -> list[Usage]:
    """What is in use of each level while a line runs: what was before, and what it places itself.

    In bytes of a cache, in vectors of registers; the nearest level first.
    """
    within = _within(line)
    return [
        {
            "level": level.name,
            "unit": unit_of(level),
            "in_use": max(capacity_units, 0) * _capacity_unit(level),
            "limit": (level.capacity or 0) * _capacity_unit(level),
        }
        for level, capacity_units in zip(line.tree.target.bounded, within, strict=True)
    ]


def placed(line: Line) -> list[Held]:
    """What a line holds nearer: in a buffer of its own if ``copied``, else by the hardware."""
    return [
        {
            "tensor": step.source.name,
            "level": step.tensor.operand.level.name,
            "copied": step.copied,
            "size": _taken(step),
            "unit": unit_of(step.tensor.operand.level),
        }
        for step in _placements(line.node.step)
    ]


def peaks(lines: Sequence[Line]) -> list[Peak]:
    """Of each level the most that is in use at any line, and the first where it is."""
    found: dict[str, Peak] = {}
    for number, line in enumerate(lines, 1):
        for usage in in_use(line):
            known = found.get(usage["level"])
            if known is None or usage["in_use"] > known["in_use"]:
                found[usage["level"]] = {**usage, "line": number}
    return list(found.values())


def unit_of(level: Level) -> str:
    """What its capacity counts."""
    return "bytes" if level.addressable else "vectors"


def _capacity_unit(level: Level) -> int:
    return level.capacity_unit if level.addressable else 1


def _within(line: Line) -> tuple[int, ...]:
    below = [each.used for each in line.below] or [line.used]
    return tuple(map(max, zip(*below, strict=True)))


def _taken(step: Placed) -> int | None:
    """Of a level without a limit nobody asks."""
    level = step.tensor.operand.level
    return None if level.capacity is None else int(step.taken) * _capacity_unit(level)


def _placements(step: Step | None) -> Iterator[Placed]:
    """Those of a step, without those of tails, which are as the full tiles' and smaller."""
    match step:
        case None | Leaf():
            return
        case Placed(body=body):
            yield step
            yield from _placements(body)
        case Tiled(full=full):
            yield from _placements(full)
        case _:
            for inner in step.steps:
                yield from _placements(inner)
