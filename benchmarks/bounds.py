"""How many Specs there would be without the bounds that keep them few; see ``docs/search.md``."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from morello.ir.numeric import Ints
from morello.ir.spec import Variant
from morello.ir.target import Target
from morello.search.results.solution import Solution
from morello.search.tables.box import Box


def counts(solution: Solution) -> dict[str, int]:
    """Specs of a solution, as they are and without each bound.

    Returns:
        ``cells``: what was solved. ``all_sizes``: if every family had, for each dimension, all the
        sizes that some family of the same operator has there. ``all_levels``: if every family had
        every bounded level as an axis, with all capacity units from 0 to the capacity. ``neither``:
        both.
    """
    target = solution.context.target
    boxes = solution.boxes
    sizes = {variant: prod(map(len, box.sizes)) for variant, box in boxes.items()}
    levels = {variant: prod(map(len, used_lists(box))) for variant, box in boxes.items()}
    wide = _all_sizes(boxes)
    grid = _all_levels(target)
    return {
        "cells": sum(sizes[f] * levels[f] for f in boxes),
        "all_sizes": sum(wide[f] * levels[f] for f in boxes),
        "all_levels": sum(sizes[f] * grid for f in boxes),
        "neither": sum(wide[f] * grid for f in boxes),
    }


def used_lists(box: Box) -> tuple[Ints, ...]:
    """Amounts in use of every bounded level."""
    return box.axes[box.dimensions :]


def axes(solution: Solution) -> dict[str, int]:
    """How many families there are by the number of levels with several amounts in use."""
    numbers = [sum(len(used) > 1 for used in used_lists(box)) for box in solution.boxes.values()]
    return {str(n): numbers.count(n) for n in sorted(set(numbers))}


def _all_sizes(boxes: Mapping[Variant, Box]) -> dict[Variant, int]:
    lists: dict[tuple[str, int], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for variant, box in boxes.items():
        for axis, own in enumerate(box.sizes):
            key = variant.family.operation.operator.name, axis
            lists[key] = np.union1d(lists.get(key, own), own)
    return {
        variant: prod(
            len(lists[variant.family.operation.operator.name, a]) for a in range(len(box.sizes))
        )
        for variant, box in boxes.items()
    }


def _all_levels(target: Target) -> int:
    return prod((level.capacity or 0) + 1 for level in target.bounded)
