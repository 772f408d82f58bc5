"""Definitions that need no plugin: files that options name, and those that a project's table does.

The table stands in the nearest ``pyproject.toml`` that has it, in the current directory or above::

    [tool.morello]
    rules = ["rules/", "mine.mrules"]     # files, or directories of files
    kernels = ["kernels/fast.mtarget"]

Paths in it are relative to its directory. Texts are read here; they are checked with all others
(`morello.definitions`), which is also what makes them part of every fingerprint.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from morello.errors import MorelloError, UsageError
from morello.language.diagnostics import Collector, Diagnostic, DiagnosticsError, suggestion
from morello.language.load import load_source, source_from_bytes
from morello.language.source import Source, Span
from morello.plugins.resources import RULES_SUFFIX, TARGET_SUFFIX

FILE = "pyproject.toml"
TABLE = "tool.morello"
SUFFIXES: Mapping[str, str] = {"rules": RULES_SUFFIX, "kernels": TARGET_SUFFIX}
"""The kinds of files: keys of the table, which are the options' names too, and their suffixes."""

_HEADER = re.compile(r"^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*morello[ \t]*\]", re.MULTILINE)
_POSITION = re.compile(r" \(at line (\d+), column (\d+)\)$")


def named_sources(kind: str, paths: Sequence[str]) -> list[Source]:
    """The texts of files, and of the files in directories, that an option names.

    Args:
        kind: ``rules`` or ``kernels``.
        paths: As the user wrote them.

    Raises:
        UsageError: A file is of another kind.
        MorelloError: Nothing is there, or it cannot be read; see `morello.language.load`.
    """
    return [load_source(file) for path in paths for file in _files(kind, Path(path))]


def project_sources(directory: Path | None = None) -> list[Source]:
    """The texts that the table of a project names; none where there is no table.

    Args:
        directory: Where to look first, then above; by default the current directory.

    Raises:
        DiagnosticsError: Something is wrong with the table.
        MorelloError: A file that it names cannot be read.
    """
    try:
        start = Path.cwd() if directory is None else directory.resolve()
    except OSError:  # the current directory has been removed
        return []
    for parent in (start, *start.parents):
        found = _table(parent / FILE)
        if found is not None:
            return [load_source(_shown(path)) for path in _listed(found, parent)]
    return []


def _files(kind: str, path: Path) -> list[Path]:
    """A file itself, or the files in a directory, sorted by name."""
    suffix = SUFFIXES[kind]
    if os.path.isdir(path):  # False too where no path can be so long
        found = sorted(item for item in path.iterdir() if item.name.endswith(suffix))
        if not found:
            raise MorelloError(f"there is no {suffix} file in the directory '{path}'")
        return found
    if path.name.endswith(suffix):
        return [path]
    for other, its in SUFFIXES.items():
        if path.name.endswith(its):
            raise UsageError(f"'{path}' is no {suffix} file", help=f"it belongs to {other}")
    raise UsageError(f"'{path}' is no {suffix} file", help=f"names of {kind} end in {suffix}")


def _shown(path: Path) -> Path:
    """A path as diagnostics name it: from the current directory."""
    return Path(os.path.relpath(path))


# ------------------------------------------------------------------------- the table


class _Table(Struct, frozen=True):
    """The table's values and where they are; spans are found in the text, for TOML has none."""

    source: Source
    values: Mapping[str, object]

    def key(self, key: str) -> Span:
        start = self._start()
        found = re.compile(
            rf"(?:^|[{{,.])[ \t]*[\"']?(?P<key>{re.escape(key)})[\"']?[ \t]*=", re.MULTILINE
        ).search(self.source.text, start)
        return Span(self.source, *found.span("key")) if found else Span(self.source, start, start)

    def entry(self, key: str, text: str) -> Span:
        place = self.key(key)
        start = self.source.text.find(text, place.end)
        return Span(self.source, start, start + len(text)) if text and start >= 0 else place

    def _start(self) -> int:
        found = _HEADER.search(self.source.text)
        return found.end() if found else max(0, self.source.text.find("morello"))


def _table(file: Path) -> _Table | None:
    """The table of a file, if it has one."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    if b"morello" not in data:  # nothing of ours, sound or not
        return None
    source = source_from_bytes(data, str(_shown(file)), file)
    found = _parse(source).get("tool")
    values = found.get("morello") if isinstance(found, dict) else None
    if values is None:
        return None
    table = _Table(source, values if isinstance(values, dict) else {})
    if not isinstance(values, dict):
        raise DiagnosticsError([_wrong_kind(table.key("morello"), "morello", "a table")])
    return table


def _parse(source: Source) -> dict[str, object]:
    import tomllib  # noqa: PLC0415  # few commands run where there is a table

    try:
        return tomllib.loads(source.text)
    except (ValueError, RecursionError) as error:  # also of huge numbers, and of deep nesting
        raise DiagnosticsError([_not_toml(source, str(error))]) from error


def _not_toml(source: Source, message: str) -> Diagnostic:
    found = _POSITION.search(message)
    line, column = map(int, found.groups()) if found else (len(source.line_starts), 1)
    offset = min(source.line_starts[line - 1] + column - 1, len(source.text))
    place = Span(source, offset, offset + 1)
    reason = _POSITION.sub("", message)
    return Diagnostic("P010", "this is not TOML", place, f"{reason[:1].lower()}{reason[1:]}")


def _listed(table: _Table, directory: Path) -> list[Path]:
    """All files that a table names."""
    collector = Collector()
    found: list[Path] = []
    for key, value in table.values.items():
        if key not in SUFFIXES:
            message = f"[{TABLE}] has no '{key}'"
            collector.error("P011", message, table.key(key), help=suggestion(key, SUFFIXES))
        elif not isinstance(value, list):
            collector.diagnostics.append(_wrong_kind(table.key(key), key, "a list of paths"))
        else:
            found += _entries(table, key, value, directory, collector)
    collector.raise_if_any()
    return found


def _wrong_kind(place: Span, key: str, expected: str) -> Diagnostic:
    return Diagnostic("P012", f"'{key}' is not {expected}", place, f"expected {expected}")


def _entries(
    table: _Table, key: str, entries: Sequence[object], directory: Path, collector: Collector
) -> Iterator[Path]:
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, str) or not entry:
            message = f"entry {number} of '{key}' is no path"
            collector.error("P013", message, table.key(key), help="write paths between quotes")
            continue
        try:
            path = directory / entry
            if not os.path.exists(path):  # where no path can be so long, too
                raise MorelloError(f"there is no file or directory '{entry}'")
            yield from _files(key, path)
        except MorelloError as error:
            message = str(error).replace(str(directory / entry), entry)
            collector.error("P014", message, table.entry(key, entry), help=error.help)
