"""Builds C sources: a shared library, or a program.

The result appears at once or not at all: it is built in a temporary directory and then renamed, so
that two builds of one file, an interrupt or a failure leave no half of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from morello.errors import MorelloError
from morello.toolchain.compilers import Compiler
from morello.toolchain.process import run_command

STANDARD_FLAGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Werror")
"""How everything is compiled; the target's flags come after them."""

SANITIZE_FLAGS = (
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize=null,pointer-overflow",  # seen at the access by the former: 40% of gcc's time
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-O0",  # no access is optimised away before it is checked; and half the compiler's time
    "-g1",
    "-Wno-all",  # checks that were added make some warnings wrong; and to find them takes long
    "-Wno-extra",
    "-Wno-error",
    "-Werror=implicit-function-declaration",  # else the first error is of what the call returns
)

SANITIZE_FLAGS_OF_GCC = ("--param", "asan-instrumentation-with-call-threshold=0")
"""Accesses are checked by calls: a fifth of gcc's time was to write the checks out; not clang's."""

RESULT = "result.out"
"""Name of what the compiler writes, in its temporary directory."""

BUILD_SECONDS = 600.0
"""How long a compiler may take."""

MESSAGE_LINES = 20
"""How much of what a compiler printed is shown."""

ANOTHER = (
    "another C compiler can be chosen with CC; "
    "'morello check --execute' says which line of a kernel of yours it refuses"
)


def build(
    sources: Mapping[str, str],
    compiler: Compiler,
    flags: Sequence[str],
    output: Path,
    *,
    openmp: bool = False,
    sanitize: bool = False,
    executable: bool = False,
    timeout: float = BUILD_SECONDS,
) -> Path:
    """Compile and link.

    Args:
        sources: Texts by file name. Those that end in ``.c`` are compiled, together; all of them
            can be included.
        compiler: The C compiler.
        flags: Flags after `STANDARD_FLAGS`, such as the target's.
        output: The file to write. What is there is replaced.
        openmp: Whether the sources use OpenMP.
        sanitize: Whether to add the address and undefined-behaviour sanitizers.
        executable: A program rather than a shared library.
        timeout: Seconds that the compiler may take.

    Returns:
        ``output``.

    Raises:
        MorelloError: The compiler failed, with its first lines; or the output cannot be written.
    """
    _check_names(sources)
    command = [*compiler.command, *STANDARD_FLAGS, *flags]
    command += _options(openmp=openmp, sanitize=sanitize, executable=executable)
    command += SANITIZE_FLAGS_OF_GCC if sanitize and compiler.kind == "gcc" else ()
    command += [name for name in sources if name.endswith(".c")]
    with _replacing(output) as new, tempfile.TemporaryDirectory(prefix="morello-") as directory:
        here = Path(directory)
        _write(sources, here)
        _compile([*command, "-o", RESULT, "-lm"], here, timeout)
        shutil.copy(here / RESULT, new)
    return output


def _options(*, openmp: bool, sanitize: bool, executable: bool) -> list[str]:
    return [
        *(["-fopenmp"] if openmp else []),
        *(SANITIZE_FLAGS if sanitize else []),
        *([] if executable else ["-shared", "-fPIC"]),
    ]


def _check_names(sources: Mapping[str, str]) -> None:
    for name in sources:
        if not name or Path(name).name != name or name == RESULT:
            raise MorelloError(f"'{name}' is not the name of a source file")


def _write(sources: Mapping[str, str], directory: Path) -> None:
    for name, text in sources.items():
        (directory / name).write_text(text, encoding="utf-8")


def _compile(command: Sequence[str], directory: Path, timeout: float) -> None:
    done = run_command(command, timeout=timeout, directory=directory)
    if done.status != 0:
        raise MorelloError(
            f"the C compiler failed\n{done.report(MESSAGE_LINES)}",
            help=ANOTHER,
        )
    if not (directory / RESULT).is_file():
        raise MorelloError(
            f"the C compiler wrote nothing\n{done.report(MESSAGE_LINES)}", help=ANOTHER
        )


@contextmanager
def _replacing(output: Path) -> Iterator[Path]:
    """A new file beside ``output``, which takes its place when all went well."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    except OSError as error:
        raise _unwritable(output, error) from error
    os.close(handle)
    new = Path(name)
    try:
        yield new
        new.replace(output)
    except OSError as error:
        raise _unwritable(output, error) from error
    finally:
        new.unlink(missing_ok=True)


def _unwritable(output: Path, error: OSError) -> MorelloError:
    return MorelloError(
        f"cannot write '{output}': {error.strerror}", help="choose another place for the output"
    )
