"""How many cycles a program takes, on a machine whose clock is not known and not constant.

A program is timed by turns with a chain of instructions that depend on each other, of which every
processor does one a cycle. The ratio of both is a number of cycles, whatever the clock is. Time is
what this process used of the processor: while it waits for one, it does not pass. Where threads
share the work, it is that of the clock on the wall. Whatever else the machine does only makes turns
longer: what counts, also of the chain, are the quick ones.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from morello.kernel import Kernel
from morello.runtime.timing import Clock, Contender, contender, low, time_alternately
from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler

CHAIN = """
#include <stdint.h>
uint64_t chain(int64_t count, uint64_t x);
uint64_t chain(int64_t count, uint64_t x) {
  for (int64_t i = 0; i < count; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}
"""

CYCLES_A_LINK = 6
"""Three shifts and three exclusive ors, each waiting for the one before; counting runs beside."""

REPEATS = 15


def chain() -> Contender:
    """The chain of Marsaglia's "Xorshift RNGs" (2003), so many links long.

    Raises:
        MorelloError: There is no C compiler, or it fails.
    """
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        path = build({"chain.c": CHAIN}, find_compiler(), (), Path(directory, "chain.so"))
        function = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)["chain"]
    function.restype = ctypes.c_uint64
    return lambda count: function(ctypes.c_int64(count), ctypes.c_uint64(88172645463325252))


def cycles_of(kernel: Kernel, clock: Contender) -> float:
    """Cycles of one call, on arguments that stay where they are; a tenth of the turns are quicker.

    Raises:
        MorelloError: The program does not build, or this machine lacks its instructions.
    """
    program = contender(kernel.function, kernel.random_arguments())
    # What a process used of the processors counts every thread, and those that wait.
    timer = time.process_time_ns if kernel.goal.threads == 1 else time.perf_counter_ns
    return low(cycles_by_turns({"it": program}, clock, timer=timer)["it"])


def cycles_by_turns(
    programs: Mapping[str, Contender],
    clock: Contender,
    repeats: int = REPEATS,
    timer: Clock = time.process_time_ns,
) -> dict[str, tuple[float, ...]]:
    """Cycles of one call of each of several programs, in every turn that they took.

    Args:
        programs: By name.
        clock: A `chain`.
        repeats: How many turns count.
        timer: What tells the time, in nanoseconds.
    """
    names = list(programs)
    turns = {str(place): programs[name] for place, name in enumerate(names)} | {"clock": clock}
    timings = time_alternately(turns, repeats=repeats, clock=timer)
    cycle = timings["clock"].low / CYCLES_A_LINK
    return {
        name: tuple(own / cycle for own in timings[str(place)].runs)
        for place, name in enumerate(names)
    }
