"""Files in the user's cache directory that make the start quicker and may be lost at any time.

Bytes under a key; what they mean is for those who keep them: checked definitions, the tables of
parsers. Nothing here ever fails: where a file cannot be read, written or trusted, it is not there.

A file is trusted if it is a plain file that this user owns and nobody else may write, if it begins
with exactly the key that is asked for, and if the SHA-256 of the rest is the one that it states.
The key covers every source file of this package and the version of Python, so that no version ever
reads what another one wrote. Files appear whole, by a rename: processes may share the directory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import platformdirs
from msgspec import Struct

SWITCH = "MORELLO_CACHE"
"""The environment variable that switches all of this off, with the value ``off``."""

KEPT = 8
"""Files of one kind that stay by default: a few versions and sets of definitions in turn."""

PACKAGE = Path(__file__).parent.parent
"""Whose sources have to be the same."""

SUFFIX = ".bin"
ABANDONED = 3600 * 10**9
"""Nanoseconds after which a file that is half written is nobody's any more."""
_FORMAT = b"morello start-up 1\n"


class Entry(Struct, frozen=True):
    """A place for bytes; see `entry`. Without a path there is none, and everything is a miss."""

    kind: str
    key: bytes
    path: Path | None
    kept: int = KEPT

    def read(self) -> bytes | None:
        """What was written here, or none."""
        if self.path is None:
            return None
        try:
            return _payload(self.key, _trusted_bytes(self.path))
        except OSError:
            return None

    def write(self, payload: bytes) -> None:
        """Keep bytes here, and remove the oldest of the kind; where that fails, keep nothing."""
        if self.path is None:
            return
        with suppress(OSError):
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(self.path, b"".join((_FORMAT, self.key, _digest(payload), payload)))
            _prune(self.path.parent, self.kind, self.kept)


def entry(kind: str, *parts: str | bytes, kept: int = KEPT) -> Entry:
    """The entry of what follows from these parts, this version of the package and this Python.

    Args:
        kind: A word for what the bytes are; the files' names begin with it.
        parts: All that the bytes depend on, besides.
        kept: How many files of this kind stay when one is written, the newest.
    """
    nowhere = Entry(kind, b"", None)
    if os.environ.get(SWITCH) == "off" or not hasattr(os, "geteuid"):
        return nowhere
    directory = platformdirs.user_cache_path("morello", appauthor=False) / "startup"
    if not directory.is_absolute():  # a user without a home
        return nowhere
    try:
        key = _digest(_engine(), sys.version, *parts)
    except OSError:  # the package is no directory of files
        return nowhere
    return Entry(kind, key, directory / f"{kind}-{key.hex()[:32]}{SUFFIX}", kept)


def version_of(distribution: str) -> str:
    """The version of a package that is installed, as a part of a key."""
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return distribution


def _trusted_bytes(path: Path) -> bytes:
    """The contents, or none of them if somebody else may have written the file.

    Without following a link, and without waiting for the other end of a pipe.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or others_write:
            return b""
        return stream.read()


def _payload(key: bytes, contents: bytes) -> bytes | None:
    start = len(_FORMAT) + 2 * len(key)  # the format, the key, the digest
    payload = contents[start:]
    sound = contents[:start] == b"".join((_FORMAT, key, _digest(payload)))
    return payload if sound else None


def _write_whole(path: Path, contents: bytes) -> None:
    temporary = path.with_name(f".{path.stem}-{os.urandom(4).hex()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(contents)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _prune(directory: Path, kind: str, kept: int) -> None:
    """Remove all but the newest of a kind, and what a killed process left half written."""
    ages = {path: path.stat().st_mtime_ns for path in directory.glob(f"{kind}-*{SUFFIX}")}
    oldest_last = sorted(ages, key=lambda path: (ages[path], path.name), reverse=True)
    limit = max(ages.values()) - ABANDONED
    half_written = [p for p in directory.glob(f".{kind}-*") if p.stat().st_mtime_ns < limit]
    for path in (*oldest_last[kept:], *half_written):
        path.unlink(missing_ok=True)


def _digest(*parts: str | bytes) -> bytes:
    """SHA-256 of parts, each with its length, so that no two lists of parts are alike."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.digest()


@cache
def _engine() -> bytes:
    """A digest of the whole package's sources: their names and contents, a few milliseconds."""
    return _digest(*_sources(str(PACKAGE), ""))


def _sources(directory: str, name: str) -> Iterator[str | bytes]:
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda item: item.name)
    for item in entries:
        path = f"{name}/{item.name}"
        if item.is_dir():
            yield from _sources(item.path, path)
        elif item.name.endswith(".py"):
            with open(item.path, "rb", buffering=0) as stream:
                yield from (path, stream.readall())
