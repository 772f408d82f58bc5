"""``morello memo path``, ``stats`` and ``gc``: where the memo is, what it holds, what may go."""

from __future__ import annotations

from pathlib import Path

import click

from morello.cli.memos import memo_path, open_store
from morello.cli.options import examples, json_option, local_options, memo_option
from morello.cli.quantities import AGE, SIZE, bytes_text
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.tables import Row, show_table
from morello.codegen.goals import context_for
from morello.errors import UsageError
from morello.memo.installed import Installed
from morello.memo.store import FamilyStats, Store
from morello.report.documents import Document

COLUMNS = ("family", "definitions", "pages", "cells", "boxes", "cells_per_box", "bytes")


@click.command(epilog=examples("morello memo path"))
@memo_option
@json_option
@click.pass_obj
def path(session: Session, /, memo: str | None) -> None:
    """Print where the memo is."""
    where = memo_path(memo)
    if session.json:
        session.document({"path": str(where), "exists": where.exists()})
    session.say(str(where))


# ------------------------------------------------------------------------- stats


@click.command(epilog=examples("morello memo stats", "morello memo stats --family --json"))
@click.option("--family", "by_family", is_flag=True, help="Also by family, the largest first.")
@memo_option
@json_option
@click.pass_obj
def stats(session: Session, /, by_family: bool, memo: str | None) -> None:
    """Show what the memo holds, and what it takes.

    A variant is a family with its operands packed in one way, and has a page for each set of
    definitions that it was solved under. A box is a range of its Specs with the same choice.
    """
    with open_store(session, memo) as store:
        where, found = memo_path(memo), store.stats()
    totals: Document = {
        "path": str(where),
        "file_bytes": _file_bytes(where),
        "variants": len({row.family for row in found}),
        "pages": sum(row.pages for row in found),
        "cells": sum(row.cells for row in found),
        "boxes": sum(row.boxes for row in found),
        "bytes": sum(row.bytes for row in found),
    }
    rows = [_row(row) for row in sorted(found, key=lambda r: (-r.bytes, r.family))]
    if session.json:
        session.document({**totals, "by_family": rows} if by_family else totals)
        return
    session.say(f"memo:  {where}, {bytes_text(_file_bytes(where))}")
    session.say(f"pages: {totals['pages']:,}, for {totals['variants']:,} variants of families")
    session.say(f"Specs: {totals['cells']:,}")
    ratio = _ratio(sum(row.cells for row in found), sum(row.boxes for row in found))
    session.say(f"boxes: {totals['boxes']:,}, {ratio:,.1f} Specs a box")
    if by_family:
        show_table(session, "by_family", COLUMNS, rows)


def _file_bytes(where: Path) -> int:
    """Of the database and its journal."""
    files = (where, where.with_name(f"{where.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _row(of: FamilyStats) -> Row:
    return {
        "family": of.family,
        "definitions": of.fingerprint.hex()[:8],
        "pages": of.pages,
        "cells": of.cells,
        "boxes": of.boxes,
        "cells_per_box": _ratio(of.cells, of.boxes),
        "bytes": of.bytes,
    }


def _ratio(cells: int, boxes: int) -> float:
    return cells / boxes if boxes else 0.0


# ------------------------------------------------------------------------- gc


@click.command(
    epilog=examples(
        "morello memo gc --max-size 100MiB",
        "morello memo gc --older-than 30d --unused",
    )
)
@click.option("--max-size", metavar="SIZE", type=SIZE, help="Keep so much, used last: 100MiB.")
@click.option("--older-than", metavar="AGE", type=AGE, help="Remove what was not used for: 30d.")
@click.option(
    "--unused",
    is_flag=True,
    help="Remove pages of definitions that are not installed, nor named with -r or -k.",
)
@local_options
@memo_option
@json_option
@click.pass_obj
def gc(
    session: Session,
    /,
    max_size: float | None,
    older_than: float | None,
    unused: bool,
    memo: str | None,
) -> None:
    """Remove pages from the memo.

    What was removed is solved again when it is needed. Unused are also pages of searches that a
    budget made coarser: their targets had fewer sizes than the installed ones.
    """
    if max_size is None and older_than is None and not unused:
        raise UsageError(
            "nothing says which pages are to go",
            help="give --max-size, --older-than, --unused or several of them",
        )
    with open_store(session, memo) as store:
        keep = _used_fingerprints(session, store) if unused else None
        most = None if max_size is None else int(max_size)
        removed = store.gc(max_bytes=most, older_than=older_than, keep=keep)
        left = store.stats()
    pages, size = sum(row.pages for row in left), sum(row.bytes for row in left)
    if session.json:
        session.document(
            {
                "removed_pages": removed.pages,
                "removed_bytes": removed.bytes,
                "pages": pages,
                "bytes": size,
            }
        )
    session.say(f"removed {removed.pages:,} pages, {bytes_text(removed.bytes)}")
    session.say(f"left: {pages:,} pages, {bytes_text(size)}")


def _used_fingerprints(session: Session, store: Store) -> set[bytes]:
    """Fingerprints in the memo that some target's definitions give."""
    definitions = definitions_for(session)
    installed = Installed(context_for(definitions, t) for t in definitions.targets.values())
    return {row.fingerprint for row in store.stats() if installed.find(row.fingerprint, row.family)}
