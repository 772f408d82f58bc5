"""Programs under the address and undefined-behaviour sanitizers: how they are built and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from morello.errors import MorelloError
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler, try_program
from morello.toolchain.machine import Machine

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # programs that run once free nothing
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
"""Variables of the environment that sanitized programs run with."""

# A compiler may accept the flag and yet have no sanitizer: then this does not link.
ASAN_PROGRAM = """#include <stddef.h>
void __asan_poison_memory_region(void const volatile *address, size_t size);
int main(void) {
  static char region[64];
  __asan_poison_memory_region(region, 8);
  return 0;
}
"""


TRAPS = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
"""Undefined behaviour ends a program without a message: this needs no library."""


def build_sanitized(
    files: Mapping[str, str], machine: Machine, flags: Sequence[str], output: Path
) -> Path:
    """Build a program with the address and undefined-behaviour sanitizers.

    Args:
        files: Texts by file name, as `build` takes them.
        machine: Where it is to run; its compiler must have the sanitizers.
        flags: Flags that the sources need.
        output: The program to write.

    Returns:
        ``output``.

    Raises:
        MorelloError: It does not build, or the compiler has no sanitizers.
    """
    try:
        return build(files, machine.compiler, flags, output, sanitize=True, executable=True)
    except MorelloError:
        require_sanitizers(machine)
        raise


def build_checked(
    files: Mapping[str, str], machine: Machine, flags: Sequence[str], output: Path
) -> Path:
    """The same, for programs that check addresses themselves.

    Where a machine that is not this one has no sanitizers, undefined behaviour is a trap.

    Raises:
        MorelloError: It does not build, or not in either way.
    """
    if machine.is_here or supports_sanitizers(machine):
        return build_sanitized(files, machine, flags, output)
    require_checks(machine)
    return build(files, machine.compiler, (*flags, *TRAPS), output, executable=True)


def require_sanitizers(machine: Machine) -> None:
    """Demand that a machine has the address and undefined-behaviour sanitizers.

    Raises:
        MorelloError: Its compiler has none, or their programs do not run on it.
    """
    if not supports_sanitizers(machine):
        raise MorelloError(
            f"the C compiler {machine.compiler} has no address and undefined-behaviour sanitizers"
            + ("" if machine.is_here else f" that run under {machine}"),
            help="install gcc or clang with its sanitizers, or name one: --cc, or CC",
        )


def require_checks(machine: Machine) -> None:
    """Demand what `build_checked` needs of a machine.

    Raises:
        MorelloError: Its compiler has no sanitizers, and no traps either where it is not this one.
    """
    if machine.is_here or not _supports_traps(machine):
        require_sanitizers(machine)


def supports_sanitizers(machine: Machine) -> bool:
    """Whether programs with the address and undefined-behaviour sanitizers are built and run."""
    return _runs(machine.compiler, machine.command, ASAN_PROGRAM, ("-fsanitize=address,undefined",))


def _supports_traps(machine: Machine) -> bool:
    return _runs(machine.compiler, machine.command, "int main(void) { return 0; }\n", TRAPS)


@cache
def _runs(compiler: Compiler, runner: Sequence[str], program: str, flags: Sequence[str]) -> bool:
    """Whether a program is built with these flags, and runs; asked once."""
    done = try_program(compiler, program, flags, runner=runner, environment=SANITIZER_OPTIONS)
    return done is not None and done.status == 0
