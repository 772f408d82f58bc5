"""Runs one command with a time limit: compilers, and programs that they built."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from morello.errors import MorelloError

ERROR = "error: "
"""What compilers write before an error's message."""


class Completed(Struct, frozen=True):
    """A command that ended. ``output`` is what it printed, on both streams.

    ``status`` is its exit status; that of a command killed by signal n is -n.
    """

    command: tuple[str, ...]
    status: int
    output: str

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.status >= 0:
            return f"exit status {self.status}"
        try:
            return f"killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"killed by signal {-self.status}"

    def report(self, lines: int) -> str:
        """The command, how it ended, and the first lines of what it printed.

        Where a compiler's first error is not among these, they begin with it.
        """
        printed = self.output.strip().splitlines()
        first = next((i for i, line in enumerate(printed) if ERROR in line), 0)
        printed = printed[first if first >= lines else 0 :]
        shown = [f"  | {line}" for line in printed[:lines]]
        if len(printed) > lines:
            shown.append(f"  | ... {len(printed) - lines} more lines")
        return "\n".join([f"  $ {shlex.join(self.command)}", f"  {self.ending}", *shown])


def run_command(
    command: Sequence[str],
    *,
    timeout: float,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Completed:
    """Run a command to its end; what it prints is captured, in plain English.

    Args:
        command: Program and arguments.
        timeout: Seconds after which it is killed with all that it started.
        directory: Where it runs, and has its temporary files; none is here.
        environment: Variables to set besides those of this process.

    Raises:
        MorelloError: It cannot be started, or takes too long.
    """
    own = {} if directory is None else {"TMPDIR": str(directory)}
    variables = {**os.environ, "LC_ALL": "C", **own, **(environment or {})}
    process: subprocess.Popen[bytes] | None = None
    try:
        with _signals_held():
            process = _start(command, directory, variables)
        output = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        raise MorelloError(
            f"'{shlex.join(command)}' did not end within {timeout:g} seconds",
            help="a compiler or a program may hang: try another C compiler (CC), or smaller sizes",
        ) from None
    finally:  # also when the user interrupts
        if process is not None:
            _stop(process)
    return Completed(tuple(command), process.returncode, output.decode(errors="replace"))


def _start(
    command: Sequence[str], directory: Path | None, variables: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that it can be killed with its children
        )
    except OSError as error:
        raise MorelloError(
            f"cannot run '{command[0]}': {error.strerror}",
            help="check that it is a program for this machine",
        ) from error


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill it with all that it started, unless it has ended."""
    if process.returncode is None:  # nobody else can have its number yet
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@contextmanager
def _signals_held() -> Iterator[None]:
    """What would interrupt this thread comes after the block: it has the new process then."""
    pending: list[int] = []
    held: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(ending)
            if callable(handler):
                held[ending] = handler
                signal.signal(ending, lambda caught, _frame: pending.append(caught))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for number in pending:
            signal.raise_signal(number)
