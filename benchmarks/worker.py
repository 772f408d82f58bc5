"""The process that measures one case: it loads contenders, checks them, and times them by turns.

``python -m benchmarks.worker DIRECTORY`` reads `REQUEST` there and writes `RESULT`. It is a process
of its own since libraries read variables of the environment when they are loaded, and since one
that crashes must not take the others along: the file `CURRENT` always names who is at work.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Arena, Harness, Opened, wake
from benchmarks.machine import pin
from morello.errors import MorelloError
from morello.runtime.timing import WARMUP, batch_size

REQUEST, PROBLEM, CURRENT, RESULT = "request.json", "problem.pickle", "current", "result.json"

MIN_SECONDS = 0.01
"""How long a batch of warm calls takes at least: far above the clocks' resolution."""


def measure(directory: Path) -> dict[str, Any]:
    """Do what the request in a directory asks for.

    Returns:
        By contender: ``about`` of those that ran, ``left_out`` of the others with the reason; and
        ``times``: by mode, by contender, ``runs`` in seconds and calls of a ``batch``.
    """
    request = json.loads((directory / REQUEST).read_text())
    pin(request["threads"])
    # Written by the process that started this one.
    arena = Arena(pickle.loads((directory / PROBLEM).read_bytes()))
    harness = Harness(request["harness"], directory / CURRENT, request["threads"])
    opened: dict[str, Opened] = {}
    left_out: dict[str, str] = {}
    for contender in request["contenders"]:
        name = contender["name"]
        harness.name(name)
        try:
            found = _checked(arena, harness, contender, request["threads"])
        except (MorelloError, OSError) as error:
            left_out[name] = str(error)
            continue
        if found is None:
            left_out[name] = "it does not do this product"
        else:
            opened[name] = found
    if request["threads"] > 1:
        for name, found in opened.items():
            wake(partial(harness.warm, name, found, 1))
    timed = {mode: _time(mode, harness, opened, request["repeats"]) for mode in request["modes"]}
    return {
        "about": {name: found.about for name, found in opened.items()},
        "left_out": left_out,
        "times": timed,
    }


def _checked(
    arena: Arena, harness: Harness, contender: Mapping[str, Any], threads: int
) -> Opened | None:
    name = contender["name"]
    opened = arena.open(contender["library"], contender["variant"], threads)
    if opened is not None and not contender["role"].endswith("limit"):
        arena.check(lambda: harness.warm(name, opened, 1), name)
    return opened


def _time(
    mode: str, harness: Harness, opened: Mapping[str, Opened], repeats: int
) -> dict[str, dict[str, Any]]:
    """By contender: ``runs``, seconds of a call in each turn, and the ``batch`` of calls in one."""
    batches = dict.fromkeys(opened, 1)
    if mode == "warm":
        batches = {
            name: batch_size(partial(harness.warm, name, found), MIN_SECONDS)
            for name, found in opened.items()
        }

    def seconds(name: str) -> float:
        if mode == "flushed":
            return harness.flushed(name, opened[name])
        return harness.warm(name, opened[name], batches[name]) / batches[name]

    runs = _by_turns(list(opened), repeats, seconds)
    return {name: {"runs": runs[name], "batch": batches[name]} for name in opened}


def _by_turns(
    names: list[str], repeats: int, seconds: Callable[[str], float]
) -> dict[str, list[float]]:
    """So many measurements of each, in turns, each turn in another order, after `WARMUP` turns."""
    runs: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(WARMUP + repeats):
        first = turn % len(names) if names else 0
        for name in names[first:] + names[:first]:
            runs[name].append(seconds(name))
    return {name: found[WARMUP:] for name, found in runs.items()}


def main(arguments: Sequence[str]) -> None:
    """The command."""
    directory = Path(arguments[0])
    (directory / RESULT).write_text(json.dumps(measure(directory)))


if __name__ == "__main__":
    main(sys.argv[1:])
