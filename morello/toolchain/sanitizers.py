"""Programs under the address and undefined-behaviour sanitizers: how they are built and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from morello.errors import MorelloError
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler, supports_sanitizers

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # programs that run once free nothing
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
"""Variables of the environment that sanitized programs run with."""


def build_sanitized(
    files: Mapping[str, str], compiler: Compiler, flags: Sequence[str], output: Path
) -> Path:
    """Build a program with the address and undefined-behaviour sanitizers.

    Args:
        files: Texts by file name, as `build` takes them.
        compiler: Which compiler; it must have the sanitizers.
        flags: Flags that the sources need.
        output: The program to write.

    Returns:
        ``output``.

    Raises:
        MorelloError: It does not build, or the compiler has no sanitizers.
    """
    try:
        return build(files, compiler, flags, output, sanitize=True, executable=True)
    except MorelloError:
        require_sanitizers(compiler)
        raise


def require_sanitizers(compiler: Compiler) -> None:
    """Demand that a compiler has the address and undefined-behaviour sanitizers.

    Raises:
        MorelloError: It has not, or it cannot be run.
    """
    if not supports_sanitizers(compiler):
        raise MorelloError(
            f"the C compiler {compiler} has no address and undefined-behaviour sanitizers",
            help="install gcc or clang with its sanitizers, or set CC to one",
        )
