"""Runs an emitted function as a program of its own: arrays pass through files.

Every argument, packed weight and workspace is a block of exactly its size. Arguments begin 8 bytes
past a multiple of 64, since callers promise no more than whole elements. Packed weights and the
workspace start as NaN (every bit set). Inputs must come back unchanged. Under the sanitizers, an
access beside a block is caught.
"""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.records import replace
from morello.runtime.driver import repeat_driver, repeat_name
from morello.runtime.signature import (
    ALIGNMENT,
    ArgumentInfo,
    Signature,
    check_argument,
    check_gaps,
    check_output,
    view_of,
)
from morello.toolchain.build import build
from morello.toolchain.machine import NAME_A_RUNNER, Machine
from morello.toolchain.process import Completed, run_command
from morello.toolchain.sanitizers import SANITIZER_OPTIONS, build_sanitized

RUN_SECONDS, RUN_SECONDS_UNDER_RUNNER = 120.0, 1800.0
"""How long a program may run."""

REPORT_LINES = 40

SHELL_STATUS = 128
"""What shells, and scripts that run programs, add to the number of a signal."""

FORCED_TARGET = "MORELLO_TARGET"
"""The variable of the environment that functions for several targets ask which one to call."""

PROGRAM = "program"
"""Its file's name."""

STATUSES = {
    3: "cannot read or write its files, or memory is short",
    4: "asks for another size of workspace than it was declared with",
    5: "cannot allocate its workspace",
    6: "gives other results from '_run' than with a workspace of the caller's",
}
"""What exit statuses of the C program mean."""

MAIN = """#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "@HEADER@"

void @REPEAT@(int64_t h_count, void *const *h_passed, void *h_memory@SIZE_PARAMETER@);

@FORBID@

static const size_t h_sizes[@COUNT@] = {@SIZES@};

/* A block of exactly this size, h_shift bytes past a multiple of @ALIGNMENT@. */
static unsigned char *h_reserve(size_t h_size, size_t h_shift) {
  void *h_block = NULL;
  if (posix_memalign(&h_block, @ALIGNMENT@, h_shift + h_size) != 0) exit(3);
  memset(h_block, 0xFF, h_shift + h_size);
  h_forbid(h_block, h_shift);
  return (unsigned char *)h_block + h_shift;
}

/* Writes how many nanoseconds so many calls take. */
static int h_time(int64_t h_count, void *const *h_passed, void *h_memory) {
  struct timespec h_start, h_end;
  clock_gettime(CLOCK_MONOTONIC, &h_start);
  @REPEAT@(h_count, h_passed, h_memory@SIZE@);
  clock_gettime(CLOCK_MONOTONIC, &h_end);
  FILE *h_file = fopen("nanoseconds", "w");
  if (h_file == NULL) return 3;
  const double h_seconds = difftime(h_end.tv_sec, h_start.tv_sec);
  fprintf(h_file, "%.0f", h_seconds * 1e9 + (double)(h_end.tv_nsec - h_start.tv_nsec));
  return fclose(h_file) == 0 ? 0 : 3;
}

/* Calls the function once; or so many times as the word says, and tells how long that takes. */
int main(int h_count, char **h_words) {
  void *h_arguments[@COUNT@];
  void *h_packed[@COUNT@];
  FILE *h_file = fopen("arguments", "rb");
  if (h_file == NULL) return 3;
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    h_arguments[h_i] = h_reserve(h_sizes[h_i], 8);
    if (fread(h_arguments[h_i], 1, h_sizes[h_i], h_file) != h_sizes[h_i]) return 3;
  }
  fclose(h_file);
  void *h_workspace = h_reserve(@WORKSPACE@, 0);
  @PACK@
  if (h_count > 1) return h_time(atoll(h_words[1]), h_packed, h_workspace);
  @CALL@
  h_file = fopen("results", "wb");
  if (h_file == NULL) return 3;
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    if (fwrite(h_arguments[h_i], 1, h_sizes[h_i], h_file) != h_sizes[h_i]) return 3;
  }
  return fclose(h_file) == 0 ? 0 : 3;
}
"""

FORBID = """void __asan_poison_memory_region(void const volatile *address, size_t size);
static void h_forbid(void *h_block, size_t h_size) {
  __asan_poison_memory_region(h_block, h_size);
}"""

FORBID_NOTHING = """static void h_forbid(void *h_block, size_t h_size) {
  (void)h_block;
  (void)h_size;
}"""

CALL = "@FUNCTION@(@PASSED@, h_workspace);"

CALL_BOTH = """if (@FUNCTION@_workspace_size() != @WORKSPACE@) return 4;
  unsigned char *h_results[@COUNT@];
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    h_results[h_i] = h_reserve(h_sizes[h_i], 8);
    memcpy(h_results[h_i], h_arguments[h_i], h_sizes[h_i]);
  }
  if (@FUNCTION@_run(@PASSED@) != 0) return 5;
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    for (size_t h_j = 0; h_j < h_sizes[h_i]; ++h_j) {  /* outputs are again what they were */
      unsigned char *h_byte = (unsigned char *)h_arguments[h_i] + h_j, h_value = *h_byte;
      *h_byte = h_results[h_i][h_j];
      h_results[h_i][h_j] = h_value;
    }
  }
  @FUNCTION@(@PASSED@, h_workspace);
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    if (memcmp(h_results[h_i], h_arguments[h_i], h_sizes[h_i]) != 0) return 6;
  }"""
"""Packed weights are not among the arguments: that the function leaves them alone, this sees."""


class BuiltProgram(Struct, frozen=True):
    """A program that was built. Its files are in ``directory``, one run at a time."""

    signature: Signature
    machine: Machine
    directory: Path
    timeout: float
    environment: Mapping[str, str] = field(default_factory=dict)

    def forced(self, target: str) -> BuiltProgram:
        """The same, of functions for several targets with that one's."""
        return replace(self, environment={FORCED_TARGET: target})

    def results(self, *inputs: object, out: Sequence[Array] | None = None) -> tuple[Array, ...]:
        """Run it.

        Args:
            inputs: Arrays for the inputs and weights, in order, as a loaded function takes them.
            out: Arrays for the outputs: what they hold at first, and are written. None allocates
                some whose elements are NaN.

        Returns:
            The outputs, in order.

        Raises:
            UsageError: An array does not fit.
            MorelloError: The program fails, does not end, or writes to an input.
        """
        arrays = [*self._inputs(inputs), *self._outputs(out)]
        before = [_bytes_of(a, v) for a, v in zip(self._arguments, arrays, strict=True)]
        self._pass(before)
        self._run()
        after = self._split(np.fromfile(self.directory / "results", np.uint8))
        for argument, values in zip(self._arguments, before, strict=True):
            if argument.role != "output" and after[argument.name].tobytes() != values:
                raise MorelloError(
                    f"'{self.signature.name}' wrote to its input '{argument.name}'",
                    help="a kernel or the emitter writes where it must not",
                )
        outputs = arrays[len(self.signature.inputs) :]
        for argument, array in zip(self.signature.outputs, outputs, strict=True):
            memory = after[argument.name].copy()  # aligned
            array[...] = view_of(argument, memory)
            check_gaps(argument, memory, 0)
        return tuple(outputs)

    def prepare_timed(self, arrays: Sequence[object]) -> Callable[[int], int]:
        """What runs the function a number of times and says how many nanoseconds that took.

        Args:
            arrays: All arguments: inputs and weights, then outputs. They are passed here and now;
                outputs are not written back.

        Raises:
            UsageError: An array does not fit.
        """
        count = len(self.signature.inputs)
        given = [*self._inputs(arrays[:count]), *self._outputs(arrays[count:])]
        self._pass([_bytes_of(a, v) for a, v in zip(self._arguments, given, strict=True)])

        def run(count: int) -> int:
            self._run(str(count))
            return int((self.directory / "nanoseconds").read_text())

        return run

    @property
    def _arguments(self) -> tuple[ArgumentInfo, ...]:
        return (*self.signature.inputs, *self.signature.outputs)

    def _inputs(self, arrays: Sequence[object]) -> list[Array]:
        expected = self.signature.inputs
        if len(arrays) != len(expected):
            raise UsageError(
                f"'{self.signature.name}' was given {len(arrays)} arrays; expected {len(expected)}"
            )
        return [check_argument(a, array) for a, array in zip(expected, arrays, strict=True)]

    def _outputs(self, out: Sequence[object] | None) -> list[Array]:
        expected = self.signature.outputs
        if out is None:
            return [_unset(argument) for argument in expected]
        return [check_output(a, array) for a, array in zip(expected, out, strict=True)]

    def _pass(self, values: Sequence[bytes]) -> None:
        """Write what the program reads: values of `_arguments`, in the order of the signature."""
        named = dict(zip((a.name for a in self._arguments), values, strict=True))
        with (self.directory / "arguments").open("wb") as file:
            file.writelines(named[a.name] for a in self.signature.arguments)

    def _run(self, *words: str) -> None:
        done = run_command(
            self.machine.running(self.directory / PROGRAM, *words),
            timeout=self.timeout,
            directory=self.directory,
            environment={**SANITIZER_OPTIONS, **self.environment},
        )
        if done.status != 0:
            raise _failed(self.signature.name, done)

    def _split(self, results: Array) -> dict[str, Array]:
        """The bytes of each argument."""
        found: dict[str, Array] = {}
        start = 0
        for argument in self.signature.arguments:
            found[argument.name] = results[start : start + argument.bytes]
            start += argument.bytes
        return found


@contextmanager
def built_program(
    source: CSource,
    signature: Signature,
    *,
    machine: Machine | None = None,
    flags: Sequence[str] = (),
    sanitize: bool = False,
    both_entries: bool = False,
    timeout: float | None = None,
) -> Iterator[BuiltProgram]:
    """Build a function with a ``main``; the program is there until the block ends.

    Args:
        source: The function.
        signature: Its arguments.
        machine: Where it is built and run; for sanitizers it must have them. None is this one.
        flags: More flags, after those of the source.
        sanitize: Whether to build with the address and undefined-behaviour sanitizers.
        both_entries: Whether ``NAME_run`` and ``NAME_workspace_size`` are called, too: the first
            must give the same results, bit for bit.
        timeout: Seconds that a run may take; by default `RUN_SECONDS`, or more under a runner.

    Raises:
        MorelloError: It does not build, or the machine cannot run it.
    """
    machine = machine or Machine()
    machine.require(source.flags, source.features, f"'{signature.name}'")
    header = f"{source.name}.h"
    files = {
        f"{source.name}.c": source.source,
        header: source.header,
        f"{source.name}_main.c": main_source(
            signature, header, sanitize=sanitize, both_entries=both_entries
        ),
        f"{source.name}_repeat.c": repeat_driver(signature, header),
    }
    limit = timeout or (RUN_SECONDS if machine.is_here else RUN_SECONDS_UNDER_RUNNER)
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        program, every = Path(directory, PROGRAM), (*source.flags, *flags)
        if sanitize:
            build_sanitized(files, machine, every, program)
        else:
            build(files, machine.compiler, every, program, executable=True)
        yield BuiltProgram(signature, machine, Path(directory), limit)


def main_source(signature: Signature, header: str, *, sanitize: bool, both_entries: bool) -> str:
    """The C program that reads ``arguments``, calls the function and writes ``results``.

    Both files hold every argument, each as packed bytes.
    """
    arguments = signature.arguments
    first = [] if signature.size is None else [str(signature.size)]
    own = f"{signature.name}_main_"  # a prefix that hides nothing that the function is called
    values = {
        "FUNCTION": signature.name,
        "REPEAT": repeat_name(signature.name),
        "HEADER": header,
        "COUNT": str(len(arguments)),
        "SIZES": ", ".join(str(a.bytes) for a in arguments),
        "PACK": "\n  ".join(_pack(own, i, a) for i, a in enumerate(arguments)),
        "PASSED": ", ".join([*first, *(f"{own}packed[{i}]" for i in range(len(arguments)))]),
        "SIZE": "".join(f", {size}" for size in first),
        "SIZE_PARAMETER": ", size_t size" if first else "",
        "WORKSPACE": str(signature.workspace_bytes),
        "ALIGNMENT": str(ALIGNMENT),
    }
    text = MAIN.replace("@FORBID@", FORBID if sanitize else FORBID_NOTHING)
    text = text.replace("@CALL@", CALL_BOTH if both_entries else CALL)
    text = re.sub(r"\bh_", own, text)
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def _pack(own: str, position: int, argument: ArgumentInfo) -> str:
    """C that makes what the function takes of an argument."""
    declared, packed = f"{own}arguments[{position}]", f"{own}packed[{position}]"
    if argument.packing is None:
        return f"{packed} = {declared};"
    block, pack = f"{own}reserve({argument.taken_bytes}, 8)", argument.packing.function
    return f"{packed} = {block};\n  {pack}({declared}, {packed}, {own}workspace);"


def _bytes_of(argument: ArgumentInfo, array: Array) -> bytes:
    """An argument as it lies in memory, with 0 in gaps."""
    memory = np.zeros(argument.bytes, np.uint8)
    view_of(argument, memory)[...] = array
    return memory.tobytes()


def _unset(argument: ArgumentInfo) -> Array:
    """An output whose every bit is set."""
    return view_of(argument, np.full(argument.bytes, 0xFF, np.uint8))


def _failed(name: str, done: Completed) -> MorelloError:
    if done.status in STATUSES:
        return MorelloError(
            f"'{name}' {STATUSES[done.status]}\n{done.report(REPORT_LINES)}",
            help="the emitter writes what its header does not say, or the machine is too small",
        )
    if done.status in (-signal.SIGILL, SHELL_STATUS + signal.SIGILL):
        return MorelloError(
            f"'{name}' has an instruction that the machine lacks\n{done.report(REPORT_LINES)}",
            help=f"compile for a target with fewer features, {NAME_A_RUNNER}",
        )
    return MorelloError(
        f"'{name}' failed when it ran\n{done.report(REPORT_LINES)}",
        help="a kernel or the emitter reads or writes where it must not",
    )
