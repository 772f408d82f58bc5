"""Other machines that tests run compiled code on, where this one has what it takes."""

from __future__ import annotations

import platform
import shlex
import shutil
from pathlib import Path

import pytest

from morello.toolchain.machine import Machine

AARCH64 = Machine("aarch64-linux-gnu-gcc", "qemu-aarch64 -L /usr/aarch64-linux-gnu")
"""Another family of processors: what the packages that `.ci/run` installs build and run."""


def old_processor(model: str) -> Machine:
    """A processor of this machine's family, x86-64, as an emulator knows it."""
    return Machine(runner=f"qemu-x86_64 -cpu {model}")


def needed(machine: Machine) -> Machine:
    """The machine; the test is skipped where there is no compiler or no runner for it."""
    commands = [shlex.split(c)[0] for c in (machine.cc, machine.runner) if isinstance(c, str)]
    missing = [name for name in commands if shutil.which(name) is None]
    if machine is AARCH64 and not Path("/usr/aarch64-linux-gnu/include/stdio.h").exists():
        missing.append("the C library for aarch64")
    if machine.cc is None and platform.machine() != "x86_64":
        missing.append("an x86-64 processor's compiler")
    if missing:
        pytest.skip(f"{', '.join(missing)} is not there")
    return machine
