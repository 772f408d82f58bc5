"""What the tests of the toolchain share: the machine's compiler, and false ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from morello.toolchain.compilers import Compiler, find_compiler


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    return find_compiler()


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a program that acts as a compiler: a shell script of that name."""

    def write(name: str, script: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    return write
