"""Parts of this package in C: built once, loaded, and checked.

A shared library is kept among the start-up files, under a key of its source, the processor and the
compiler that was asked for. It is used if it gives a known result to the last bit. Where it cannot
be had, numpy does the same. ``MORELLO_SOLVER`` may say ``numpy``, or ``compiled`` to be told why
not.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

from morello.errors import MorelloError, UsageError
from morello.resources import features
from morello.startup.cache import entry

SWITCH = "MORELLO_SOLVER"
"""The environment variable that chooses between C and numpy."""

FLAGS = ("-O2", "-ftree-vectorize", "-ffp-contract=off")
"""Each product and each sum is rounded, as numpy does it. More of an optimiser gains nothing."""

Check = Callable[[ctypes.CDLL], bool]


def native(package: str, name: str, check: Check) -> ctypes.CDLL | None:
    """The library of a C file; none where numpy has to do.

    Args:
        package: Where the file is.
        name: Of the file, without its suffix.
        check: Whether a library gives what is known.

    Raises:
        MorelloError: It was asked for, and it cannot be had.
        UsageError: The environment variable has another value.
    """
    wanted = os.environ.get(SWITCH, "")
    if wanted not in ("", "compiled", "numpy"):
        raise UsageError(f"{SWITCH} is '{wanted}'", help="set it to compiled or numpy, or unset it")
    if wanted == "numpy":
        return None
    found = _library(package, name, check)
    if isinstance(found, ctypes.CDLL):
        return found
    if wanted:
        raise found
    return None


@cache
def _library(package: str, name: str, check: Check) -> ctypes.CDLL | MorelloError:
    """The library, or why there is none."""
    source = files(package).joinpath(f"{name}.c").read_text(encoding="utf-8")
    kept = entry(name, source, *FLAGS, *sorted(features()), os.environ.get("CC", ""))
    if kept.path is None:
        return MorelloError(f"start-up files are switched off: {name}.c cannot be kept there")
    try:
        contents = kept.read()
        if contents is None:
            contents = _build(name, source)
            library = _load(name, contents, check)
            kept.write(contents)
            return library
        return _load(name, contents, check)
    except MorelloError as error:
        return error
    except OSError as error:  # no room, or a directory from which nothing may be executed
        return MorelloError(f"{name}.c cannot be loaded: {error}")


def _build(name: str, source: str) -> bytes:
    """Compile the library, for this processor where it is known what that has."""
    from morello.toolchain.build import build  # noqa: PLC0415  (not needed again)
    from morello.toolchain.compilers import find_compiler, unsupported_flags  # noqa: PLC0415

    compiler = find_compiler()
    processor = ["-march=native"] if features() else []
    if unsupported_flags(compiler, processor):
        processor = []
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        output = Path(directory, f"{name}.so")
        build({f"{name}.c": source}, compiler, (*FLAGS, *processor), output)
        return output.read_bytes()


def _load(name: str, contents: bytes, check: Check) -> ctypes.CDLL:
    """Load a library, and see that it gives what is known.

    Raises:
        MorelloError: It does not.
    """
    with tempfile.NamedTemporaryFile(prefix="morello-", suffix=".so") as file:
        file.write(contents)
        file.flush()
        library = ctypes.CDLL(file.name)
    if not check(library):
        raise MorelloError(f"{name}.c does not compute what it should")
    return library
