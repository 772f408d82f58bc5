"""The Language Server Protocol: what editors send and get. The one module that imports pygls.

Everything that is asked is answered by the modules beside it; here are only requests, positions in
the editor's units, and URIs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec

from morello.editor.answers import Suggestion, complete, definitions, hover
from morello.editor.workspace import Findings, Workspace, kind_of
from morello.language.diagnostics import Diagnostic
from morello.language.grammars import Kind
from morello.language.source import Source, Span

PAUSE = 0.25
"""Seconds without a change after which a text is checked."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}

_KINDS = {
    "keyword": types.CompletionItemKind.Keyword,
    "operator": types.CompletionItemKind.Operator,
    "function": types.CompletionItemKind.Function,
    "query": types.CompletionItemKind.Function,
    "variable": types.CompletionItemKind.Variable,
    "attribute": types.CompletionItemKind.Field,
    "target": types.CompletionItemKind.Module,
    "dtype": types.CompletionItemKind.TypeParameter,
    "coefficient": types.CompletionItemKind.Constant,
    "level": types.CompletionItemKind.EnumMember,
    "entry": types.CompletionItemKind.Property,
}


class MorelloServer(LanguageServer):
    """One editor's server, with the texts that it has open."""

    def __init__(self, named: Callable[[], Sequence[Source]] = tuple) -> None:
        super().__init__("morello", version("morello"))
        self.texts = Workspace(named)
        self.changes: dict[str, int] = {}
        self.warned: set[str] = set()
        self.published: dict[Path, set[Path]] = {}
        """By the file that was checked, the files of which errors were shown then."""

    def check(self, uri: str) -> None:
        """Check a file, and show the errors of all files that it was checked with."""
        path = path_of(uri)
        if path is not None:
            self.check_file(path)

    def check_file(self, path: Path) -> None:
        """The same of a file by its path."""
        try:
            found = self.texts.check(path)
        except Exception:  # whatever a text that is half written does: the server goes on
            logging.getLogger(__name__).exception("the check of %s failed", path)
            return
        self.publish(path, found)
        self.warn()

    def warn(self) -> None:
        """Show once which plugins are left out: what they declare is unknown."""
        for text in map(str, self.texts.broken):
            if text not in self.warned:
                self.warned.add(text)
                warning = types.ShowMessageParams(types.MessageType.Warning, text)
                self.window_show_message(warning)

    def publish(self, path: Path, found: Findings) -> None:
        """Show errors, and take back those of files that have none any more."""
        gone = self.published.get(path, set()) - set(found)
        self.published[path] = {file for file, errors in found.items() if errors}
        for file, errors in {**dict.fromkeys(gone, ()), **found}.items():
            uri = from_fs_path(str(file))
            if uri is not None:
                shown = [self.diagnostic(error) for error in errors]
                parameters = types.PublishDiagnosticsParams(uri, shown)
                self.text_document_publish_diagnostics(parameters)

    def diagnostic(self, error: Diagnostic) -> types.Diagnostic:
        """An error, with its label and its advice."""
        parts = (error.message, error.label and f"here: {error.label}", error.help)
        first, label, advice = parts
        text = first + (f"\n{label}" if label else "") + (f"\nhelp: {advice}" if advice else "")
        severity = _SEVERITIES[error.severity]
        code = error.code or None
        return types.Diagnostic(self.range(error.span), text, severity, code, source="morello")

    # --------------------------------------------------------------------- positions

    def codec(self) -> PositionCodec:
        """Between characters and the units that the editor counts."""
        return self.workspace.position_codec

    def range(self, span: Span) -> types.Range:
        """The editor's range of a span."""
        lines = span.source.text.split("\n")
        ends = (span.source.position(offset) for offset in (span.start, span.end))
        start, end = (types.Position(line - 1, column - 1) for line, column in ends)
        return self.codec().range_to_client_units(lines, types.Range(start, end))

    def offset(self, source: Source, position: types.Position) -> int:
        """The character that an editor's position is before; the end for one after the end."""
        starts = source.line_starts
        if position.line >= len(starts):
            return len(source.text)
        line = source.line(position.line + 1)
        at = self.codec().position_from_client_units([line], types.Position(0, position.character))
        return starts[position.line] + min(at.character, len(line))

    def asked(self, uri: str, position: types.Position) -> Iterator[tuple[Path, Source, Kind, int]]:
        """The file that a request is about and the place in it, if it is one of ours."""
        path = path_of(uri)
        kind = None if path is None else kind_of(path)
        if path is not None and kind is not None:
            source = self.texts.source(path)
            yield path, source, kind, self.offset(source, position)


def path_of(uri: str) -> Path | None:
    """The file of a URI, if it is one of the three kinds."""
    name = to_fs_path(uri)
    if not name:
        return None
    path = Path(name).resolve()
    return None if kind_of(path) is None else path


def serve(named: Callable[[], Sequence[Source]] = tuple) -> None:
    """Serve one editor on the standard input and output, until it ends."""
    make(named).start_io()


def make(named: Callable[[], Sequence[Source]] = tuple) -> MorelloServer:
    """A server with everything that it answers."""
    server = MorelloServer(named)
    _follow_texts(server)
    _answer(server)
    return server


def _follow_texts(server: MorelloServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        _update(server, parameters.text_document.uri)
        server.check(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        _update(server, uri)
        number = server.changes[uri] = server.changes.get(uri, 0) + 1
        await asyncio.sleep(PAUSE)
        if server.changes.get(uri) == number:
            server.check(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(parameters: types.DidSaveTextDocumentParams) -> None:
        server.check(parameters.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        server.changes.pop(uri, None)
        path = path_of(uri)
        if path is not None:
            server.texts.close(path)
            server.publish(path, {path: []})
            for beside in server.texts.beside(path):  # what it declared may be gone
                server.check_file(beside)


def _update(server: MorelloServer, uri: str) -> None:
    path = path_of(uri)
    if path is not None:
        server.texts.update(path, server.workspace.get_text_document(uri).source)


def _answer(server: MorelloServer) -> None:
    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["."])
    )
    def completion(parameters: types.CompletionParams) -> list[types.CompletionItem]:
        found: list[types.CompletionItem] = []
        for path, source, kind, offset in server.asked(
            parameters.text_document.uri, parameters.position
        ):
            suggestions = complete(source, kind, offset, server.texts.symbols(path))
            found += [_item(server, suggestion) for suggestion in suggestions]
        return found

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(parameters: types.HoverParams) -> types.Hover | None:
        for path, source, kind, offset in server.asked(
            parameters.text_document.uri, parameters.position
        ):
            known = hover(source, kind, offset, server.texts.symbols(path))
            if known is not None:
                content = types.MarkupContent(types.MarkupKind.Markdown, known.text)
                return types.Hover(content, server.range(known.span))
        return None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(parameters: types.DefinitionParams) -> list[types.Location]:
        spans: list[Span] = []
        for path, source, kind, offset in server.asked(
            parameters.text_document.uri, parameters.position
        ):
            spans += definitions(source, kind, offset, server.texts.symbols(path))
        return [location for span in spans for location in _locations(server, span)]


def _item(server: MorelloServer, suggestion: Suggestion) -> types.CompletionItem:
    return types.CompletionItem(
        suggestion.name,
        kind=_KINDS.get(suggestion.kind, types.CompletionItemKind.Text),
        detail=suggestion.detail or None,
        documentation=suggestion.doc or None,
        text_edit=types.TextEdit(server.range(suggestion.replaced), suggestion.name),
    )


def _locations(server: MorelloServer, span: Span) -> Iterator[types.Location]:
    """Where an editor finds a span; nowhere in a file of a package that is no file on the disk."""
    path = span.source.path
    uri = None if path is None else from_fs_path(str(path.resolve()))
    if uri is not None:
        yield types.Location(uri, server.range(span))
