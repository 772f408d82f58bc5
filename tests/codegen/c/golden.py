"""The text of one small program, kept in ``golden/``.

``python -m tests.codegen.c.golden`` writes the files again.
"""

from __future__ import annotations

import re
from pathlib import Path

from morello.codegen.c.emitter import CEmitter
from morello.ir.programs.emitted import CSource, EmitOptions
from morello.records import replace

from .definitions import targets
from .programs import tiled_matmul

DIRECTORY = Path(__file__).parent / "golden"


def code() -> CSource:
    """A register tile for AVX-512, with a masked tail, annotated.

    Lines of the kernels' declarations are left out: they move whenever the files are edited.
    """
    made = tiled_matmul(targets()["x86.avx512"], (3, 4, 20), 2)
    written = CEmitter().emit(made, EmitOptions(annotate=True))
    return replace(written, source=re.sub(r"(\.mtarget):\d+", r"\1", written.source))


def main() -> None:
    """Write the golden files."""
    DIRECTORY.mkdir(exist_ok=True)
    (DIRECTORY / "tiled.c").write_text(code().source)
    (DIRECTORY / "tiled.h").write_text(code().header)


if __name__ == "__main__":
    main()
