"""What this process may use of the machine: its processor, cores, memory, and files of the user.

Memory is what is left to the machine, or to the control group that this process is in, read from
where Linux says it; elsewhere nothing is known. It is read once a search, before the large arrays
are made, so that a search that does not fit is made smaller and not killed.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from platformdirs import user_data_path

from morello.errors import UsageError

OFF = "off"
"""What a variable of the environment says in the place of a file: none."""

DEFAULT_BYTES = 4 << 30
"""Memory that a search may take where it is not known how much there is."""

MEMORY_SHARE = 0.75
"""Of what is left, what a search may take: other programs want some too."""


def path_in(variable: str) -> Path | None:
    """The path that an environment variable names, if it is set; ``~`` is a home directory.

    Raises:
        UsageError: There is no such home directory.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    try:
        return Path(named).expanduser()
    except RuntimeError:
        raise UsageError(
            f"{variable} is '{named}', and there is no home directory of that name",
            help="write the directory out",
        ) from None


def own_file(variable: str, *place: str) -> Path | None:
    """A file of the user's own, whether it exists or not; none if there is to be none.

    Args:
        variable: Of the environment: names another file, or is ``off``.
        place: Its directories and its name, in the user's directory of data.

    Raises:
        UsageError: As `path_in`.
    """
    if os.environ.get(variable) == OFF:
        return None
    return path_in(variable) or user_data_path("morello", appauthor=False).joinpath(*place)


def file_word(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"\W+", "-", text).strip("-").lower()


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file, in directories that are made: it is whole, or as it was.

    Raises:
        OSError: It cannot be written.
    """
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(contents)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # most often it is in its place by now
            temporary.unlink()


def processor(root: Path = Path("/")) -> str | None:
    """The processor's name, or on ARM the numbers of its maker and model, if the system tells."""
    told = _first_processor(root)
    numbers = [f"{name} {told[name]}" for name in ("CPU implementer", "CPU part") if name in told]
    return told.get("model name") or ", ".join(numbers) or None


def processor_model(root: Path = Path("/")) -> str:
    """The processor's design, which processors of many names have, or that the system is silent."""
    told = _first_processor(root)
    names = ("vendor_id", "cpu family", "model", "CPU implementer", "CPU part")
    found = [f"{name.removeprefix('cpu ')} {told[name]}" for name in names if name in told]
    return ", ".join(found).removeprefix("vendor_id ") or "unknown"


def _first_processor(root: Path) -> dict[str, str]:
    """What the system says of the first of its processors."""
    lines = _text(root / "proc/cpuinfo").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): value.strip() for name, _, value in reversed(list(pairs))}


def features(root: Path = Path("/")) -> frozenset[str]:
    """The processor's features as the operating system names them; empty if it tells none."""
    text = _text(root / "proc/cpuinfo")
    match = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(match[1].split()) if match else frozenset()


def available_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_budget(root: Path = Path("/")) -> int:
    """Bytes that a search may take.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    free = [f for f in (_machine(root), *_groups(root)) if f is not None]
    return int(max(0, min(free)) * MEMORY_SHARE) if free else DEFAULT_BYTES


def _machine(root: Path) -> int | None:
    """Memory that the kernel could give to new programs without swapping."""
    fields = _fields(root / "proc/meminfo")
    return fields["MemAvailable:"] << 10 if "MemAvailable:" in fields else None


def _groups(root: Path) -> Iterator[int | None]:
    """What is left in each control group, of either version, from the process's own upwards."""
    lines = _text(root / "proc/self/cgroup").splitlines()
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _up(root / "sys/fs/cgroup", path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            yield from _up(root / "sys/fs/cgroup/memory", path, *names)


def _up(mount: Path, path: str, limit_file: str, usage_file: str) -> Iterator[int | None]:
    """A limit holds for all groups below it. In a container, only the root may be visible."""
    group = mount / path.strip("/")
    for directory in (group, *group.parents):
        yield _left(directory, limit_file, usage_file)
        if directory == mount:
            return


def _left(group: Path, limit_file: str, usage_file: str) -> int | None:
    limit, usage = _number(group / limit_file), _number(group / usage_file)
    if limit is None or usage is None:  # no limit is "max", or no file at all
        return None
    stat = _fields(group / "memory.stat")
    reclaimable = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    return limit - max(0, usage - reclaimable)


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _fields(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    parts = (line.split() for line in _text(path).splitlines())
    return {p[0]: int(p[1]) for p in parts if len(p) > 1 and p[1].isdecimal()}


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""
