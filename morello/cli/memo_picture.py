"""``morello memo picture``: the boxes of a family along two of its coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from morello.cli.memos import memo_with_pages
from morello.cli.options import examples, json_option, spec_options
from morello.cli.pictures import drawing, picture_path
from morello.cli.request import Request, compile_request
from morello.cli.session import Session
from morello.cli.tables import show_table
from morello.errors import MorelloError, UsageError
from morello.ir.spec import Variant
from morello.kernel import Kernel
from morello.memo.memo import Memo
from morello.memo.names import variant_text
from morello.memo.page import Page
from morello.memo.pages import Pages
from morello.memo.slice import Slice, axes_of, cut, default_axes, pages_below
from morello.report.documents import Document
from morello.rewriting.context import Context
from morello.search.planning.families import discover

Draw = Callable[[Slice, Sequence[str], str], bytes]


@click.command(
    epilog=examples(
        "morello memo picture matmul.mspec -o goal.svg",
        "morello memo picture matmul.mspec -D M=64 --list",
        "morello memo picture matmul.mspec --family 7 --axes m,k --at n=64 -o seventh.png",
    )
)
@spec_options
@click.option(
    "--family", metavar="FAMILY", help="Number or text by --list; default: that of FILE itself."
)
@click.option("--axes", metavar="X,Y", help="The coordinates to show, such as m,n.")
@click.option("--at", metavar="NAME=VALUE,...", default="", help="Where to fix others.")
@click.option("--list", "listed", is_flag=True, help="List the families below FILE instead.")
@click.option("-o", "--output", metavar="FILE", help="The picture: a name with .svg or .png.")
@click.option("--force", is_flag=True, help="Overwrite the picture's file.")
@json_option
@click.pass_obj
def picture(
    session: Session,
    /,
    family: str | None,
    axes: str | None,
    at: str,
    listed: bool,
    output: str | None,
    force: bool,
    **request: Any,
) -> None:
    """Draw the boxes of equal choice of a family.

    FILE is solved with all that is below it, as morello memo fill does. The picture shows what is
    chosen along two coordinates of one family, sizes or units of a level in use, and the others
    fixed: unless --at says where, sizes at the largest, and nothing in use.
    """
    path = None if listed else picture_path(output, force=force)
    draw = None if path is None else drawing(_draw)
    shown, fixed = _axes(axes), _fixed(at)
    with memo_with_pages(session, request["memo"], off=request["no_memo"], fill=True) as memo:
        kernel = compile_request(session, Request(**request), memo=memo)
        found = _pages(kernel, memo)
        pages = {variant: page for variant, (page, _) in found.items()}
        if path is None or draw is None:
            _list(session, pages)
            return
        chosen = _chosen(list(pages), family)
        page, context = found[chosen]
        named = axes_of(context, chosen.family, page)
        part = cut(page, named, shown or default_axes(named), fixed)
        _write(session, path, draw, chosen, page, part)


# ------------------------------------------------------------------------- what to draw


def _axes(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise UsageError(f"'{text}' does not name two axes", help="write --axes m,n")
    return names[0], names[1]


def _fixed(text: str) -> Mapping[str, str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    pairs = [part.partition("=") for part in parts]
    if any(not (name and sign and value) for name, sign, value in pairs):
        raise UsageError(f"'{text}' is not of the form NAME=VALUE,...", help="write --at k=64,l1=0")
    fixed = {name.strip(): value.strip() for name, _, value in pairs}
    if len(fixed) < len(pairs):
        raise UsageError(f"'{text}' fixes a coordinate twice", help="leave one of them out")
    return fixed


def _pages(kernel: Kernel, memo: Memo) -> dict[Variant, tuple[Page, Context]]:
    """Pages, each with what it was solved under.

    Those of the goal's own families come first, one for each of its computations; then those of
    families below them, in the order of the searches.
    """
    assert memo.store is not None
    pages = Pages(memo.store)
    found: dict[Variant, tuple[Page, Context]] = {}
    searches = [(tree.solved.context, tree.root.spec) for tree in kernel.plan.trees]
    for context, goal in searches:
        page = pages.page(context, goal)
        if page is None:
            raise MorelloError("the memo has lost the page of the goal", help="try --no-memo")
        found[context.searched_variant(goal.variant)] = page, context
    for context, goal in searches:
        below = pages_below(
            pages, context, list(discover(context, context.searched(goal.family)).nodes)
        )
        for variant, page in below.items():
            found.setdefault(variant, (page, context))
    return found


def _chosen(variants: Sequence[Variant], wanted: str | None) -> Variant:
    if wanted is None:
        return variants[0]
    texts = {variant_text(variant): variant for variant in variants}
    numbers = {str(number): variant for number, variant in enumerate(variants, 1)}
    if wanted not in texts | numbers:
        raise UsageError(
            f"there is no page of the family '{wanted}'",
            help=f"name a number up to {len(variants)}, or a text, of those that --list shows",
        )
    return (texts | numbers)[wanted]


# ------------------------------------------------------------------------- results


def _list(session: Session, pages: Mapping[Variant, Page]) -> None:
    rows = [
        {
            "number": number,
            "family": variant_text(variant),
            "cells": page.cells,
            "boxes": page.entries,
            "choices": len(page.choices),
        }
        for number, (variant, page) in enumerate(pages.items(), 1)
    ]
    show_table(session, "families", ("number", "family", "cells", "boxes", "choices"), rows)


def _draw() -> Draw:
    from morello.memo.drawing import draw  # noqa: PLC0415

    return draw


def _write(
    session: Session, path: Path, draw: Draw, variant: Variant, page: Page, part: Slice
) -> None:
    whole = f"{page.cells:,} Specs in {page.entries:,} boxes"
    here = f"{part.cells:,} of them in {len(part.rectangles):,} boxes"
    at = ", ".join(f"{name} = {value}" for name, value in part.fixed)
    title = [variant_text(variant), f"{whole}; here {here}{f', at {at}' if at else ''}"]
    path.write_bytes(draw(part, title, path.suffix[1:]))
    if session.json:
        document: Document = {
            "file": str(path),
            "family": variant_text(variant),
            "axes": [part.x.name, part.y.name],
            "at": dict(part.fixed),
            "cells": page.cells,
            "boxes": page.entries,
            "shown_cells": part.cells,
            "shown_boxes": len(part.rectangles),
        }
        session.document(document)
    session.say(f"wrote {path}: {whole}; shown: {here}")
