"""``morello lsp``: the language server, on the standard input and output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from morello.cli.options import examples, local_options
from morello.cli.session import Session
from morello.definitions.project_files import named_sources
from morello.errors import MorelloError
from morello.language.source import Source

Serve = Callable[[Callable[[], Sequence[Source]]], None]


@click.command(epilog=examples("morello lsp", "morello lsp --rules mine.mrules"))
@click.option("--stdio", is_flag=True, hidden=True, help="What editors add; there is no other way.")
@local_options
@click.pass_obj
def lsp(session: Session, /, stdio: bool) -> None:
    """Serve an editor: errors, completion, meanings, definitions.

    Speaks the Language Server Protocol on the standard input and output; an editor starts it
    (docs/editors.md says how). Needs the extra 'lsp'.
    """
    serve = _server()
    serve(
        lambda: [
            *named_sources("rules", session.rules),
            *named_sources("kernels", session.kernels),
        ]
    )


def _server() -> Serve:
    """What serves. It is imported for this command only."""
    try:
        from morello.editor.server import serve  # noqa: PLC0415
    except ImportError as error:
        raise MorelloError(
            f"the language server needs pygls: {error}",
            help="install it with: python -m pip install 'morello[lsp]'",
        ) from error
    return serve
