"""Runs an emitted function in a process of its own, under the address and undefined sanitizers.

Every argument, packed weight and workspace is a block of exactly its size, so that an access beside
it is caught; outputs, packed weights and workspace start as NaN (every bit set); arguments begin 8
bytes past a multiple of 64, since callers promise no more than whole elements. Inputs must come
back unchanged.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from morello.errors import MorelloError, UsageError
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.runtime.signature import (
    ALIGNMENT,
    PackingInfo,
    Signature,
    check_argument,
    view_of,
)
from morello.toolchain.build import build
from morello.toolchain.compilers import Compiler, find_compiler, supports_sanitizers
from morello.toolchain.host import require_host
from morello.toolchain.process import run_command

RUN_SECONDS = 120.0
REPORT_LINES = 40

OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # the harness frees nothing
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


HARNESS = """#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@HEADER@"

void __asan_poison_memory_region(void const volatile *address, size_t size);

static const size_t h_sizes[@COUNT@] = {@SIZES@};
static const int h_is_read[@COUNT@] = {@READ@};
static const size_t h_packed_sizes[@COUNT@] = {@PACKED@};

/* A block of exactly this size, h_shift bytes past a multiple of @ALIGNMENT@. */
static unsigned char *h_reserve(size_t h_size, size_t h_shift) {
  void *h_block = NULL;
  if (posix_memalign(&h_block, @ALIGNMENT@, h_shift + h_size) != 0) exit(3);
  memset(h_block, 0xFF, h_shift + h_size);
  __asan_poison_memory_region(h_block, h_shift);
  return (unsigned char *)h_block + h_shift;
}

int main(void) {
  void *h_arguments[@COUNT@];
  void *h_packed[@COUNT@];
  FILE *h_inputs = fopen("inputs", "rb");
  if (h_inputs == NULL) return 3;
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    h_arguments[h_i] = h_reserve(h_sizes[h_i], 8);
    if (!h_is_read[h_i]) continue;
    if (fread(h_arguments[h_i], 1, h_sizes[h_i], h_inputs) != h_sizes[h_i]) return 3;
  }
  fclose(h_inputs);
  void *h_workspace = h_reserve(@WORKSPACE@, 0);
  @PACK@
  @FUNCTION@(@PASSED@, h_workspace);
  FILE *h_results = fopen("results", "wb");
  if (h_results == NULL) return 3;
  for (int h_i = 0; h_i < @COUNT@; ++h_i) {
    if (fwrite(h_arguments[h_i], 1, h_sizes[h_i], h_results) != h_sizes[h_i]) return 3;
  }
  return fclose(h_results) == 0 ? 0 : 3;
}
"""


def run_sanitized(
    source: CSource,
    signature: Signature,
    inputs: Sequence[Array],
    *,
    compiler: Compiler | None = None,
    openmp: bool = False,
    timeout: float = RUN_SECONDS,
) -> tuple[Array, ...]:
    """Build and run a function under the sanitizers.

    Args:
        source: The function.
        signature: Its arguments.
        inputs: Arrays for inputs and weights, in order.
        compiler: Which compiler; it must have the sanitizers. None finds one.
        openmp: Whether the function uses OpenMP.
        timeout: Seconds that it may run.

    Returns:
        The outputs, in order.

    Raises:
        MorelloError: It does not build, the sanitizers found something (with their report), or an
            input was written.
        UsageError: The inputs do not fit.
    """
    packed = _packed(signature, inputs)
    chosen = compiler or find_compiler()
    require_host(source.flags, f"'{signature.name}'", chosen)
    files = {
        f"{source.name}.c": source.source,
        f"{source.name}.h": source.header,
        f"{source.name}_harness.c": harness(signature, f"{source.name}.h"),
    }
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        here = Path(directory)
        program = build_sanitized(files, chosen, source.flags, here / "program", openmp=openmp)
        (here / "inputs").write_bytes(b"".join(packed))
        _run(program, here, signature.name, timeout)
        results = np.fromfile(here / "results", np.uint8)
    return _split(signature, packed, results)


def _packed(signature: Signature, inputs: Sequence[Array]) -> list[bytes]:
    """The bytes of every input, checked, as they lie in memory."""
    expected = signature.inputs
    if len(inputs) != len(expected):
        raise UsageError(
            f"'{signature.name}' was given {len(inputs)} arrays; expected {len(expected)}"
        )
    checked = [check_argument(i, a) for i, a in zip(expected, inputs, strict=True)]
    return [
        array.transpose(argument.passed_order).tobytes()
        for argument, array in zip(expected, checked, strict=True)
    ]


def build_sanitized(
    files: Mapping[str, str],
    compiler: Compiler,
    flags: Sequence[str],
    output: Path,
    *,
    openmp: bool = False,
) -> Path:
    """Build a program with the address and undefined-behaviour sanitizers.

    Args:
        files: Texts by file name, as `build` takes them.
        compiler: Which compiler; it must have the sanitizers.
        flags: Flags that the sources need.
        output: The program to write.
        openmp: Whether the sources use OpenMP.

    Returns:
        ``output``.

    Raises:
        MorelloError: It does not build, or the compiler has no sanitizers.
    """
    try:
        return build(files, compiler, flags, output, openmp=openmp, sanitize=True, executable=True)
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


def harness(signature: Signature, header: str) -> str:
    """The C program that reads ``inputs``, calls the function and writes ``results``.

    ``inputs`` holds the inputs and weights, ``results`` every argument, each as packed bytes.
    """
    arguments = signature.arguments
    own = f"{signature.name}_harness_"  # a prefix that hides nothing that the function is called
    values = {
        "FUNCTION": signature.name,
        "HEADER": header,
        "COUNT": str(len(arguments)),
        "SIZES": ", ".join(str(a.bytes) for a in arguments),
        "READ": ", ".join("0" if a.role == "output" else "1" for a in arguments),
        "PACKED": ", ".join(str(a.packed.bytes) for a in arguments),
        "PACK": "\n  ".join(_pack(own, i, a.packing) for i, a in enumerate(arguments)),
        "PASSED": ", ".join(f"{own}packed[{i}]" for i in range(len(arguments))),
        "WORKSPACE": str(signature.workspace_bytes),
        "ALIGNMENT": str(ALIGNMENT),
    }
    text = re.sub(r"\bh_", own, HARNESS)
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def _pack(own: str, position: int, packing: PackingInfo | None) -> str:
    """C that makes what the function takes of an argument."""
    declared, packed = f"{own}arguments[{position}]", f"{own}packed[{position}]"
    if packing is None:
        return f"{packed} = {declared};"
    block = f"{own}reserve({own}packed_sizes[{position}], 8)"
    return f"{packed} = {block};\n  {packing.function}({declared}, {packed}, {own}workspace);"


def _run(program: Path, directory: Path, name: str, timeout: float) -> None:
    done = run_command((str(program),), timeout=timeout, directory=directory, environment=OPTIONS)
    if done.status != 0:
        raise MorelloError(
            f"'{name}' failed under the sanitizers\n{done.report(REPORT_LINES)}",
            help="a kernel or the emitter reads or writes where it must not",
        )


def _split(signature: Signature, inputs: Sequence[bytes], results: Array) -> tuple[Array, ...]:
    """The outputs among the bytes of all arguments."""
    unread = list(inputs)
    outputs = []
    start = 0
    for argument in signature.arguments:
        memory = results[start : start + argument.bytes]
        start += argument.bytes
        if argument.role == "output":
            outputs.append(view_of(argument, memory.copy()))  # aligned, after inputs of any length
        elif memory.tobytes() != unread.pop(0):
            raise MorelloError(
                f"'{signature.name}' wrote to its input '{argument.name}'",
                help="a kernel or the emitter writes where it must not",
            )
    return tuple(outputs)
