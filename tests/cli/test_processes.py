"""The command as users run it: a process of its own, with pipes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MORELLO = [sys.executable, "-m", "morello"]
SECONDS = 120

INTERRUPTED = """
import os, signal
from morello.cli import request
from morello.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
request.load_definitions = lambda files, **_: os.kill(os.getpid(), signal.SIGINT)
main(["rules"], prog_name="morello")
"""

INTERRUPTED_IMPORT = """
import importlib.abc, os, signal, sys
signal.signal(signal.SIGINT, signal.{handler})
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{module}":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
sys.argv = ["morello", "compile", "--help"]
from morello.__main__ import main
main()
"""


def _run(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MORELLO, *arguments],
        cwd=cwd,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    """The name in its messages is that of the command."""
    finished = _run("--help", cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("Usage: morello [OPTIONS] COMMAND")


def test_it_compiles_from_an_empty_directory(tmp_path: Path, small_spec: Path) -> None:
    """One command, two files, and nothing on the standard error."""
    finished = _run("compile", small_spec.name, "--json", cwd=tmp_path)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert json.loads(finished.stdout)["files"] == ["product.c", "product.h"]
    assert sorted(p.name for p in tmp_path.glob("*.[ch]")) == ["product.c", "product.h"]


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """``morello rules | head -1`` ends without a traceback."""
    command = " ".join(f"'{word}'" for word in (*MORELLO, "kernels", "--json"))
    finished = subprocess.run(
        ["sh", "-c", f"{command} | head -c 1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (finished.stdout, finished.stderr) == ("{", "")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_output_that_is_full_is_an_error(options: tuple[str, ...], tmp_path: Path) -> None:
    """One line and status 1, even where the error itself would be printed there."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        finished = subprocess.run(
            [*MORELLO, "targets", *options],
            cwd=tmp_path,
            env=buffered,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert finished.returncode == 1
    assert finished.stderr.startswith("error: no space left on device\n")
    assert "Traceback" not in finished.stderr
    assert "ignored" not in finished.stderr


def test_a_standard_input_that_is_closed_is_an_error(tmp_path: Path) -> None:
    """Python has no stream for it at all."""
    command = " ".join(f"'{word}'" for word in (*MORELLO, "compile", "-"))
    finished = subprocess.run(
        ["sh", "-c", f"{command} <&-"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("error: the standard input is closed\n")


def test_an_interrupt_ends_it_with_status_130(tmp_path: Path) -> None:
    """A real signal, sent by the process to itself where it would be loading definitions."""
    finished = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (130, "")
    assert finished.stderr.strip() == "interrupted"


def _interrupted_import(module: str, handler: str) -> subprocess.CompletedProcess[str]:
    program = INTERRUPTED_IMPORT.format(module=module, handler=handler)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("module", ["click", "morello.cli.compile", "numpy", "numpy._core.umath"])
def test_an_interrupt_while_it_starts_is_one_line(module: str) -> None:
    """Whatever is being imported, and whatever that makes of exceptions."""
    finished = _interrupted_import(module, "default_int_handler")
    assert (finished.returncode, finished.stdout, finished.stderr) == (130, "", "interrupted\n")


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    """As ``nohup`` and shells have it for what runs in the background."""
    finished = _interrupted_import("numpy", "SIG_IGN")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith("Usage: morello compile")


SLOW_COMPILER = """#!/bin/sh
case "$*" in *--version*) echo 'gcc, Free Software Foundation'; exit 0;; esac
sleep 300 &
mktemp > /dev/null
echo $$ $! > {pids}.new && mv {pids}.new {pids}
wait
"""

SIGNALLED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests run
sys.argv = ["morello", *sys.argv[1:]]
from morello.__main__ import main
main()
"""


def _numbers(path: Path) -> list[int]:
    """What the slow compiler writes, once it has."""
    end = time.monotonic() + SECONDS
    while not path.exists():
        assert time.monotonic() < end, "the compiler was never called"
        time.sleep(0.05)
    return [int(word) for word in path.read_text().split()]


def _is_running(process: int) -> bool:
    """Whether there is such a process, but for one that has ended and is not waited for."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "terminated"),
        (signal.SIGINT, 130, "interrupted"),
    ],
)
@pytest.mark.parametrize("arguments", [["compile", "--verify"], ["bench"]], ids=lambda a: a[0])
def test_a_signal_leaves_no_file_and_no_process(
    arguments: list[str],
    number: signal.Signals,
    status: int,
    message: str,
    tmp_path: Path,
    quick_spec: Path,
) -> None:
    """While a C compiler runs that has a process and a temporary file of its own."""
    compiler, pids, scratch = tmp_path / "slow", tmp_path / "pids", tmp_path / "scratch"
    compiler.write_text(SLOW_COMPILER.format(pids=pids))
    compiler.chmod(0o755)
    scratch.mkdir()
    command = subprocess.Popen(
        [sys.executable, "-c", SIGNALLED, *arguments, quick_spec.name, "--no-memo"],
        cwd=tmp_path,
        env={**os.environ, "CC": str(compiler), "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started = _numbers(pids)
    assert all(map(_is_running, started))
    assert len(list(scratch.glob("**/tmp.*"))) == 1
    command.send_signal(number)
    printed, said = command.communicate(timeout=SECONDS)
    assert (command.returncode, printed, said) == (status, "", f"{message}\n")
    assert [] == list(scratch.iterdir())
    assert [] == [process for process in started if _is_running(process)]
    assert {"slow", "pids", "scratch", quick_spec.name} == {p.name for p in tmp_path.iterdir()}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["--frob"]])
def test_what_needs_no_compiler_imports_little(arguments: list[str]) -> None:
    """Help is there at once."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(sorted({'numpy', 'lark', 'rich'} & set(sys.modules))))\n"
        f"sys.argv = ['morello', *{arguments!r}]\n"
        "from morello.__main__ import main\n"
        "main()\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert finished.stdout.splitlines()[-1] == "[]"


def test_what_the_memo_answers_imports_what_it_needs(small_spec: Path) -> None:
    """Neither what searches in depth, runs or ranks programs, nor what draws tables."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        f"sys.argv = ['morello', 'compile', {small_spec.name!r}, '--force']\n"
        "from morello.__main__ import main\n"
        "main()\n"
    )
    unneeded = {
        "asyncio",
        "http",
        "numpy.fft",
        "numpy.ma",
        "numpy.polynomial",
        "numpy.random",
        "rich",
        "unittest",
        "morello.editor",
        "morello.learning",
        "morello.networks",
        "morello.ranking",
        "morello.reference",
        "morello.runtime.autotune",
        "morello.runtime.execution",
        "morello.verify",
    }
    for _ in range(2):  # the first fills the memo
        finished = subprocess.run(
            [sys.executable, "-c", program],
            cwd=small_spec.parent,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
    assert "recalled from the memo" in finished.stdout
    assert unneeded.isdisjoint(finished.stdout.splitlines()[-1].split())


def test_a_hash_seed_changes_nothing(tmp_path: Path, small_spec: Path) -> None:
    """Sets and dictionaries of the search never decide anything."""
    sources = set()
    for seed in ("0", "1", "20"):
        finished = _run("compile", small_spec.name, cwd=tmp_path, PYTHONHASHSEED=seed)
        assert finished.returncode == 0, finished.stderr
        sources.add((tmp_path / "product.c").read_text())
    assert len(sources) == 1
