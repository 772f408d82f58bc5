"""Builds contenders: one shared library each; those whose library is not installed are named."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, PackagePath, files
from pathlib import Path

from benchmarks.cases import Case
from benchmarks.contenders import LIMITS, LOOPS, PEERS, SPECS, Contender
from morello import Kernel, MorelloError
from morello.ir.target import Target
from morello.toolchain.build import BUILD_SECONDS, MESSAGE_LINES, STANDARD_FLAGS, build
from morello.toolchain.compilers import Compiler
from morello.toolchain.process import Completed, run_command

SOURCES = Path(__file__).parent / "c"
HEADER, READING = "contender.h", "reading.h"
CXX_FLAGS = ("-std=c++17", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden")
"""What headers define stays inside: two versions of a library would share it otherwise."""


@dataclass(frozen=True, slots=True)
class Built:
    """One variant of a contender, in a library that can be loaded."""

    name: str
    role: str
    library: Path
    variant: int


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where and for what contenders are built. ``only`` names those that are; none is all."""

    compiler: Compiler
    target: Target
    threads: int
    directory: Path
    only: Collection[str] = ()

    def wants(self, contender: Contender) -> bool:
        """Whether it is to take part."""
        return not self.only or contender.name in self.only

    def flags(self, contender: Contender) -> tuple[str, ...]:
        """Flags of a contender besides its own."""
        widest = max((v for level in self.target.levels for v in level.vectors), default=4)
        return (f"-DVECTOR_BYTES={widest}", *(self.target.flags if contender.for_target else ()))


def build_all(workshop: Workshop) -> tuple[dict[str, Path], dict[str, str]]:
    """Build the peers and the limits.

    Returns:
        Libraries by the contender's name; and why the others are left out, by theirs.
    """
    wanted = [contender for contender in (*PEERS, *LIMITS) if workshop.wants(contender)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(partial(_attempt, workshop), wanted))
    built = {c.name: f for c, f in zip(wanted, found, strict=True) if isinstance(f, Path)}
    return built, {
        c.name: str(f) for c, f in zip(wanted, found, strict=True) if c.name not in built
    }


def _attempt(workshop: Workshop, contender: Contender) -> Path | MorelloError:
    try:
        return build_contender(workshop, contender)
    except MorelloError as error:
        return error


def build_for_case(
    workshop: Workshop, case: Case, kernel: Kernel, packed: Kernel
) -> dict[str, Path]:
    """Build what depends on the sizes: the compiled specs, with B as a weight too, and the loops.

    Raises:
        MorelloError: The compiler fails.
    """
    libraries = {
        contender.name: _build_kernel(workshop, contender, own)
        for contender, own in zip(SPECS, (kernel, packed), strict=True)
    }
    if workshop.wants(LOOPS) and case.dtypes in LOOPS.dtypes:
        sizes = tuple(f"-D{name}={size}" for name, size in case.defines.items())
        libraries[LOOPS.name] = build_contender(workshop, LOOPS, sizes)
    return libraries


def entrants(case: Case, libraries: Mapping[str, Path]) -> Iterator[Built]:
    """Every variant of what is built that can do a case, the compiled spec first."""
    for contender in (*SPECS, *PEERS, LOOPS, *LIMITS):
        if contender.name not in libraries:
            continue
        if contender not in SPECS and case.dtypes not in contender.dtypes:
            continue
        named = zip(contender.names(), contender.variants, strict=True)
        for number, (name, variant) in enumerate(named):
            fits = case.flops <= variant.most_flops and (case.m == 1 or not variant.vectors_only)
            if fits:
                yield Built(name, variant.role, libraries[contender.name], number)


def build_c(workshop: Workshop, source: str) -> Path:
    """Build a file of `SOURCES` that is no contender, such as the harness."""
    return _compile(workshop, source, (), ())


def _build_kernel(workshop: Workshop, contender: Contender, kernel: Kernel) -> Path:
    sources = {name: (SOURCES / name).read_text() for name in (contender.source, HEADER, READING)}
    sources |= {"matmul.c": kernel.source, "matmul.h": kernel.header}
    output = _output(workshop)
    openmp = workshop.threads > 1
    flags = (*kernel.c_source.flags, *workshop.flags(contender), *contender.flags)
    return build(sources, workshop.compiler, flags, output, openmp=openmp)


def build_contender(workshop: Workshop, contender: Contender, defines: Sequence[str] = ()) -> Path:
    """Build a contender, with macros of the form ``-DNAME=value``.

    Raises:
        MorelloError: It is not installed, with the command that installs it; it has but one thread
            and more are asked for; or the compiler fails.
    """
    link = contender.link if workshop.threads == 1 else contender.link_threads
    if link is None:
        raise MorelloError("it has one thread only")
    places = {name: _directory(*place) for name, place in contender.places.items()}
    if None in places.values():
        raise _not_installed(contender)
    link = tuple(argument.format_map(places) for argument in link)
    own = tuple(argument.format_map(places) for argument in contender.flags)
    flags = (*workshop.flags(contender), *own, *defines)
    try:
        return _compile(workshop, contender.source, flags, link)
    except MorelloError:
        if _is_there(workshop, contender.source, flags, link):
            raise
        raise _not_installed(contender) from None


def _not_installed(contender: Contender) -> MorelloError:
    return MorelloError(f"not installed: {contender.install}")


def _directory(file: str, *distributions: str) -> str | None:
    """Where the first of some installed Python distributions has a file, if any has."""
    paths = (
        Path(str(path.locate()))
        for distribution in distributions
        for path in _files(distribution)
        if path.name == file
    )
    return next((str(path.resolve().parent) for path in paths), None)


def _files(distribution: str) -> list[PackagePath]:
    try:
        return files(distribution) or []
    except PackageNotFoundError:
        return []


def _is_there(workshop: Workshop, source: str, flags: Sequence[str], link: Sequence[str]) -> bool:
    """Whether the compiler finds the headers that a source includes, and the libraries."""
    preprocess = ("-E", *flags, str(SOURCES / source))
    empty = ("-shared", "-fPIC", "-x", "c", os.devnull, "-x", "none", *link)
    return all(_run(workshop, arguments).status == 0 for arguments in (preprocess, empty))


def _compile(workshop: Workshop, source: str, flags: Sequence[str], link: Sequence[str]) -> Path:
    standard = CXX_FLAGS if source.endswith(".cc") else STANDARD_FLAGS
    arguments = (*standard, *flags, "-shared", "-fPIC", str(SOURCES / source), *link)
    output = _output(workshop)
    done = _run(workshop, (*arguments, "-o", str(output)))
    if done.status != 0:
        raise MorelloError(f"the C compiler failed\n{done.report(MESSAGE_LINES)}")
    return output


def _run(workshop: Workshop, arguments: Sequence[str]) -> Completed:
    """Run the compiler, where it may leave what it writes."""
    command = (*workshop.compiler.command, *arguments)
    return run_command(command, timeout=BUILD_SECONDS, directory=workshop.directory)


def _output(workshop: Workshop) -> Path:
    """A name for a library that no other has: what is loaded is never replaced."""
    return Path(tempfile.mkdtemp(dir=workshop.directory), "contender.so")
