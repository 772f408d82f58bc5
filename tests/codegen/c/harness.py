"""Compiling emitted C as a program of its own, and running it on numpy arrays.

A separate process can be built with the address sanitizer and has no leftovers of Python: each
argument lies in an allocation of exactly its size.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from morello.ir.arrays import from_memory, to_memory
from morello.ir.programs.emitted import CSource
from morello.ir.programs.tree import Program

WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
SANITIZE = ("-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


@dataclass(frozen=True, slots=True)
class Build:
    """A C compiler with flags."""

    compiler: str
    flags: tuple[str, ...]


def builds() -> tuple[Build, ...]:
    """Sanitized with gcc, optimised with gcc and with clang: those that are installed."""
    every = (
        Build("gcc", SANITIZE),
        Build("gcc", ("-O3",)),
        Build("clang-19", ("-O2",)),
        Build("clang", ("-O2",)),
    )
    found = tuple(b for b in every if shutil.which(b.compiler))
    assert found, "the tests of emitted C need gcc or clang"
    return found[:3]


def run_everywhere(
    program: Program, code: CSource, inputs: list[np.ndarray[Any, Any]], directory: Path
) -> list[list[np.ndarray[Any, Any]]]:
    """The outputs under each of `builds`."""
    (directory / f"{code.name}.c").write_text(code.source)
    (directory / f"{code.name}.h").write_text(code.header)
    (directory / "main.c").write_text(_main(program, code))
    return [_run(program, code, inputs, directory, build) for build in builds()]


def compile_only(code: CSource, directory: Path, *flags: str) -> None:
    """Compile the source to an object with every build's flags and these."""
    (directory / f"{code.name}.c").write_text(code.source)
    for build in builds():
        command = [build.compiler, *WARNINGS, *build.flags, *code.flags, *flags, "-c"]
        _check([*command, f"{code.name}.c", "-o", "object.o"], directory)


def _run(
    program: Program,
    code: CSource,
    inputs: list[np.ndarray[Any, Any]],
    directory: Path,
    build: Build,
) -> list[np.ndarray[Any, Any]]:
    openmp = build.compiler == "gcc"  # without it, pragmas must not disturb
    flags = [f for f in code.flags if f != "-fopenmp" or openmp]
    command = [build.compiler, *WARNINGS, *build.flags, *flags, "main.c", f"{code.name}.c"]
    _check([*command, "-o", "main", "-lm"], directory)
    data = b"".join(
        to_memory(t.layout, a).tobytes() for t, a in zip(program.arguments, inputs, strict=False)
    )
    output = _check([str(directory / "main")], directory, data)
    result = []
    for tensor in (t for t in program.arguments if t.role == "output"):
        flat = np.frombuffer(output, tensor.dtype.numpy, tensor.layout.elements(tensor.shape))
        output = output[flat.nbytes :]
        result.append(from_memory(tensor.layout, tensor.shape, flat))
    return result


def _check(command: list[str], directory: Path, data: bytes = b"") -> bytes:
    done = subprocess.run(command, cwd=directory, input=data, capture_output=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr.decode()}"
    return done.stdout


def _main(program: Program, code: CSource) -> str:
    """Reads the inputs from stdin, runs both entries, and writes the outputs to stdout."""
    lines = []
    for i, tensor in enumerate(program.arguments):
        size = prod(tensor.shape) * tensor.dtype.bytes
        lines.append(f"  void *a{i} = malloc({size});")
        if tensor.role == "output":
            lines.append(f"  memset(a{i}, 0x5a, {size});")
        else:
            lines.append(f"  if (fread(a{i}, 1, {size}, stdin) != {size}) return 2;")
    names = ", ".join(f"a{i}" for i in range(len(program.arguments)))
    outputs = [(i, t) for i, t in enumerate(program.arguments) if t.role == "output"]
    lines += [
        f"  const size_t bytes = {code.name}_workspace_size();",
        f"  if (bytes != {code.workspace_bytes} || bytes % 64 != 0) return 3;",
        "  void *workspace = bytes ? aligned_alloc(64, bytes) : NULL;",
        f"  {code.name}({names}, workspace);",
    ]
    for i, tensor in outputs:
        size = prod(tensor.shape) * tensor.dtype.bytes
        lines.append(f"  fwrite(a{i}, 1, {size}, stdout);")
        lines.append(f"  void *first{i} = malloc({size});")
        lines.append(f"  memcpy(first{i}, a{i}, {size});")
    lines.append(f"  if ({code.name}_run({names}) != 0) return 4;")
    for i, tensor in outputs:
        size = prod(tensor.shape) * tensor.dtype.bytes
        lines.append(f"  if (memcmp(first{i}, a{i}, {size}) != 0) return 5;")
        lines.append(f"  free(first{i});")
    lines += [f"  free(a{i});" for i in range(len(program.arguments))]
    headers = "".join(f"#include <{h}.h>\n" for h in ("stdio", "stdlib", "string"))
    lines += ["  free(workspace);", "  return 0;", "}", ""]
    return f'{headers}#include "{code.name}.h"\n\nint main(void) {{\n' + "\n".join(lines)
