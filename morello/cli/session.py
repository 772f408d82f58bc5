"""What all sub-commands share: the two consoles, the global flags, and how errors are shown.

Results go to the standard output, everything else to the standard error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from morello.errors import MorelloError
from morello.language.diagnostics import Diagnostic, DiagnosticsError, render

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from morello.report.documents import Document
    from morello.toolchain.machine import Machine

WIDTH_OF_A_FILE = 1000
"""Columns of a table that is not shown on a terminal: enough not to fold what scripts read."""

MOST_SHOWN = 500
"""Diagnostics of one report that are shown. Tools get all."""


def _console(stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415

    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH_OF_A_FILE
    return console


@dataclass
class Session:
    """One run of the command.

    ``json``: the standard output holds one JSON document, no text. ``rules`` and ``kernels`` are
    the paths that the options of these names give; ``cc``, ``runner`` and ``time_under_runner``
    are what options say, too. ``started`` is called once a sub-command has been imported.

    Most runs print a line or two: `rich`, which takes as long to import as these runs take to
    think, is imported where something is to be laid out or coloured.
    """

    traceback: bool = False
    json: bool = False
    rules: Sequence[str] = ()
    kernels: Sequence[str] = ()
    cc: str | None = None
    runner: str | None = None
    time_under_runner: bool = False
    started: Callable[[], None] = lambda: None

    @property
    def machine(self) -> Machine | None:
        """Where compiled code is built and run, as far as options say; none where they do not."""
        if not (self.cc or self.runner or self.time_under_runner):
            return None
        from morello.toolchain.machine import Machine  # noqa: PLC0415

        return Machine(self.cc, self.runner, self.time_under_runner)

    @cached_property
    def out(self) -> Console:
        """The standard output."""
        return _console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """The standard error."""
        return _console(stderr=True)

    def say(self, text: str) -> None:
        """A line of the summary; nothing where JSON is asked for."""
        if not self.json:
            click.echo(text)

    def warn(self, message: str) -> None:
        """Something that the user should know and that does not stop the work."""
        self._labelled("warning", "bold yellow", ": ", message)

    def document(self, document: Mapping[str, object]) -> None:
        """The JSON document of this run."""
        click.echo(json.dumps(document, indent=2, allow_nan=False))

    def report(self, error: MorelloError, *, closing_line: bool = True) -> None:
        """Show an error: diagnostics with source lines, others in one line, and the advice."""
        if isinstance(error, DiagnosticsError):
            self.show(error.diagnostics)
            if closing_line:
                self.closing_line(len(error.diagnostics))
        else:
            self._labelled("error", "bold red", ": ", str(error))
        if error.help:
            self._labelled(" = help: ", "cyan", error.help)

    def _labelled(self, label: str, style: str, *texts: str) -> None:
        from rich.text import Text  # noqa: PLC0415

        self.err.print(Text.assemble((label, style), *texts), soft_wrap=True)

    def show(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Diagnostics with their source lines, each followed by an empty line."""
        for diagnostic in diagnostics[:MOST_SHOWN]:
            self.err.print(_coloured(render(diagnostic)), soft_wrap=True)
            self.err.print()
        if (more := len(diagnostics) - MOST_SHOWN) > 0:
            self.err.print(f"and {more} more; --json lists all", style="bold")

    def closing_line(self, errors: int) -> None:
        """``found N errors``."""
        plural = "" if errors == 1 else "s"
        self.err.print(f"found {errors} error{plural}", style="bold")


def diagnostic_json(diagnostic: Diagnostic) -> Document:
    """A diagnostic for tools. Lines and columns count from 1."""
    span = diagnostic.span
    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "file": span.source.name,
        "line": span.line,
        "column": span.column,
        "length": span.end - span.start,
        "label": diagnostic.label,
        "help": diagnostic.help,
    }


def error_json(error: MorelloError) -> list[Document]:
    """The errors in a `MorelloError`: its diagnostics, or itself, which has no place."""
    if isinstance(error, DiagnosticsError):
        return [diagnostic_json(d) for d in error.diagnostics]
    return [{"message": str(error), "help": error.help}]


def _coloured(rendered: str) -> Text:
    """Colour the layout that `render` makes: message, place, source line, caret line, help."""
    from rich.text import Text  # noqa: PLC0415

    text = Text(rendered)
    text.highlight_regex(r"^error\[\w+\]", "bold red")
    text.highlight_regex(r"^note\[\w+\]", "bold cyan")
    text.highlight_regex(r"(?m)^ *--> .*$", "blue")
    text.highlight_regex(r"(?m)^ *\d* \|", "blue")
    text.highlight_regex(r"(?m)(?<=\| ) *\^+.*$", "red")
    text.highlight_regex(r"(?m)^ *= help:", "cyan")
    return text
