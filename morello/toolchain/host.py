"""What machine this is: which instructions it has, its clock if fixed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from morello.errors import MorelloError
from morello.resources import features
from morello.toolchain.compilers import Compiler, find_compiler, try_program

CPU_FREQUENCIES = Path("/sys/devices/system/cpu")
"""Holds for every core the limits of its clock, in kHz, where the system governs it."""


def host_lacks(flags: Sequence[str], compiler: Compiler | None = None) -> list[str]:
    """Those of the flags ``-mFEATURE`` whose feature this processor lacks.

    What the operating system lists is taken as present. The compiler is asked about the rest
    (``__builtin_cpu_supports``, in a small program that is built and run); flags that it does not
    know as features of a processor, such as ``-mtune=native``, are nobody's lack.

    Args:
        flags: Flags of a compiler.
        compiler: Whom to ask; none finds one, only when it is needed.
    """
    listed = {_plain(name) for name in features()}
    wanted = [f for f in flags if re.fullmatch(r"-m[\w.-]+", f) and not f.startswith("-mno-")]
    unknown = [f for f in wanted if _plain(f[2:]) not in listed]
    if not unknown:
        return []
    asked = compiler or find_compiler()
    return [f for f in unknown if _answer(asked, f[2:]) == "lacks"]


def require_host(flags: Sequence[str], what: str, compiler: Compiler | None = None) -> None:
    """Demand that this processor can run what was built with these flags.

    Raises:
        MorelloError: It cannot; ``what`` names the thing in the message.
    """
    lacking = host_lacks(flags, compiler)
    if lacking:
        raise MorelloError(
            f"{what} cannot run on this machine: its processor lacks "
            + ", ".join(f[2:] for f in lacking),
            help="compile for a target with fewer features",
        )


def fixed_clock() -> float | None:
    """Hertz of all cores, where they are known not to change: their limits are one value."""
    files = CPU_FREQUENCIES.glob("cpu[0-9]*/cpufreq/scaling_m[ia][nx]_freq")
    try:
        limits = {int(file.read_text()) for file in files}
    except (OSError, ValueError):
        return None
    return limits.pop() * 1e3 if len(limits) == 1 else None


def _plain(feature: str) -> str:
    """A feature's name as compilers and operating systems both spell it."""
    return re.sub(r"[^a-z0-9]", "", feature.lower())


def _answer(compiler: Compiler, feature: str) -> str:
    """``has``, ``lacks``, or ``unknown`` where the compiler does not know the feature."""
    program = (
        "#include <stdio.h>\n"
        "int main(void) {\n"
        "  __builtin_cpu_init();\n"
        f'  puts(__builtin_cpu_supports("{feature}") ? "has" : "lacks");\n'
        "  return 0;\n"
        "}\n"
    )
    done = try_program(compiler, program, ["-Werror"])  # some only warn of unknown features
    return "unknown" if done is None else done.output.strip()
