"""Emitted C as programs of their own, by every compiler there is, run on numpy arrays."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from morello.ir.programs.emitted import CSource
from morello.ir.programs.tree import Program
from morello.records import replace
from morello.runtime.program import built_program
from morello.runtime.signature import signature_of
from morello.toolchain.build import build
from morello.toolchain.compilers import describe
from morello.toolchain.machine import Machine

WARNINGS = ("-Wpedantic",)
"""Besides those that everything is compiled with."""


@dataclass(frozen=True, slots=True)
class Build:
    """A machine, and whether its programs run under the sanitizers."""

    machine: Machine
    sanitize: bool = False


def builds() -> tuple[Build, ...]:
    """Sanitized with gcc, optimised with gcc and with clang: those that are installed."""
    every = (("gcc", True), ("gcc", False), ("clang-19", False), ("clang", False))
    found = [(path, sanitize) for name, sanitize in every if (path := shutil.which(name))]
    assert found, "the tests of emitted C need gcc or clang"
    return tuple(Build(Machine(describe((path,))), sanitize) for path, sanitize in found[:3])


def some_builds(code: CSource) -> tuple[Build, ...]:
    """Sanitized, and optimised by one of the compilers, which depends on the text."""
    every = builds()
    optimised = [build for build in every if not build.sanitize]
    chosen = optimised[crc32(code.source.encode()) % len(optimised)]
    return (*(build for build in every if build.sanitize), chosen)


def run_everywhere(
    program: Program, code: CSource, inputs: list[np.ndarray[Any, Any]]
) -> list[list[np.ndarray[Any, Any]]]:
    """The outputs of both entries under each of `some_builds`."""
    return [_run(program, code, inputs, build) for build in some_builds(code)]


def compile_only(code: CSource, directory: Path, *flags: str) -> None:
    """Compile the source with every build's compiler and these flags."""
    for made in builds():
        every = (*WARNINGS, *code.flags, *flags)
        files = {f"{code.name}.c": code.source}
        build(files, made.machine.compiler, every, directory / "library.so")


def _run(
    program: Program, code: CSource, inputs: list[np.ndarray[Any, Any]], made: Build
) -> list[np.ndarray[Any, Any]]:
    openmp = made.machine.compiler.kind == "gcc"  # without it, pragmas must not disturb
    code = replace(code, flags=tuple(f for f in code.flags if f != "-fopenmp" or openmp))
    signature = signature_of(program, code)
    given = [a.pack(v) for a, v in zip(signature.inputs, inputs, strict=True)]
    with built_program(
        code,
        signature,
        machine=made.machine,
        flags=WARNINGS,
        sanitize=made.sanitize,
        both_entries=True,
    ) as built:
        results = built.results(*given)
    return [a.unpack(r) for a, r in zip(signature.outputs, results, strict=True)]
