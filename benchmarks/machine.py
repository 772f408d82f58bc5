"""On what something was measured: processor, caches, compiler, versions, commit."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from morello.toolchain.compilers import Compiler

PACKAGES = ("morello", "numpy", "torch")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def processor() -> str:
    """The processor's name, as the operating system says it."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:  # an operating system without it
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return match[1] if match else platform.machine()


def caches() -> dict[str, str]:
    """Size of each cache of the first core, such as ``{"L1 data": "32K"}``."""
    found = {}
    for index in sorted(CACHES.glob("index*")):
        level, kind, size = ((index / n).read_text().strip() for n in ("level", "type", "size"))
        found[f"L{level}" if kind == "Unified" else f"L{level} {kind.lower()}"] = size
    return found


def cache_bytes() -> int:
    """Bytes of the largest cache of the first core; 0 where the operating system does not tell."""
    units = {"K": 2**10, "M": 2**20}
    return max((int(size[:-1]) * units[size[-1]] for size in caches().values()), default=0)


def versions() -> dict[str, str]:
    """Versions of what takes part; what is not installed is left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str | None:
    """The commit that is checked out, with ``+`` where files differ from it."""
    try:
        head = git("rev-parse", "--short=12", "HEAD")
        return head + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):  # no git, or no repository
        return None


def git(*arguments: str) -> str:
    """What git prints, asked in this project.

    Raises:
        OSError: There is no git.
        subprocess.CalledProcessError: It refuses.
    """
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def pin(cores: int) -> list[int]:
    """Keep this process on its last cores, which the operating system uses least.

    Returns:
        The cores; none where the operating system cannot do that.
    """
    if not hasattr(os, "sched_setaffinity"):
        return []
    allowed: Collection[int] = os.sched_getaffinity(0)
    chosen = sorted(allowed)[-cores:]
    os.sched_setaffinity(0, chosen)
    return chosen


@contextmanager
def pinned(cores: int) -> Iterator[None]:
    """As `pin`, for this process and those that it starts, for a while."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    pin(cores)
    try:
        yield
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


def save(document: dict[str, Any], path: Path) -> None:
    """Write a record as JSON."""
    path.write_text(json.dumps(document, indent=2) + "\n")


def environment(compiler: Compiler | None = None) -> dict[str, Any]:
    """All of it, for a report."""
    found: dict[str, Any] = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "caches": caches(),
        "system": f"{platform.system()} {platform.release()}",
        "versions": versions(),
        "commit": commit(),
    }
    if compiler is not None:
        found["compiler"] = compiler.version
        found["command"] = shlex.join(Path(part).name for part in compiler.command)
    return found
