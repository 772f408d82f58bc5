"""Who takes part: the compiled spec, OpenBLAS where it is installed, and the plain triple loop.

Every contender does its work in a loop in C, on arrays of its own, which `Entry` keeps.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import morello
from benchmarks.cases import Case, spec_text
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler
from morello.toolchain.signature import aligned_bytes
from morello.toolchain.timing import Contender, contender

Array = np.ndarray[Any, np.dtype[Any]]

HERE = Path(__file__).parent
LOOP_FLAGS = ("-march=native",)
LOOPS = ("ijk", "ikj")


@dataclass(frozen=True, slots=True)
class Entry:
    """A contender for one case. ``result`` is where ``run`` writes."""

    name: str
    run: Contender
    result: Array


@dataclass(frozen=True, slots=True)
class Blas:
    """A BLAS that was found: its name here, and the address of its ``cblas_sgemm``."""

    name: str
    sgemm: ctypes.c_void_p
    shim: ctypes.CDLL


def aligned(shape: Sequence[int]) -> Array:
    """An f32 array that begins at a cache line."""
    array = aligned_bytes(4 * int(np.prod(shape))).view(np.float32).reshape(shape)
    array[...] = np.nan
    return array


def load_source(name: str, compiler: Compiler, flags: Sequence[str]) -> ctypes.CDLL:
    """Build one of the C files beside this module and load it.

    Raises:
        MorelloError: The compiler fails.
    """
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        sources = {name: (HERE / name).read_text()}
        library = build(sources, compiler, flags, Path(directory, "library.so"))
        return ctypes.CDLL(str(library))


# ------------------------------------------------------------------------------- OpenBLAS


def find_blas(compiler: Compiler, threads: int) -> tuple[list[Blas], list[str]]:
    """Every OpenBLAS of this machine, set to so many threads; and what is not installed.

    Raises:
        MorelloError: The compiler fails.
    """
    shim = load_source("blas.c", compiler, ())
    found, missing = [], []
    for name, prefix, path in _libraries():
        library = None
        if path is not None:
            with suppress(OSError):
                library = ctypes.CDLL(path)
        if library is None:
            missing.append(name)
            continue
        library[f"{prefix}openblas_set_num_threads"](threads)
        sgemm = ctypes.cast(library[f"{prefix}cblas_sgemm"], ctypes.c_void_p)
        found.append(Blas(name, sgemm, shim))
    return found, missing


def _libraries() -> Iterator[tuple[str, str, str | None]]:
    """Name, prefix of its symbols, and path if it is there."""
    package = find_spec("scipy_openblas32")
    path = None
    if package is not None and package.submodule_search_locations:
        directory = Path(package.submodule_search_locations[0], "lib")
        path = next((str(p) for p in sorted(directory.glob("libscipy_openblas*"))), None)
    yield "scipy-openblas32", "scipy_", path
    yield "libopenblas", "", ctypes.util.find_library("openblas")


def _blas_entry(blas: Blas, case: Case, a: Array, b: Array) -> Entry:
    result = aligned((case.m, case.n))
    pointers = [_pointer(x) for x in (a, b, result)]

    def run(count: int) -> None:
        blas.shim.blas_repeat(ctypes.c_int64(count), blas.sgemm, case.m, case.k, case.n, *pointers)

    return Entry(blas.name, run, result)


# ------------------------------------------------------------------------------- the others


def _loop_entries(case: Case, compiler: Compiler, a: Array, b: Array) -> Iterator[Entry]:
    flags = [*LOOP_FLAGS, *(f"-D{name}={size}" for name, size in case.defines.items())]
    library = load_source("loops.c", compiler, flags)

    def entry(order: int, result: Array) -> Callable[[int], None]:
        pointers = [_pointer(x) for x in (a, b, result)]
        return lambda count: library.loops_repeat(ctypes.c_int64(count), order, *pointers)

    for order, name in enumerate(LOOPS):
        result = aligned((case.m, case.n))
        yield Entry(f"loop {name}", entry(order, result), result)


def _pointer(array: Array) -> ctypes.c_void_p:
    """The array's address; it keeps the array alive."""
    return array.ctypes.data_as(ctypes.c_void_p)


def compile_case(case: Case, target: str, threads: int) -> morello.Kernel:
    """The spec for one case, compiled with what the process's memo already knows."""
    return morello.compile(spec_text(target, threads), defines=case.defines)


def entries(
    case: Case, kernel: morello.Kernel, blas: Sequence[Blas], compiler: Compiler
) -> tuple[list[Entry], Array, Array]:
    """All contenders for one case, and the matrices that they multiply.

    Raises:
        MorelloError: A C compiler fails, or this machine lacks the target's instructions.
    """
    rng = np.random.default_rng(0)
    a, b, c = (aligned(s) for s in ((case.m, case.k), (case.k, case.n), (case.m, case.n)))
    a[...] = rng.uniform(-1, 1, a.shape)
    b[...] = rng.uniform(-1, 1, b.shape)
    own = Entry("morello", contender(kernel.function, [a, b, c]), c)
    others = [_blas_entry(one, case, a, b) for one in blas]
    return [own, *others, *_loop_entries(case, compiler, a, b)], a, b
