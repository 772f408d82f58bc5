"""Races: contenders are timed in rounds, and those that are slow are given up early.

After each round the slower half goes, but for those that may still be the fastest: whose quick
batches are within the ordinary batches of the best. So most time goes into telling the best ones
apart. What counts is a low quantile of a contender's batches. What else a machine does only makes
batches longer, so that the quick ones repeat better than their median.
"""

from __future__ import annotations

from collections.abc import Mapping

from morello.runtime.timing import MIN_SECONDS, WARMUP, Clock, Contender, Timing, time_alternately

ROUNDS = (10, 10, 20)
"""Batches of each contender in a round.

On a busy machine most batches may be disturbed. Of ten, some are not.
"""


def race(
    contenders: Mapping[str, Contender],
    *,
    clock: Clock | None = None,
    rounds: tuple[int, ...] = ROUNDS,
    warmup: int = WARMUP,
    min_seconds: float = MIN_SECONDS,
) -> dict[str, Timing]:
    """Time contenders by turns, the slower ones in fewer rounds.

    Returns the timing of each, in the order given. Those with most runs are the ones that were not
    given up; only among these is the fastest.

    Args:
        contenders: By name; see `morello.runtime.timing`.
        clock: What tells the time, in nanoseconds; by default `time.perf_counter_ns`.
        rounds: Batches of each contender in a round.
        warmup: Batches of each before those of the first round.
        min_seconds: How long a batch takes at least.
    """
    found: dict[str, Timing] = {}
    running = list(contenders)
    for repeats in rounds:
        timings = time_alternately(
            {name: contenders[name] for name in running},
            repeats=repeats,
            warmup=0 if found else warmup,
            min_seconds=min_seconds,
            clock=clock,
        )
        for name, timing in timings.items():
            before = found[name].runs if name in found else ()
            found[name] = Timing((*before, *timing.runs), timing.batch)
        running = _still_running({name: found[name] for name in running})
    return {name: found[name] for name in contenders}


def _still_running(timings: Mapping[str, Timing]) -> list[str]:
    """The faster half, and all that may be the fastest."""
    order = sorted(timings, key=lambda name: timings[name].low)
    if not order:
        return []
    _, ordinary = timings[order[0]].quartiles
    half = -(-len(order) // 2)
    faster = {n for place, n in enumerate(order) if place < half or timings[n].low <= ordinary}
    return [name for name in timings if name in faster]
