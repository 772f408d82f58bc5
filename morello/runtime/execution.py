"""Running what was compiled: from a kernel's C source to a loaded function, verified and timed.

Apart from `morello.compiler`, so that whoever only wants the C source imports no compiler driver.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from morello.ir.numeric import Array
from morello.ir.programs.emitted import CSource
from morello.reference.inputs import make_all
from morello.runtime.driver import repeat_driver
from morello.runtime.library import CompiledFunction, load
from morello.runtime.signature import Signature, allocate
from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler


def build_function(source: CSource, signature: Signature) -> CompiledFunction:
    """Build and load the function of a C source.

    Raises:
        MorelloError: There is no C compiler, it fails, or this machine lacks instructions.
    """
    compiler = find_compiler()
    files = {
        f"{source.name}.c": source.source,
        f"{source.name}.h": source.header,
        f"{source.name}_repeat.c": repeat_driver(signature, f"{source.name}.h"),
    }
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        library = build(files, compiler, source.flags, Path(directory, f"{source.name}.so"))
        return load(library, signature, flags=source.flags, compiler=compiler)


def random_arguments(signature: Signature) -> list[Array]:
    """Arrays for all arguments of a function: random inputs, and outputs."""
    arguments = [(a.shape, a.dtype) for a in signature.inputs]
    arrays = make_all("random", arguments, 0)
    packed = [a.pack(v) for a, v in zip(signature.inputs, arrays, strict=True)]
    return [*packed, *(allocate(a) for a in signature.outputs)]
