"""``morello memo verify``: a sample of what the memo says is derived again."""

from __future__ import annotations

import click

from morello.cli.memos import open_store
from morello.cli.options import examples, json_option, local_options, memo_option
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.codegen.goals import context_for
from morello.memo.verify import Difference, Verification
from morello.memo.verify import verify as verify_store
from morello.report.documents import Document

CELLS = 100
"""Specs that are drawn where nothing is said."""

MOST_CELLS = 10_000_000


@click.command(epilog=examples("morello memo verify", "morello memo verify --cells 1000 --seed 7"))
@click.option(
    "--cells",
    metavar="N",
    type=click.IntRange(0, MOST_CELLS),
    default=CELLS,
    show_default=True,
    help="Specs to draw.",
)
@click.option(
    "--seed", metavar="S", type=int, default=0, show_default=True, help="Of the draw: any integer."
)
@local_options
@memo_option
@json_option
@click.pass_obj
def verify(session: Session, /, cells: int, seed: int, memo: str | None) -> None:
    """Derive a sample of the memo again and compare.

    Every page is read and its checksum compared. Of the pages of installed definitions, some Specs
    are drawn, and their best options worked out anew. The status is 1 if anything is wrong.
    """
    definitions = definitions_for(session)
    contexts = [context_for(definitions, target) for target in definitions.targets.values()]
    damages: list[str] = []

    def warn(message: str) -> None:
        damages.append(message)
        session.warn(message)

    with open_store(session, memo, warn=warn) as store:
        found = verify_store(store, contexts, cells=cells, seed=seed)
    if session.json:
        session.document({**_json(found), "damages": damages})
    _say(session, found)
    for difference in found.differences:
        session.err.print(_text(difference), soft_wrap=True)
    if damages or found.differences:
        raise click.exceptions.Exit(1)


def _json(found: Verification) -> Document:
    return {
        "pages": found.pages,
        "unknown_pages": found.unknown,
        "checked": found.checked,
        "uncheckable": found.uncheckable,
        "differences": [
            {
                "family": difference.family,
                "coordinates": list(difference.coordinates),
                "recorded": difference.recorded,
                "derived": difference.derived,
            }
            for difference in found.differences
        ],
    }


def _say(session: Session, found: Verification) -> None:
    session.say(f"read {found.pages:,} pages")
    if found.unknown:
        session.say(f"not looked at: {found.unknown:,} of definitions that are not installed")
    verdict = f"{len(found.differences):,} wrong" if found.differences else "all right"
    session.say(f"derived {found.checked:,} Specs again: {verdict}")
    if found.uncheckable:
        session.say(f"not checkable: {found.uncheckable:,} Specs, below which pages are missing")


def _text(difference: Difference) -> str:
    at = ", ".join(map(str, difference.coordinates))
    return (
        f"error: {difference.family} at ({at}): "
        f"the memo says {difference.recorded}, the definitions {difference.derived}"
    )
