"""Reading source files: bytes to a `Source`, or what is wrong with the text.

A byte order mark and lines that end in CR LF are tolerated; lines end in LF from here on.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError, suggestion
from morello.language.source import Source, Span


def load_source(path: Path | str) -> Source:
    """Read a file of definitions.

    Args:
        path: The file; diagnostics name it as it is written here.

    Raises:
        MorelloError: it is missing, no regular file, unreadable or binary.
        DiagnosticsError: it is not UTF-8, or declares nothing.
    """
    file = Path(path)
    return source_from_bytes(_read(file), str(file), file)


def source_from_bytes(data: bytes, name: str, path: Path | None = None) -> Source:
    """Decode a text that was read: from a file, a package's resource or the standard input.

    Args:
        data: All of it.
        name: What diagnostics call it.
        path: Where it is, if it is a file on disk.

    Raises:
        MorelloError: it is binary.
        DiagnosticsError: it is not UTF-8, or declares nothing.
    """
    zero = data.find(b"\0")
    if zero >= 0:
        raise MorelloError(
            f"'{name}' is not a text file: byte {zero} is zero",
            help="source files are text, encoded in UTF-8",
        )
    source = _decode(name, path, data.removeprefix(BOM_UTF8))
    if _declares_nothing(source.text):
        advice = "it has nothing but blank lines and comments: was it saved?"
        place = Span(source, 0, 0)
        raise DiagnosticsError(
            [Diagnostic("E002", "this file declares nothing", place, "", advice)]
        )
    return source


def _declares_nothing(text: str) -> bool:
    """Whether every line is blank or a comment."""
    return all(line.lstrip()[:1] in ("", "#") for line in text.split("\n"))


def _read(file: Path) -> bytes:
    try:
        _check_regular(file)
        return file.read_bytes()
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise MorelloError(
            f"cannot read '{file}': {reason}", help="check its name and its permissions"
        ) from error


def _check_regular(file: Path) -> None:
    if file.is_dir():
        raise MorelloError(f"'{file}' is a directory", help="name a file in it")
    if not file.exists():
        raise MorelloError(f"there is no file '{file}'", help=_similar(file))
    if not file.is_file():
        raise MorelloError(f"'{file}' is not a regular file", help="copy its contents to a file")


def _similar(file: Path) -> str:
    """Advice for a file that is missing: its neighbours of the same kind."""
    if not file.parent.is_dir():
        return f"there is no directory '{file.parent}' either"
    return suggestion(file.name, (p.name for p in file.parent.glob(f"*{file.suffix}")))


def _decode(name: str, path: Path | None, data: bytes) -> Source:
    try:
        return Source(name, data.decode("utf-8").replace("\r\n", "\n"), path)
    except UnicodeDecodeError as error:
        raise DiagnosticsError([_not_utf8(name, path, data, error.start)]) from error


def _not_utf8(name: str, path: Path | None, data: bytes, offset: int) -> Diagnostic:
    text = data.decode("utf-8", errors="replace")
    readable = "".join(c if c.isprintable() or c in "\r\n\t" else "\ufffd" for c in text)
    start = len(data[:offset].decode("utf-8"))
    span = Span(Source(name, readable, path), start, start + 1)
    message = f"this is not UTF-8: byte 0x{data[offset]:02X}"
    return Diagnostic("E001", message, span, help="save the file in the encoding UTF-8")
