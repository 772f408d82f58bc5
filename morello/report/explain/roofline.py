"""A program against the limits of its target, as a document: see `traffic` and `roofs`."""

from __future__ import annotations

from typing import Final

from morello.ir.target import Level
from morello.report.explain.parts import Computed, LevelLimit, Roofline
from morello.report.explain.roofs import Roof, Roofs, bandwidth, roofs_of
from morello.report.explain.traffic import Traffic, nearest_memory, traffic_of
from morello.report.plan import Plan

ARITHMETIC: Final = "arithmetic"
"""What bounds a program that no level of memory does."""


def roofline(plan: Plan) -> Roofline:
    """Operations, bytes and cycles of a call, and the least cycles that each limit allows.

    ``cycles`` of the arithmetic and of a level are that least; the largest of them is the
    ``bound``. Of a level, ``roof`` is the most operations a cycle that a program of its
    ``intensity`` (operations a byte) can do.
    """
    traffic = traffic_of(plan.lines)
    roofs = roofs_of((tree.solved, tree.root.spec.family) for tree in plan.trees)
    operations = sum(traffic.operations.values())
    computed = _computed(traffic, roofs)
    known = [row["cycles"] for row in computed if row["cycles"] is not None]
    least = sum(known) if len(known) == len(computed) else None
    peak = operations / least if operations and least else None
    first, *others = _levels(plan)
    levels = [
        _level(level, roof, traffic.moved[level.name], operations, peak)
        for level, roof in [(first, roofs.registers), *((v, bandwidth(v)) for v in others)]
    ]
    limits = {ARITHMETIC: least} | {row["level"]: row["cycles"] for row in levels}
    bounds = {name: cycles for name, cycles in limits.items() if cycles}
    bound = max(bounds, key=lambda name: bounds[name]) if bounds else None
    return {
        "operations": operations,
        "cycles": plan.cycles,
        "operations_per_cycle": operations / plan.cycles if plan.cycles else 0.0,
        ARITHMETIC: {"roof": peak, "cycles": least, "by": computed},
        "levels": levels,
        "bound": None if bound is None else {"by": bound, "cycles": bounds[bound]},
    }


def _computed(traffic: Traffic, roofs: Roofs) -> list[Computed]:
    """What is computed, the most operations first."""
    rows: list[Computed] = []
    for kind, count in traffic.operations.most_common():
        if not count:
            continue
        roof = roofs.arithmetic.get(kind)
        rows.append(
            {
                "computes": traffic.labels[kind],
                "operations": count,
                "roof": None if roof is None else roof.rate,
                "kernel": None if roof is None else roof.source,
                "cycles": None if roof is None else count / roof.rate,
            }
        )
    return rows


def _level(
    level: Level, roof: Roof | None, moved: int, operations: int, peak: float | None
) -> LevelLimit:
    rate = None if roof is None else roof.rate
    intensity = operations / moved if operations and moved else None
    limits = [peak, None if rate is None or intensity is None else rate * intensity]
    return {
        "level": level.name,
        "bytes": moved,
        "intensity": intensity,
        "bytes_per_cycle": rate,
        "source": None if roof is None else roof.source,
        "cycles": None if rate is None else moved / rate,
        "roof": min((limit for limit in limits if limit is not None), default=None),
    }


def _levels(plan: Plan) -> list[Level]:
    """Levels of memory from the nearest on; the targets of all trees have the same."""
    target = plan.trees[0].target
    near = nearest_memory(target)
    return [v for v in target.levels if v.addressable and v.distance >= near.distance]
