"""Has contenders measured in processes of their own, and survives those that crash.

With one thread, all contenders of a case take turns in one process. With several, each library has
a process of its own, since pools of threads disturb each other, and the processes take turns. A
process that dies is started again without the contender that was at work.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.building import Built
from benchmarks.contenders import PEERS, Variables
from benchmarks.harness import Problem
from benchmarks.worker import CURRENT, PROBLEM, REQUEST, RESULT
from morello import MorelloError
from morello.ir.target import Target
from morello.runtime.timing import Timing
from morello.toolchain.process import Completed, run_command

PROJECT = Path(__file__).resolve().parent.parent
SECONDS = 3600.0
"""How long a process may take."""

ROUNDS = 3
"""Processes of each library where each has its own."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """How all cases are measured. ``modes``: ``warm``, ``flushed``; ``repeats``: turns of each."""

    target: Target
    threads: int
    repeats: int
    modes: tuple[str, ...]
    harness: Path
    directory: Path


@dataclass(slots=True)
class Measured:
    """What was found: texts by contender, and timings by mode and contender."""

    about: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    times: dict[str, dict[str, Timing]] = field(default_factory=dict)

    def add(self, result: Mapping[str, Any]) -> None:
        """What one process found; runs of a contender that was measured before go on."""
        self.about |= result["about"]
        self.left_out |= result["left_out"]
        for mode, found in result["times"].items():
            timings = self.times.setdefault(mode, {})
            for name, new in found.items():
                before = timings[name].runs if name in timings else ()
                timings[name] = Timing((*before, *new["runs"]), new["batch"])


def environment_of(target: Target, threads: int) -> Variables:
    """Variables for the processes that measure; those that are set already stay as they are.

    A target has those of the nearest that it inherits from, where none are for itself.
    """
    known = {name for contender in PEERS for name in contender.environment}
    nearest = next((name for name in reversed(target.lineage) if name in known), target.name)
    found = dict.fromkeys(THREAD_VARIABLES, str(threads))
    for contender in PEERS:
        found |= contender.environment.get(nearest, {})
    return {name: os.environ.get(name, value) for name, value in found.items()}


def measure(contenders: Sequence[Built], problem: Problem, setting: Setting) -> Measured:
    """Check and time contenders.

    Raises:
        MorelloError: A process fails before any contender is at work.
    """
    (setting.directory / PROBLEM).write_bytes(pickle.dumps(problem))
    measured = Measured()
    for group, repeats in _groups(contenders, setting):
        remaining = [c for c in group if c.name not in measured.left_out]
        _measure_together(remaining, repeats, setting, measured)
    return measured


def _groups(contenders: Sequence[Built], setting: Setting) -> Iterator[tuple[list[Built], int]]:
    """Who shares a process, one process after the other, with the turns to take there."""
    if setting.threads == 1:
        yield list(contenders), setting.repeats
        return
    variants = [list(group) for _, group in groupby(contenders, lambda one: one.library)]
    for _ in range(ROUNDS):
        yield from ((group, -(-setting.repeats // ROUNDS)) for group in variants)


def _measure_together(
    contenders: list[Built], repeats: int, setting: Setting, measured: Measured
) -> None:
    """Start processes until one comes to its end, without those who crashed the ones before."""
    while contenders:
        done = _start(contenders, repeats, setting)
        if done.status == 0:
            measured.add(json.loads((setting.directory / RESULT).read_text()))
            return
        crashed = (setting.directory / CURRENT).read_text().strip()
        if not crashed:
            raise MorelloError(f"a measuring process failed\n{done.report(20)}")
        last = done.output.strip().splitlines()[-1:]
        measured.left_out[crashed] = ": ".join([f"it crashed ({done.ending})", *last])
        contenders = [c for c in contenders if c.name != crashed]


def _start(contenders: Sequence[Built], repeats: int, setting: Setting) -> Completed:
    request = {
        "harness": str(setting.harness),
        "threads": setting.threads,
        "repeats": repeats,
        "modes": setting.modes,
        "contenders": [
            {"name": c.name, "role": c.role, "library": str(c.library), "variant": c.variant}
            for c in contenders
        ],
    }
    (setting.directory / REQUEST).write_text(json.dumps(request))
    (setting.directory / CURRENT).write_text("")
    return run_command(
        (sys.executable, "-m", "benchmarks.worker", str(setting.directory)),
        timeout=SECONDS,
        directory=PROJECT,
        environment=environment_of(setting.target, setting.threads),
    )
