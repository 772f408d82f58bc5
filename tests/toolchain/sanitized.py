"""C of this package, built with sanitizers, in a process that they watch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from morello.toolchain.build import build
from morello.toolchain.compilers import find_compiler
from morello.toolchain.machine import Machine
from morello.toolchain.sanitizers import supports_sanitizers

PROJECT = Path(__file__).resolve().parents[2]


def run_sanitized(source: Path, script: str, directory: Path) -> None:
    """Run a Python script that is given the path of a shared library, and prints "done".

    Args:
        source: The C file.
        script: Its text.
        directory: Where the library is built.
    """
    compiler = find_compiler()
    if compiler.kind != "gcc" or not supports_sanitizers(Machine(compiler)):
        pytest.skip("needs gcc's sanitizers")
    output = directory / f"{source.stem}.so"
    library = build({source.name: source.read_text()}, compiler, (), output, sanitize=True)
    command = [*compiler.command, "-print-file-name=libasan.so"]
    asan = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    environment = {"LD_PRELOAD": asan, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONPATH": "."}
    done = subprocess.run(
        [sys.executable, "-c", script, str(library)],
        env=os.environ | environment,
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
