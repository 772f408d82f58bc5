"""Running what was compiled: from a kernel's C source to what can be verified and timed.

Apart from `morello.compiler`, so that whoever only wants the C source imports no compiler driver.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from morello.errors import UsageError
from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.reference.inputs import make_all
from morello.runtime.driver import repeat_driver
from morello.runtime.library import CompiledFunction, load
from morello.runtime.program import BuiltProgram
from morello.runtime.signature import Signature, allocate
from morello.toolchain.build import build
from morello.toolchain.machine import Machine

Executable = CompiledFunction | BuiltProgram
"""What runs a function: one of a library that was loaded, or a program of its own."""


def build_function(source: CSource, signature: Signature, machine: Machine) -> CompiledFunction:
    """Build and load the function of a C source.

    Raises:
        MorelloError: There is no C compiler, it fails, or this machine lacks instructions.
        UsageError: The function does not run in this process, but under a runner.
    """
    if not machine.is_here:
        raise UsageError(
            f"'{signature.name}' runs under {machine}, and cannot be called from Python",
            help="verify() and time() run it there",
        )
    machine.require(source.flags, source.features, f"'{signature.name}'")
    files = {
        f"{source.name}.c": source.source,
        f"{source.name}.h": source.header,
        f"{source.name}_repeat.c": repeat_driver(signature, f"{source.name}.h"),
    }
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        output = Path(directory, f"{source.name}.so")
        library = build(files, machine.compiler, source.flags, output)
        return load(library, signature)


def random_arguments(signature: Signature) -> list[Array]:
    """Arrays for all arguments of a function: random inputs, and outputs."""
    arguments = [(a.shape, a.dtype) for a in signature.inputs]
    arrays = make_all("random", arguments, 0)
    packed = [a.pack(v) for a, v in zip(signature.inputs, arrays, strict=True)]
    return [*packed, *(allocate(a) for a in signature.outputs)]
