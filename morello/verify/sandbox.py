"""Runs many emitted functions in one process of its own, under the sanitizers if there are any.

All functions are compiled at once: including the headers of a target takes longer than a kernel.
Each argument ends where a page begins that nobody may touch, so that an access past its end is
caught whatever instruction makes it; what lies before it is poisoned for the address sanitizer, and
must hold the same bytes afterwards. When a function is stopped, the next process goes on after it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from morello.errors import MorelloError
from morello.ir.programs.emitted import CSource
from morello.toolchain.machine import Machine
from morello.toolchain.process import ERROR, Completed, run_command
from morello.toolchain.sanitizers import SANITIZER_OPTIONS, build_checked

RUN_SECONDS, RUN_SECONDS_UNDER_RUNNER = 30.0, 900.0
"""How long all functions together may take: they are small."""

PROGRAM = "program"
"""Its file's name."""

REPORT_LINES = 12

_FIRST_ERROR = re.compile(
    r"(?m)^ *\|? *(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? "
    rf".*?{ERROR}(?P<message>.*?)( \[-W\S+\])?$"
)

_NONE: Mapping[str, str] = MappingProxyType({})

WROTE_BEFORE = 4
"""Exit status of the harness: a function wrote before one of its arguments."""

HARNESS = """#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
void __asan_poison_memory_region(void const volatile *address, size_t size);
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
#else
#define __asan_poison_memory_region(address, size) ((void)(address))
#define __asan_unpoison_memory_region(address, size) ((void)(address))
#endif

@INCLUDES@

typedef void (*sandbox_call)(void *const *arguments, void *workspace);
struct sandbox_case { sandbox_call call; int count, runs; const size_t *sizes; };

@CASES@

static const struct sandbox_case sandbox_cases[] = {
@TABLE@
};

enum { sandbox_slots = @SLOTS@, sandbox_canary = 128, sandbox_filler = 0xA5 };
static const size_t sandbox_largest = @LARGEST@;
static unsigned char *sandbox_ends[sandbox_slots];

/* A block for each argument; behind it a page that cannot be touched. */
static int sandbox_map(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  const size_t size = (sandbox_largest + sandbox_canary + page - 1) / page * page;
  for (int i = 0; i < sandbox_slots; ++i) {
    unsigned char *block =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mprotect(block + size, page, PROT_NONE) != 0) return 3;
    sandbox_ends[i] = block + size;
  }
  return 0;
}

static int sandbox_run(const struct sandbox_case *one, FILE *inputs, FILE *results) {
  void *arguments[sandbox_slots];
  for (int i = 0; i < one->count; ++i) {
    unsigned char *start = sandbox_ends[i] - one->sizes[i];
    if (fread(start, 1, one->sizes[i], inputs) != one->sizes[i]) return 3;
    memset(start - sandbox_canary, sandbox_filler, sandbox_canary);
    __asan_poison_memory_region(start - sandbox_canary, sandbox_canary);
    arguments[i] = start;
  }
  one->call(arguments, sandbox_workspace);
  for (int i = 0; i < one->count; ++i) {
    unsigned char *start = arguments[i];
    __asan_unpoison_memory_region(start - sandbox_canary, sandbox_canary);
    for (int j = 1; j <= sandbox_canary; ++j) {
      if (start[-j] != sandbox_filler) return @WROTE_BEFORE@;
    }
    if (fwrite(start, 1, one->sizes[i], results) != one->sizes[i]) return 3;
  }
  return 0;
}

int main(int count, char **words) {
  const int first = count == 2 ? atoi(words[1]) : 0;
  FILE *inputs = fopen("inputs", "rb"), *results = fopen("results", "wb");
  if (inputs == NULL || results == NULL || sandbox_map() != 0) return 3;
  for (int i = 0; i < @COUNT@; ++i) {
    const struct sandbox_case *one = &sandbox_cases[i];
    for (int run = 0; run < one->runs; ++run) {
      if (i < first) {
        for (int j = 0; j < one->count; ++j) fseek(inputs, (long)one->sizes[j], SEEK_CUR);
        continue;
      }
      const int status = sandbox_run(one, inputs, results);
      if (status != 0) return status;
    }
    fflush(results);
  }
  return 0;
}
"""


class Case(Struct, frozen=True):
    """A function, and what it is run on.

    ``sizes`` are the bytes of its arguments; every one of ``runs`` holds as many packed arguments,
    outputs too.
    """

    source: CSource
    sizes: tuple[int, ...]
    runs: tuple[tuple[bytes, ...], ...]


class NotBuiltError(MorelloError):
    """The C compiler refuses some function.

    Attributes:
        reason: The first error that the compiler prints, or the first line of what was said.
        refused: The line of C that it is in, where that is known.
    """

    def __init__(self, text: str, help: str = "", files: Mapping[str, str] = _NONE) -> None:
        super().__init__(text, help=help)
        self.reason, self.refused = text.partition("\n")[0], ""
        if found := _FIRST_ERROR.search(text):
            lines = files.get(Path(found["file"]).name, "").splitlines()
            self.reason = found["message"]
            self.refused = next(iter(lines[int(found["line"]) - 1 :]), "").strip()


Outcome = list[tuple[bytes, ...]] | str
"""All arguments after each run, or how the function was stopped."""


def run_cases(
    cases: Sequence[Case], groups: Sequence[object], flags: Sequence[str], machine: Machine
) -> list[Outcome]:
    """Build all functions and run them.

    Args:
        cases: Functions of different names.
        groups: One for each case, equal ones side by side; when a function is stopped, the others
            of its group are not run, and share its outcome.
        flags: Flags of the compiler that any of them needs.
        machine: Where they run; see `require_checks`.

    Raises:
        NotBuiltError: They do not compile.
        MorelloError: The harness itself fails.
    """
    if not cases:
        return []
    files = {f"{case.source.name}.h": case.source.source for case in cases}
    files["sandbox.c"] = _harness(cases)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        here = Path(directory)
        try:
            build_checked(files, machine, flags, here / PROGRAM)
        except MorelloError as error:
            raise NotBuiltError(str(error), error.help, files) from error
        with (here / "inputs").open("wb") as file:
            file.writelines(argument for c in cases for run in c.runs for argument in run)
        while len(outcomes) < len(cases):
            outcomes += _go_on(machine, here, cases, groups, len(outcomes))
    return outcomes


def _go_on(
    machine: Machine, here: Path, cases: Sequence[Case], groups: Sequence[object], first: int
) -> list[Outcome]:
    """Outcomes of the cases from ``first`` on, up to one that is stopped, and its group."""
    results = here / "results"
    results.unlink(missing_ok=True)
    try:
        done = run_command(
            machine.running(here / PROGRAM, str(first)),
            timeout=_seconds(machine),
            directory=here,
            environment=SANITIZER_OPTIONS,
        )
    except MorelloError:
        if not results.exists():  # it was not even started
            raise
        done = None
    outcomes = _outcomes(cases[first:], results.read_bytes())
    stopped = first + len(outcomes)
    if stopped == len(cases):
        return outcomes
    if done is not None and done.status in (0, 3):
        raise MorelloError(f"the harness of the kernels fails\n{done.report(REPORT_LINES)}")
    same = [i for i in range(stopped, len(cases)) if groups[i] == groups[stopped]]
    return [*outcomes, *(_stopped(done, machine) for _ in same)]


def _seconds(machine: Machine) -> float:
    return RUN_SECONDS if machine.is_here else RUN_SECONDS_UNDER_RUNNER


def _outcomes(cases: Sequence[Case], results: bytes) -> list[Outcome]:
    """What was written, case by case, as far as it is complete."""
    outcomes: list[Outcome] = []
    start = 0
    for case in cases:
        if start + len(case.runs) * sum(case.sizes) > len(results):
            break
        runs = []
        for _ in case.runs:
            ends = [start + sum(case.sizes[: i + 1]) for i in range(len(case.sizes))]
            runs.append(tuple(results[a:b] for a, b in zip([start, *ends], ends, strict=False)))
            start = ends[-1]
        outcomes.append(runs)
    return outcomes


def _stopped(done: Completed | None, machine: Machine) -> str:
    if done is None:
        return f"it does not end within {_seconds(machine):g} seconds"
    if done.status == WROTE_BEFORE:
        return "it writes before the beginning of one of its operands"
    return f"it is stopped by the sanitizers, or by the processor\n{done.report(REPORT_LINES)}"


def _harness(cases: Sequence[Case]) -> str:
    """The C program; it includes the functions' sources."""
    count = len(cases)
    wrappers = "\n".join(_wrapper(i, case) for i, case in enumerate(cases))
    workspace = max(case.source.workspace_bytes for case in cases)
    values = {
        "INCLUDES": "\n".join(f'#include "{c.source.name}.h"' for c in cases),
        "CASES": f"_Alignas(64) static unsigned char sandbox_workspace[{workspace + 64}];\n"
        + wrappers,
        "TABLE": ",\n".join(
            f"  {{sandbox_call_{i}, {len(c.sizes)}, {len(c.runs)}, sandbox_sizes_{i}}}"
            for i, c in enumerate(cases)
        ),
        "SLOTS": str(max(len(c.sizes) for c in cases)),
        "LARGEST": str(max(max(c.sizes) for c in cases)),
        "WROTE_BEFORE": str(WROTE_BEFORE),
        "COUNT": str(count),
    }
    text = HARNESS
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _wrapper(number: int, case: Case) -> str:
    """A function's argument sizes, and a call that every function has alike."""
    passed = ", ".join(f"arguments[{i}]" for i in range(len(case.sizes)))
    sizes = ", ".join(map(str, case.sizes))
    return (
        f"static const size_t sandbox_sizes_{number}[] = {{{sizes}}};\n"
        f"static void sandbox_call_{number}(void *const *arguments, void *workspace) {{\n"
        f"  {case.source.name}({passed}, workspace);\n}}"
    )
