"""What a target says of its levels."""

from __future__ import annotations

from morello.definitions import Definitions
from morello.ir.target import Level, Target
from morello.records import replace


def _without_costs(target: Target, *names: str) -> Target:
    def stripped(level: Level) -> Level:
        return replace(level, coefficients={}) if level.name in names else level

    return replace(target, levels=tuple(map(stripped, target.levels)))


def _moving(target: Target) -> list[str]:
    return [level.name for level in target.levels if target.moves_lines_from(level)]


def test_how_an_operand_lies_matters_where_its_lines_are_moved_from(
    definitions: Definitions,
) -> None:
    """Where that costs something at this level or on the way, and where a nearer cache holds it."""
    target = definitions.targets["x86.scalar"]
    beyond = ["l2", "in_l2", "l3", "mem"]
    assert ["reg", "l1", *beyond] == [level.name for level in target.levels]
    assert beyond == _moving(target)
    assert beyond == _moving(_without_costs(target, "l2"))
    assert beyond == _moving(_without_costs(target, *beyond))


def test_caches_are_numbered_from_the_nearest(definitions: Definitions) -> None:
    """Arguments are in the nearest one that holds as much; memory and registers are none."""
    target = definitions.targets["x86.scalar"]
    numbers = {level.name: target.cache_number(level) for level in target.levels}
    assert numbers == {"reg": 0, "l1": 1, "l2": 2, "in_l2": 2, "l3": 3, "mem": 0}
