"""Finds a C compiler, and asks it what it can do.

In this order: ``$CC``, which may hold arguments; gcc, clang and cc, also as ``clang-19``; and the
compiler in the Python package ``ziglang``, where that is installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from morello.errors import MorelloError
from morello.toolchain.process import Completed, run_command

PROBE_SECONDS = 60.0
"""How long a compiler may take to answer a question; the first use of one may fill a cache."""

NAMES = ("gcc", "clang", "cc")

ADVICE = (
    "install gcc or clang, set CC to a C compiler, or install the Python package 'ziglang', "
    "which holds one"
)


class Compiler(Struct, frozen=True):
    """A C compiler. ``command`` is the program with arguments that it always gets.

    ``kind`` is ``gcc``, ``clang`` or ``other``; ``version`` the first line that it says of itself.
    """

    command: tuple[str, ...]
    kind: str
    version: str

    def __str__(self) -> str:
        return f"{shlex.join(self.command)} ({self.version})"


def find_compiler(environment: Mapping[str, str] | None = None) -> Compiler:
    """The C compiler to use.

    Args:
        environment: Where ``CC`` and ``PATH`` are looked up; none is this process's environment.

    Raises:
        MorelloError: There is none, or the one that ``CC`` names does not work.
    """
    variables = os.environ if environment is None else environment
    path = variables.get("PATH", "")
    if variables.get("CC", "").strip():
        return named_compiler(variables["CC"], "CC", path)
    for name in (*NAMES[:2], *_versioned(path), *NAMES[2:]):
        found = shutil.which(name, path=path)
        if found is not None:
            return describe((os.path.abspath(found),))
    if find_spec("ziglang") is not None:
        return describe((sys.executable, "-m", "ziglang", "cc"))
    raise MorelloError("there is no C compiler: CC is not set, and PATH has none", help=ADVICE)


def describe(command: tuple[str, ...], *, timeout: float = PROBE_SECONDS) -> Compiler:
    """Ask a compiler what it is.

    Raises:
        MorelloError: It cannot be run, fails, or takes too long.
    """
    answer = run_command((*command, "--version"), timeout=timeout)
    if answer.status != 0:
        raise MorelloError(
            f"the C compiler '{shlex.join(command)}' does not work\n{answer.report(5)}", help=ADVICE
        )
    first = next(iter(answer.output.strip().splitlines()), "version unknown")
    return Compiler(command, _kind(answer.output), first)


def _kind(answer: str) -> str:
    if "clang" in answer:
        return "clang"
    return "gcc" if "Free Software Foundation" in answer else "other"


def named_compiler(value: str, what: str, path: str | None = None) -> Compiler:
    """The compiler of a command that may hold arguments.

    Args:
        value: The command.
        what: Where it is from, for messages.
        path: Where programs are looked up; none is this process's ``PATH``.

    Raises:
        MorelloError: It is no command, there is no such program, or it does not work.
    """
    try:
        command = shlex.split(value)
    except ValueError as error:
        raise MorelloError(
            f"{what} is {value!r}, which is not a command: {error}", help="check its quotes"
        ) from None
    found = shutil.which(command[0], path=path) if command else None
    if found is None:
        advice = "unset it" if what == "CC" else "leave it out"
        raise MorelloError(
            f"{what} is {value!r}, but there is no program of that name",
            help=f"install it, name another C compiler, or {advice} to have one found",
        )
    # Compilers run in temporary directories, where a relative path would mean something else.
    return describe((os.path.abspath(found), *command[1:]))


def _versioned(path: str) -> list[str]:
    """Names such as ``clang-19`` that the path has, clang first, the newest first."""
    found: set[tuple[str, int]] = set()
    for directory in path.split(os.pathsep):
        for file in _names(directory):
            match = re.fullmatch(r"(clang|gcc)-(\d+)", file)
            if match:
                found.add((match[1], int(match[2])))
    ordered = sorted(found, key=lambda pair: (pair[0], -pair[1]))
    return [f"{name}-{version}" for name, version in ordered]


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory) if directory else []
    except OSError:  # PATH may name what does not exist
        return []


# ------------------------------------------------------------------------------- questions

OPENMP_PROGRAM = """#include <omp.h>
int threads(void);
int threads(void) {
  int count = 0;
#pragma omp parallel reduction(+ : count)
  count += omp_get_num_threads() > 0;
  return count;
}
"""


def unsupported_flags(compiler: Compiler, flags: Sequence[str]) -> tuple[str, ...]:
    """Those of the flags that the compiler does not know."""
    if not flags or _compiles(compiler, "int x;\n", flags):
        return ()
    return tuple(f for f in flags if not _compiles(compiler, "int x;\n", [f]))


def supports_openmp(compiler: Compiler) -> bool:
    """Whether it builds libraries that use OpenMP: flag, header and library are there."""
    return _compiles(compiler, OPENMP_PROGRAM, ("-fopenmp",))


def _compiles(compiler: Compiler, text: str, flags: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        Path(directory, "probe.c").write_text(text)
        shared = ("-Werror", "-shared", "-fPIC", "probe.c", "-o", "probe.so")
        command = (*compiler.command, *flags, *shared)
        return run_command(command, timeout=PROBE_SECONDS, directory=Path(directory)).status == 0


def try_program(
    compiler: Compiler,
    text: str,
    flags: Sequence[str] = (),
    *,
    runner: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Completed | None:
    """Build a small program and run it; none if it cannot be built.

    Args:
        compiler: Which compiler.
        text: The program.
        flags: Flags of the compiler.
        runner: The command that runs programs, which follow it.
        environment: Variables to set when it runs.
    """
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        here = Path(directory)
        (here / "probe.c").write_text(text)
        command = (*compiler.command, *flags, "probe.c", "-o", "probe")
        if run_command(command, timeout=PROBE_SECONDS, directory=here).status != 0:
            return None
        probe = (*runner, str(here / "probe"))
        return run_command(probe, timeout=PROBE_SECONDS, directory=here, environment=environment)
