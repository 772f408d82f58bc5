"""``morello memo export`` and ``import``: a memo as a file that can be shipped."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import file_digest
from pathlib import Path

import click

from morello.cli.goals import asked_goals
from morello.cli.memos import memo_path, open_store
from morello.cli.options import examples, json_option, local_options, memo_option, targets_option
from morello.cli.progress import ProgressBar
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.errors import MorelloError
from morello.filling.fill import Filling
from morello.memo.memo import Memo
from morello.memo.records import Key
from morello.memo.transfer import export_memo, import_memo


@click.command(
    epilog=examples(
        "morello memo export matmul.sqlite",
        "morello memo export shipped.sqlite --goals goals.toml -t native",
    )
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--goals",
    "files",
    metavar="FILE",
    multiple=True,
    help="Only what these goals are answered from: a list (.toml), or specs. May be repeated.",
)
@targets_option("Of the goals: a target, or native. May be repeated.")
@local_options
@memo_option
@json_option
@click.pass_obj
def export(
    session: Session,
    /,
    file: Path,
    files: Sequence[str],
    targets: Sequence[str],
    memo: str | None,
) -> None:
    """Write the memo to a new file that can be shipped.

    The checksum of every page is compared on the way. FILE has to be a name that is not taken. The
    file's own sum is printed, for 'morello memo import --sha256'.
    """
    keys = _keys(session, files, targets, memo) if files else None
    with open_store(session, memo) as store:
        pages = export_memo(store, file, keys)
    digest = _sum_of(file)
    if session.json:
        session.document({"file": str(file), "pages": pages, "sha256": digest})
    session.say(f"wrote {pages:,} pages to {file}\nsha256: {digest}")


def _keys(
    session: Session, files: Sequence[str], targets: Sequence[str], memo: str | None
) -> list[Key]:
    """Those of the pages that goals are answered from.

    Raises:
        MorelloError: One is not answered.
    """
    definitions = definitions_for(session)
    found: set[Key] = set()
    with (
        Memo.open(memo_path(memo), warn=session.warn) as opened,
        ProgressBar(lambda: session.err) as progress,
    ):
        filling = Filling(definitions, asked_goals(definitions, files, targets, {}), progress)
        for task, keys in filling.pages(opened):
            if not keys:
                help = "solve them first: morello memo fill FILE --resume"
                raise MorelloError(f"the memo does not answer {task}", help=help)
            found |= keys
    return sorted(found)


@click.command("import", epilog=examples("morello memo import matmul.sqlite"))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--sha256", "expected", metavar="SUM", help="Refuse a file that has another one.")
@memo_option
@json_option
@click.pass_obj
def import_(session: Session, /, file: Path, expected: str | None, memo: str | None) -> None:
    """Add the pages of another memo to this one.

    FILE is only read. Its pages are believed: take it from whom you trust, and see
    'morello memo verify'.
    """
    if expected is not None:
        _require_sum(file, expected)
    with open_store(session, memo, begin=True) as store:
        imported = import_memo(store, file, warn=session.warn)
    if session.json:
        session.document(
            {
                "file": str(file),
                "copied": imported.copied,
                "known": imported.known,
                "damaged": imported.damaged,
                "united": imported.united,
            }
        )
    session.say(f"copied {imported.copied:,} pages from {file}")
    if imported.known:
        session.say(f"left out {imported.known:,} that were known")
    if imported.united:
        session.say(f"united pages that overlap to {imported.united:,}")
    if imported.damaged:
        session.say(f"left out {imported.damaged:,} that are damaged")


def _sum_of(file: Path) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


def _require_sum(file: Path, expected: str) -> None:
    try:
        found = _sum_of(file)
    except OSError as error:
        raise MorelloError(
            f"cannot read '{file}': {(error.strerror or str(error)).lower()}"
        ) from error
    if found != expected.strip().lower():
        raise MorelloError(
            f"'{file}' has the sum {found}", help="ask for a new copy of the file, or for its sum"
        )
