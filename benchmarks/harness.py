"""Loads contenders, gives them matrices, and calls them from C; in what order, others decide."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np

from benchmarks.machine import cache_bytes
from morello.ir.numeric import Array
from morello.reference.bounded import Bounded
from morello.reference.compare import check_close
from morello.runtime.signature import aligned_bytes

AWAKE = 0.05
"""Seconds after which threads that a call has started are on processors of their own."""

FLUSHED_BYTES = 64 * 2**20
"""What is written to evict everything else, at least; more where the caches are larger."""


def wake(call: Callable[[], object]) -> None:
    """Make a call again and again for `AWAKE` seconds."""
    end = monotonic() + AWAKE
    while monotonic() < end:
        call()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is multiplied, and what must come out."""

    dtypes: str
    a: Array
    b: Array
    expected: Bounded


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
        self.c = _aligned(problem.expected.rounded())

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
        self.c.view(np.uint8)[...] = 0xFF  # not a number
        run()
        check_close(self.c, self.problem.expected, name=name)


def _aligned(values: Array) -> Array:
    """A copy that begins at a cache line."""
    memory = aligned_bytes(values.nbytes).view(values.dtype).reshape(values.shape)
    memory[...] = values
    return memory


class Harness:
    """The C functions that call contenders. Whoever is called is named in a file before.

    With one thread, a call that is interrupted for another program seems no slower: what counts is
    what it used of the processor. With several, it is what went by.
    """

    def __init__(self, library: str, current: Path, threads: int) -> None:
        self._library = ctypes.CDLL(library)
        self._library.harness_warm.restype = ctypes.c_double
        self._library.harness_flushed.restype = ctypes.c_double
        self._current = os.open(current, os.O_WRONLY | os.O_CREAT)
        self._memory = np.zeros(max(FLUSHED_BYTES, 2 * cache_bytes()), np.uint8)
        self._threads = threads

    def name(self, name: str) -> None:
        """Say who is at work. Names are padded, so that one write replaces the last."""
        os.pwrite(self._current, name.ljust(64).encode(), 0)

    def warm(self, name: str, opened: Opened, count: int) -> float:
        """Seconds of so many calls."""
        self.name(name)
        seconds: float = self._library.harness_warm(
            self._threads, opened.run, opened.state, ctypes.c_int64(count)
        )
        return seconds

    def flushed(self, name: str, opened: Opened) -> float:
        """Seconds of one call with nothing in the caches."""
        self.name(name)
        memory = self._memory.ctypes.data_as(ctypes.c_void_p)
        size = ctypes.c_int64(self._memory.size)
        seconds: float = self._library.harness_flushed(
            self._threads, opened.run, opened.state, memory, size
        )
        return seconds
