"""Rules of thumb that leave programs out of a search, though they would be right: all there are.

Each may lose a better program, so each has a name, a sentence and a switch. `python -m
benchmarks.pruning` tells what each saves and what it loses. A rule asks for one by a function of
the rule language that says so; what is here is known to no rule by name, and knows none.

Whatever else makes a search small loses nothing: see docs/search.md, "What keeps it small".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from morello.errors import UsageError

SWITCH = "MORELLO_UNPRUNED"
"""The environment variable with the names, with commas between, of those that are switched off.

It is for benchmarks and tests. It is read once, and changes the fingerprints of the memo.
"""

PRUNINGS: Mapping[str, str] = {
    "batches": "A batch is taken apart before all else but packing ahead.",
    "direct": "Inputs are not converted where a kernel takes their types as they are.",
    "elementwise_order": "Operands of an elementwise operation are brought nearer in one order.",
    "few_sums": "A graph of more than four sums is cut where the least has to be kept.",
    "inlined": "Elementwise operations hand each other nothing through memory.",
    "parts_first": "Of what a part computes for itself, nothing is brought nearer before it.",
    "read_once": "What no loop reads again is brought to the nearest levels only.",
    "renamed": "Of an operation that is another one by a new name, only that one is searched.",
    "reuse_order": "In a sum of many, what fewer dimensions index is brought nearer first.",
    "served": "What serves one kept tensor alone is computed with it.",
    "short_blocks": "A block of a row in a pipelined loop has at most 4 KiB.",
    "slices_once": "A slice is copied to one level only, the nearest that it is read from.",
    "statistics_near": "A statistic of rows is kept in the nearest cache or in memory.",
    "sums_bring": "Of several sums, each brings to the nearest cache what it alone reads.",
    "sums_once": "No sum is computed twice.",
    "taken_apart": "What a sum gives is kept before its rows are taken apart.",
    "tall_panels": "Panels with a height take the place of those as wide without one.",
    "visible": "What parts can see as it lies is not copied into another order first.",
    "windows": "What is computed is kept before windows read it for several results.",
}
"""The sentence of each, by name."""


asked: set[str] = set()
"""Those that had something to leave out in this process."""


def prunes(name: str) -> bool:
    """Whether one of `PRUNINGS` is in force, as it is unless it is switched off.

    It is asked for where it has something to leave out.
    """
    assert name in PRUNINGS, f"'{name}' is no pruning"
    asked.add(name)
    return name not in switched_off()


@cache
def switched_off() -> frozenset[str]:
    """Those that the environment switches off.

    Raises:
        UsageError: It names one that there is not.
    """
    names = frozenset(filter(None, os.environ.get(SWITCH, "").split(",")))
    for name in sorted(names - PRUNINGS.keys()):
        raise UsageError(
            f"{SWITCH} names '{name}', which prunes nothing",
            help=f"there are: {', '.join(PRUNINGS)}",
        )
    return names
