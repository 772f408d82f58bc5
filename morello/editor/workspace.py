"""The texts that an editor has open: their errors, and the names that they may use.

A file is checked with all that is installed, with what its project's table names, with what the
command's options name, and with the open files of definitions in its directory. The text in the
editor counts, not what is on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from morello.definitions import Definitions, check_edited, sources_in_force, spec_errors
from morello.definitions.check import parse_file
from morello.definitions.project_files import project_sources
from morello.editor.symbols import Symbol, language_symbols, symbols_of
from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError
from morello.language.grammars import KINDS, SUFFIXES, Kind
from morello.language.load import source_from_bytes
from morello.language.parse import parse_spec
from morello.language.source import Source, Span
from morello.plugins import DEFINITION_SUFFIXES, BrokenPlugin, PluginSet, load_plugins

WITHOUT_VALUE = "S004"
"""A parameter without a default: no error of a text, since its value is given with each compile."""

Findings = Mapping[Path, Sequence[Diagnostic]]
"""Errors by file. Files that were checked and have none are in it as well."""


def kind_of(path: Path) -> Kind | None:
    """The kind of a file, by its name."""
    return next((kind for kind in KINDS if path.name.endswith(SUFFIXES[kind])), None)


def source_of(path: Path, text: str) -> Source:
    """An open text, with lines that end in LF, whatever it holds."""
    return Source(str(path), text.replace("\r\n", "\n"), path)


class Workspace:
    """Open texts by path, and all that they may use.

    Args:
        named: Gives the files that options of the command name; asked at every check.
        plugins: What is installed; by default it is looked for when first needed.
    """

    def __init__(
        self, named: Callable[[], Sequence[Source]] = tuple, plugins: PluginSet | None = None
    ) -> None:
        self._named = named
        self._given = plugins
        self._texts: dict[Path, str] = {}
        self.broken: tuple[BrokenPlugin, ...] = ()
        """Plugins that were left out at the last check that came so far."""
        self._symbols: dict[str, tuple[str, tuple[Symbol, ...]]] = {}
        """Of each file: the text that was last looked at, and what it, or one before, declares."""

    @cached_property
    def plugins(self) -> PluginSet:
        """Everything that is installed."""
        return load_plugins() if self._given is None else self._given

    def update(self, path: Path, text: str) -> None:
        """A text was opened, or changed."""
        self._texts[path.resolve()] = text

    def close(self, path: Path) -> None:
        """A text was closed: what is on the disk counts again."""
        self._texts.pop(path.resolve(), None)

    def source(self, path: Path) -> Source:
        """An open text, also one that could not be read from a file."""
        return source_of(path, self._texts.get(path.resolve(), ""))

    # --------------------------------------------------------------------- errors

    def check(self, path: Path) -> Findings:
        """The errors of an open file, and of the files that it is checked with."""
        path = path.resolve()
        found: dict[Path, list[Diagnostic]] = {path: []}
        definitions = self._definitions(path, found)
        specs = [p for p in self.beside(path) if kind_of(p) == "mspec"]
        for file in specs if kind_of(path) != "mspec" else [path]:
            self._check_specs(file, definitions, found.setdefault(file, []))
        return {file: list(dict.fromkeys(every)) for file, every in found.items()}

    def _definitions(self, path: Path, found: dict[Path, list[Diagnostic]]) -> Definitions | None:
        """All that is in force for a file; none if there are errors in it."""
        sources: list[Source] = []
        for file in self._open_definitions(path):
            found.setdefault(file, [])
            with _Collect(path, found):
                sources.append(self._decoded(file))
        with _Collect(path, found):
            definitions = check_edited([*self._others(path), *sources], self.plugins)
            self.broken = definitions.broken
            _add(path, found, definitions.warnings)
            return definitions
        return None

    def _check_specs(
        self, path: Path, definitions: Definitions | None, found: list[Diagnostic]
    ) -> None:
        own: dict[Path, list[Diagnostic]] = {}
        with _Collect(path, own):
            file = parse_spec(self._decoded(path))
            if definitions is not None:
                errors = spec_errors(file, definitions, {})
                own.setdefault(path, []).extend(e for e in errors if e.code != WITHOUT_VALUE)
        found += [diagnostic for every in own.values() for diagnostic in every]

    def _decoded(self, path: Path) -> Source:
        return source_from_bytes(self._texts[path].encode("utf-8", "replace"), str(path), path)

    def beside(self, path: Path) -> list[Path]:
        """Open files in the directory of another, and it, if it is open."""
        return sorted(p for p in self._texts if p.parent == path.resolve().parent)

    def _open_definitions(self, path: Path) -> list[Path]:
        """Open files of definitions beside a file, with itself."""
        return [p for p in self.beside(path) if p.name.endswith(DEFINITION_SUFFIXES)]

    def _others(self, path: Path) -> list[Source]:
        """What the project and options name, without files that are open beside it.

        Raises:
            MorelloError: A file cannot be read, or the project's table is wrong.
        """
        sources = [*project_sources(path.parent), *self._named()]
        beside = set(self._open_definitions(path))
        found: list[Source] = []
        for source in sources:
            place = source.path.resolve() if source.path else None
            if place in beside:
                continue
            found.append(self._decoded(place) if place in self._texts and place else source)
        return found

    # --------------------------------------------------------------------- names

    def symbols(self, path: Path) -> list[Symbol]:
        """All names that a file may use; those that a text had before where it has errors."""
        path = path.resolve()
        found = list(language_symbols(self.plugins.emitters))
        for source in self._sources(path):
            found += self._symbols_of(source)
        return found

    def _sources(self, path: Path) -> Iterator[Source]:
        opened = [self.source(file) for file in self._open_definitions(path)]
        try:
            others = self._others(path)
        except MorelloError:  # it is among the errors of the file
            others = []
        try:
            yield from sources_in_force([*others, *opened], self.plugins)
        except MorelloError:
            yield from opened
        if kind_of(path) == "mspec":
            yield self.source(path)

    def _symbols_of(self, source: Source) -> tuple[Symbol, ...]:
        text, found = self._symbols.get(source.name, (None, ()))
        if text != source.text:
            try:
                spec = source.name.endswith(SUFFIXES["mspec"])
                tree = parse_spec(source) if spec else parse_file(source)
                found = tuple(symbols_of(tree))
            except MorelloError:  # it is among the errors of the file
                pass
            self._symbols[source.name] = source.text, found
        return found


class _Collect:
    """Keeps the error that a block ends with: in the file where it is, or where it was met."""

    def __init__(self, path: Path, found: dict[Path, list[Diagnostic]]) -> None:
        self.path = path
        self.found = found

    def __enter__(self) -> None:
        return None

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        match error:
            case DiagnosticsError():
                _add(self.path, self.found, error.diagnostics)
            case MorelloError():
                span = Span(Source(str(self.path), "", self.path), 0, 0)
                diagnostic = Diagnostic("", str(error), span, help=error.help)
                self.found.setdefault(self.path, []).append(diagnostic)
            case _:
                return error is None
        return True


def _add(
    path: Path, found: dict[Path, list[Diagnostic]], diagnostics: Iterable[Diagnostic]
) -> None:
    """Note each under the file that it is in; without a file, under the one that is checked."""
    for diagnostic in diagnostics:
        file = diagnostic.span.source.path
        found.setdefault(path if file is None else file.resolve(), []).append(diagnostic)
