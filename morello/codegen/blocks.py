"""Of a size that calls bring: the sizes for which programs are worth having.

A function for any size takes blocks of rows, as many as there are of the largest size, then of the
next. What a program costs for a block is known; so is what all rows cost, whatever sizes there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from morello.ir.numeric import Array

MOST_SIZES = 8
"""Each is a program: as much C again, and as much to load."""

WORTH = 0.001
"""What another size has to save at least: a share of the costs, in the mean of all numbers."""

MOST_NUMBERS = 4096
"""So many numbers of rows are looked at at most, from 1 on: more are more of the largest blocks."""


def candidates(limit: int) -> list[int]:
    """Sizes that programs may be for, in rising order: the larger, the farther apart.

    Few rows gain most by one more. Rows of large blocks only share what is read for all of them.
    """
    small, large = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16), (4**n for n in range(3, limit.bit_length()))
    return sorted({n for n in (*small, *large, limit) if n <= limit})


def chosen_sizes(costs: Mapping[int, float], limit: int) -> tuple[int, ...]:
    """The sizes that together lose least, the largest first; 1 is one of them.

    Each that is added is the one that saves most, as long as that is `WORTH` it. What is lost is
    against the costs if programs for all sizes were there.

    Args:
        costs: Of one block, by its size; one of 1 is there.
        limit: Numbers of rows are from 1 to this.
    """
    least = _least(costs, limit)
    chosen: tuple[int, ...] = (1,)
    lost = _lost(chosen, costs, least)
    while len(chosen) < MOST_SIZES:
        tried = {
            size: _lost((*chosen, size), costs, least)
            for size in sorted(costs, reverse=True)
            if size not in chosen
        }
        best = min(tried, key=tried.__getitem__, default=1)
        if tried.get(best, lost) > lost - WORTH:
            break
        chosen, lost = (*chosen, best), tried[best]
    return tuple(sorted(chosen, reverse=True))


def loss(sizes: Sequence[int], costs: Mapping[int, float], limit: int) -> float:
    """How much more these sizes cost than all, in the mean of all numbers of rows: a share.

    In that mean, numbers between 1 and 2 weigh as much as those between 200 and 400.
    """
    return _lost(sizes, costs, _least(costs, limit))


def _lost(sizes: Sequence[int], costs: Mapping[int, float], least: Array) -> float:
    numbers = np.arange(1, len(least) + 1)
    total, left = np.zeros(len(least)), numbers
    for size in sorted(sizes, reverse=True):
        count, left = np.divmod(left, size)
        total += count * costs[size]
    return float(np.average(total / least, weights=1 / numbers) - 1)


def _least(costs: Mapping[int, float], limit: int) -> Array:
    """What 1, 2, ... rows cost at least, divided into blocks of any of the sizes."""
    least = [0.0]
    for rows in range(1, min(limit, MOST_NUMBERS) + 1):
        least.append(min(least[rows - n] + cost for n, cost in costs.items() if n <= rows))
    return np.array(least[1:])
