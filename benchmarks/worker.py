"""The process that measures one case: it loads contenders, checks them, and times them by turns.

``python -m benchmarks.worker DIRECTORY`` reads `REQUEST` there and writes `RESULT`. It is a process
of its own since libraries read variables of the environment when they are loaded, and since one
that crashes must not take the others along: the file `CURRENT` always names who is at work.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import cache_bytes, pin
from morello.errors import MorelloError
from morello.reference.compare import Reference, check_close
from morello.toolchain.signature import Array, aligned_bytes
from morello.toolchain.timing import WARMUP, Timing, time_alternately

REQUEST, PROBLEM, CURRENT, RESULT = "request.json", "problem.pickle", "current", "result.json"

MIN_SECONDS = 0.01
"""How long a batch takes at least. What others left in the caches is gone after little of it."""

FLUSHED_BYTES = 64 * 2**20
"""What is written to evict everything else, at least; more where the caches are larger."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is multiplied, and what must come out."""

    dtypes: str
    a: Array
    b: Array
    expected: Reference


class _CProblem(ctypes.Structure):
    """``contender_problem`` of ``contender.h``."""

    _fields_ = (
        ("dtypes", ctypes.c_char_p),
        *((name, ctypes.c_int64) for name in ("variant", "threads", "m", "k", "n", "b_bytes")),
        *((name, ctypes.c_void_p) for name in ("a", "b", "c")),
    )


@dataclass(frozen=True, slots=True)
class Opened:
    """A contender that is ready to run. ``kept`` is the memory that it refers to."""

    run: ctypes.c_void_p
    state: ctypes.c_void_p
    about: str
    kept: tuple[object, ...]


class Arena:
    """The matrices of a case, aligned, and the same for all contenders."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.a, self.b = (_aligned(x) for x in (problem.a, problem.b))
        self.c = _aligned(problem.expected.values)

    def open(self, library: str, variant: int, threads: int) -> Opened | None:
        """Load a contender and have it prepare; none where it cannot do this case."""
        loaded = ctypes.CDLL(library, mode=ctypes.RTLD_LOCAL)
        loaded.contender_open.restype = ctypes.c_void_p
        loaded.contender_about.restype = ctypes.c_char_p
        (m, k), (_, n) = self.a.shape, self.b.shape
        pointers = [x.ctypes.data for x in (self.a, self.b, self.c)]
        sizes = (variant, threads, m, k, n, self.b.itemsize)
        problem = _CProblem(self.problem.dtypes.encode(), *sizes, *pointers)
        state = loaded.contender_open(ctypes.byref(problem))
        if state is None:
            return None
        run = ctypes.cast(loaded.contender_run, ctypes.c_void_p)
        about = loaded.contender_about().decode(errors="replace").strip()
        return Opened(run, ctypes.c_void_p(state), about, (problem, loaded))

    def check(self, run: Callable[[], object], name: str) -> None:
        """Run a contender on a cleared output and compare with the reference.

        Raises:
            MismatchError: A result is wrong.
        """
        self.c.view(np.uint8)[...] = 0xFF
        run()
        check_close(self.c, self.problem.expected, name=name)


def _aligned(values: Array) -> Array:
    """A copy that begins at a cache line."""
    memory = aligned_bytes(values.nbytes).view(values.dtype).reshape(values.shape)
    memory[...] = values
    return memory


class Harness:
    """The C functions that call contenders. Whoever is called is named in `CURRENT` before."""

    def __init__(self, library: str, current: Path) -> None:
        self._library = ctypes.CDLL(library)
        self._library.harness_flushed.restype = ctypes.c_double
        self._current = os.open(current, os.O_WRONLY | os.O_CREAT)
        self._memory = np.zeros(max(FLUSHED_BYTES, 2 * cache_bytes()), np.uint8)

    def name(self, name: str) -> None:
        """Say who is at work. Names are padded, so that one write replaces the last."""
        os.pwrite(self._current, name.ljust(64).encode(), 0)

    def warm(self, name: str, opened: Opened) -> Callable[[int], None]:
        """A call that runs a contender so many times."""

        def run(count: int) -> None:
            self.name(name)
            self._library.harness_repeat(opened.run, opened.state, ctypes.c_int64(count))

        return run

    def flushed(self, name: str, opened: Opened) -> float:
        """Seconds of one call with nothing in the caches."""
        self.name(name)
        pointer = self._memory.ctypes.data_as(ctypes.c_void_p)
        size = ctypes.c_int64(self._memory.size)
        seconds: float = self._library.harness_flushed(opened.run, opened.state, pointer, size)
        return seconds


# ------------------------------------------------------------------------------- measuring


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
    harness = Harness(request["harness"], directory / CURRENT)
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
    timed = {mode: _time(mode, harness, opened, request["repeats"]) for mode in request["modes"]}
    return {
        "about": {name: found.about for name, found in opened.items()},
        "left_out": left_out,
        "times": {mode: _runs(timings) for mode, timings in timed.items()},
    }


def _checked(
    arena: Arena, harness: Harness, contender: Mapping[str, Any], threads: int
) -> Opened | None:
    opened = arena.open(contender["library"], contender["variant"], threads)
    if opened is None:
        return None
    name, run = contender["name"], harness.warm(contender["name"], opened)
    if contender["role"] != "limit":
        arena.check(lambda: run(1), name)
    return opened


def _time(
    mode: str, harness: Harness, opened: Mapping[str, Opened], repeats: int
) -> dict[str, Timing]:
    if mode == "warm":
        runs = {name: harness.warm(name, found) for name, found in opened.items()}
        return time_alternately(runs, repeats=repeats, min_seconds=MIN_SECONDS)
    return _time_flushed(harness, opened, repeats)


def _time_flushed(
    harness: Harness, opened: Mapping[str, Opened], repeats: int
) -> dict[str, Timing]:
    """As `time_alternately`, but single calls, each after the caches are flushed."""
    found: dict[str, list[float]] = {name: [] for name in opened}
    names = list(opened)
    for turn in range(WARMUP + repeats):
        first = turn % len(names) if names else 0
        for name in names[first:] + names[:first]:
            found[name].append(harness.flushed(name, opened[name]))
    return {name: Timing(tuple(runs[WARMUP:]), 1) for name, runs in found.items()}


def _runs(timings: Mapping[str, Timing]) -> dict[str, Any]:
    return {name: {"runs": t.runs, "batch": t.batch} for name, t in timings.items()}


def main(arguments: Sequence[str]) -> None:
    """The command."""
    directory = Path(arguments[0])
    (directory / RESULT).write_text(json.dumps(measure(directory)))


if __name__ == "__main__":
    main(sys.argv[1:])
