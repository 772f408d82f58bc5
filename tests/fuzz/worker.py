"""Inputs read one after the other in a process of its own, within limits of time and memory."""

from __future__ import annotations

import json
import mmap
import os
import resource
import select
import shutil
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from morello.errors import InternalError, MorelloError

GIBIBYTE = 1 << 30
SLOWER_BY = 6
TURN = 500
"""Inputs that one process reads: what it keeps of them must not add up to a fault."""

READ, DIAGNOSTIC = "read", "diagnostic"
FAULTS = ("exception", "internal", "hang", "memory", "signal")

Read = Callable[[int, Path], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one input: seconds of a processor, and bytes beside what the process has at first.

    An input that waits is given `SLOWER_BY` times the seconds: other processes take their share.
    """

    seconds: float = 10.0
    memory: int = GIBIBYTE


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the reading of an input ended, where, and what was raised."""

    number: int
    kind: str
    place: str = ""
    text: str = ""


class _TooLongError(BaseException):
    """Nothing in the way catches it as an error of its own."""


def outcomes(numbers: range, read: Read, limits: Limits) -> Iterator[Outcome]:
    """Read every input; after a fault, and after a turn, in a new process."""
    at = numbers.start
    while at < numbers.stop:
        for outcome in _turn(range(at, min(at + TURN, numbers.stop)), read, limits):
            at = outcome.number + 1
            yield outcome


def _turn(numbers: range, read: Read, limits: Limits) -> Iterator[Outcome]:
    """Outcomes until the first fault, or all."""
    current = mmap.mmap(-1, 8)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _child(numbers, read, limits, current, writing)
    os.close(writing)
    last = numbers.start - 1
    with open(reading, "rb", buffering=0) as stream:
        for line in _lines(stream.fileno(), child, limits):
            outcome = Outcome(**json.loads(line))
            last = outcome.number
            yield outcome
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = max(last + 1, int.from_bytes(current[:], "little"))
        ended = os.WTERMSIG(status)
        kind = "hang" if ended == signal.SIGKILL else "signal"
        yield Outcome(number, kind, signal.Signals(ended).name)


def _lines(stream: int, child: int, limits: Limits) -> Iterator[bytes]:
    """Lines until the end; a process that says nothing for too long is killed.

    Its own alarm comes first, but code that is not Python's may not let it through.
    """
    rest = b""
    while True:
        if not select.select([stream], [], [], 2 * SLOWER_BY * limits.seconds + 5)[0]:
            os.kill(child, signal.SIGKILL)
        part = os.read(stream, 1 << 16)
        if not part:
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


# ------------------------------------------------------------------------- in the process


def _child(numbers: range, read: Read, limits: Limits, current: mmap.mmap, out: int) -> None:
    try:
        _bound_memory(limits.memory)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # whatever the process before it does
        for alarm in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(alarm, _too_long)
        with tempfile.TemporaryDirectory(prefix="fuzz-") as base:
            for number in numbers:
                current[:] = number.to_bytes(8, "little")
                directory = Path(base, "files")
                directory.mkdir()
                outcome = _outcome(number, read, directory, limits)
                shutil.rmtree(directory, ignore_errors=True)
                _write(out, outcome)
                if outcome["kind"] in FAULTS:
                    break
    finally:
        os._exit(0)


def _bound_memory(allowed: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + allowed
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _too_long(*_: object) -> None:
    raise _TooLongError


def _set_alarms(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, SLOWER_BY * seconds)


def _outcome(number: int, read: Read, directory: Path, limits: Limits) -> dict[str, Any]:
    kind, error = READ, None
    try:
        _set_alarms(limits.seconds)
        try:
            read(number, directory)
        finally:
            _set_alarms(0)
    except BaseException as raised:  # whatever it is, it is the outcome
        kind, error = _kind(raised), raised
    if error is None or kind == DIAGNOSTIC:
        return {"number": number, "kind": kind}
    text = "".join(traceback.format_exception(error))[-4000:]
    return {"number": number, "kind": kind, "place": _place(error), "text": text}


def _kind(error: BaseException) -> str:
    match error:
        case _TooLongError():
            return "hang"
        case MemoryError():
            return "memory"
        case InternalError():
            return "internal"
        case MorelloError():
            return DIAGNOSTIC
    return "exception"


def _place(error: BaseException) -> str:
    """The type, and the last line of the package that it passed."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/morello/" in f.filename]
    where = (
        f"{frames[-1].filename.rpartition('/morello/')[2]}:{frames[-1].lineno}" if frames else "?"
    )
    return f"{type(error).__name__} at {where}"


def _write(out: int, outcome: dict[str, Any]) -> None:
    line = json.dumps(outcome).encode() + b"\n"
    while line:
        line = line[os.write(out, line) :]
