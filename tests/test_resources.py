"""How much memory is left, as Linux says it in its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.resources import (
    DEFAULT_BYTES,
    MEMORY_SHARE,
    available_cores,
    memory_budget,
    processor,
    processor_model,
    write_whole,
)

GIB = 1 << 30


def _write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_the_design_of_the_processor_is_told(tmp_path: Path) -> None:
    """Numbers of the first one; or that nothing is known."""
    assert processor_model(tmp_path) == "unknown"
    text = "vendor_id : Maker\ncpu family\t: 25\nmodel\t: 1\nmodel name : Some CPU\n\nmodel : 2\n"
    found = processor_model(_write(tmp_path, {"proc/cpuinfo": text}))
    assert found == "Maker, family 25, model 1"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert (path.read_bytes(), [*path.parent.iterdir()]) == (b"two", [path])
    with pytest.raises((FileExistsError, NotADirectoryError)):
        write_whole(path / "below", b"three")
    assert [*path.parent.iterdir()] == [path]


def test_the_processor_has_a_name_where_the_system_tells_it(tmp_path: Path) -> None:
    assert processor(tmp_path) is None
    text = "processor : 0\nmodel name\t: Some CPU, 3 GHz\nmodel name : another\n"
    assert processor(_write(tmp_path, {"proc/cpuinfo": text})) == "Some CPU, 3 GHz"
    arm = "processor : 0\nCPU implementer : 0x41\nCPU part\t: 0xd0c\n\nCPU part : 0xd4f\n"
    found = processor(_write(tmp_path, {"proc/cpuinfo": arm}))
    assert found == "CPU implementer 0x41, CPU part 0xd0c"


MEMINFO = {"proc/meminfo": f"MemTotal: {99 * GIB >> 10} kB\nMemAvailable: {8 * GIB >> 10} kB\n"}
V1, V2 = "sys/fs/cgroup/memory", "sys/fs/cgroup"

CASES = {
    "the machine only": ({}, 8 * GIB),
    "a group of version 2": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            f"{V2}/a/b/memory.max": f"{4 * GIB}\n",
            f"{V2}/a/b/memory.current": f"{GIB}\n",
        },
        3 * GIB,
    ),
    "a limit further up": (
        {
            "proc/self/cgroup": "0::/a/b\n",
            f"{V2}/a/b/memory.max": "max\n",
            f"{V2}/a/b/memory.current": f"{GIB}\n",
            f"{V2}/a/memory.max": f"{4 * GIB}\n",
            f"{V2}/a/memory.current": f"{2 * GIB}\n",
        },
        2 * GIB,
    ),
    "what was read from files can be given up": (
        {
            "proc/self/cgroup": "0::/\n",
            f"{V2}/memory.max": f"{4 * GIB}\n",
            f"{V2}/memory.current": f"{3 * GIB}\n",
            f"{V2}/memory.stat": f"anon 5\ninactive_file {2 * GIB}\n",
        },
        3 * GIB,
    ),
    "a group of version 1, of which only the root can be seen": (
        {
            "proc/self/cgroup": "4:cpu:/x\n3:memory:/outside/c\n0::/outside/c\n",
            f"{V1}/memory.limit_in_bytes": f"{2 * GIB}\n",
            f"{V1}/memory.usage_in_bytes": f"{GIB}\n",
        },
        GIB,
    ),
    "a limit that is exceeded": (
        {
            "proc/self/cgroup": "0::/\n",
            f"{V2}/memory.max": f"{GIB}\n",
            f"{V2}/memory.current": f"{2 * GIB}\n",
        },
        0,
    ),
    "a group without a limit": (
        {
            "proc/self/cgroup": "3:memory:/\n",
            f"{V1}/memory.limit_in_bytes": "9223372036854771712\n",
            f"{V1}/memory.usage_in_bytes": f"{GIB}\n",
        },
        8 * GIB,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_of_what_is_left(case: str, tmp_path: Path) -> None:
    files, left = CASES[case]
    assert int(left * MEMORY_SHARE) == memory_budget(_write(tmp_path, MEMINFO | files))


@pytest.mark.parametrize("files", [{}, {"proc/meminfo": "?", "proc/self/cgroup": "0::/\nnonsense"}])
def test_where_nothing_is_said_it_is_a_fixed_amount(files: dict[str, str], tmp_path: Path) -> None:
    assert DEFAULT_BYTES == memory_budget(_write(tmp_path, files))


def test_of_this_machine_something_is_left() -> None:
    assert memory_budget() > 0


def test_there_is_a_core() -> None:
    assert available_cores() >= 1
