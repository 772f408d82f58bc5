"""``morello memo export`` and ``import``: a memo as a file that can be shipped."""

from __future__ import annotations

from pathlib import Path

import click

from morello.cli.memos import open_store
from morello.cli.options import examples, json_option, memo_option
from morello.cli.session import Session
from morello.memo.transfer import export_memo, import_memo


@click.command(epilog=examples("morello memo export matmul.sqlite"))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@memo_option
@json_option
@click.pass_obj
def export(session: Session, /, file: Path, memo: str | None) -> None:
    """Write the memo to a new file that can be shipped.

    Every page is checked on the way. FILE has to be a name that is not taken.
    """
    with open_store(session, memo) as store:
        pages = export_memo(store, file)
    if session.json:
        session.document({"file": str(file), "pages": pages})
    session.say(f"wrote {pages:,} pages to {file}")


@click.command("import", epilog=examples("morello memo import matmul.sqlite"))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@memo_option
@json_option
@click.pass_obj
def import_(session: Session, /, file: Path, memo: str | None) -> None:
    """Add the pages of another memo to this one.

    FILE is only read. Its pages are believed: take it from whom you trust, and see
    'morello memo verify'.
    """
    with open_store(session, memo, begin=True) as store:
        imported = import_memo(store, file, warn=session.warn)
    if session.json:
        session.document(
            {
                "file": str(file),
                "copied": imported.copied,
                "known": imported.known,
                "damaged": imported.damaged,
            }
        )
    session.say(f"copied {imported.copied:,} pages from {file}")
    if imported.known:
        session.say(f"left out {imported.known:,} that were known")
    if imported.damaged:
        session.say(f"left out {imported.damaged:,} that are damaged")
