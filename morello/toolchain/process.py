"""Runs one command with a time limit: compilers, and programs that they built."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from morello.errors import MorelloError


@dataclass(frozen=True, slots=True)
class Completed:
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
        """The command, how it ended, and the first lines of what it printed."""
        printed = self.output.strip().splitlines()
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
        directory: Where it runs; none is here.
        environment: Variables to set besides those of this process.

    Raises:
        MorelloError: It cannot be started, or takes too long.
    """
    variables = {**os.environ, "LC_ALL": "C", **(environment or {})}
    try:
        process = subprocess.Popen(
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
    with process:
        output = _wait(process, command, timeout)
    return Completed(tuple(command), process.returncode, output.decode(errors="replace"))


def _wait(process: subprocess.Popen[bytes], command: Sequence[str], timeout: float) -> bytes:
    try:
        return process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        raise MorelloError(
            f"'{shlex.join(command)}' did not end within {timeout:g} seconds",
            help="try another C compiler: set CC",
        ) from None
    finally:  # also when the user interrupts
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
