"""``morello memo fill``: what other goals than those of a compile will need, ahead of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from morello.cli.memos import memo_path
from morello.cli.options import (
    budget_option,
    define_option,
    examples,
    json_option,
    local_options,
    memo_option,
)
from morello.cli.request import Request, compile_request, read_source
from morello.cli.session import Session
from morello.errors import MorelloError
from morello.language.parse import parse_spec
from morello.memo.memo import Memo
from morello.report.documents import Document
from morello.search.planning.budget import Budget


@click.command(
    epilog=examples(
        "morello memo fill model.mspec -t native",
        "morello memo fill matmul.mspec -D M=2048 -D K=2048 -D N=2048",
    )
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option("-t", "--target", metavar="NAME", help="Target, or native; default: what FILES say.")
@define_option
@local_options
@budget_option
@memo_option
@json_option
@click.pass_obj
def fill(session: Session, /, files: Sequence[str], memo: str | None, **options: Any) -> None:
    """Solve every spec of FILES with all that is below it, for other goals.

    A compile solves what its own goal needs. This solves the sizes that only other goals need,
    too: products of fewer rows, the same block at a smaller size. It takes two to three times as
    long. What was solved is kept after each spec, so that Ctrl-C loses the one at work only.
    """
    filled: list[Document] = []
    with Memo.open(memo_path(memo), warn=session.warn, fill=True) as opened:
        if opened.store is None or not opened.store.writable:
            raise MorelloError("the memo cannot be written", help="name another: --memo")
        for request in _requests(files, **options):
            kernel = compile_request(session, request, memo=opened)
            counts = {"families": kernel.statistics.families, "cells": kernel.statistics.cells}
            seconds = kernel.statistics.seconds
            target = kernel.program.target.name
            filled.append({"spec": kernel.name, "target": target, **counts, "seconds": seconds})
            session.say(
                f"filled: {kernel.name} on {target}, {counts['cells']:,} Specs in "
                f"{counts['families']:,} families, {seconds:.2f} s"
            )
    if session.json:
        session.document({"filled": filled})


def _requests(
    files: Sequence[str],
    target: str | None,
    defines: Mapping[str, int],
    budget: Budget | None,
) -> Iterator[Request]:
    for file in files:
        for spec in parse_spec(read_source(file)).specs:
            own = {p.name for p in spec.parameters}
            given = {name: value for name, value in defines.items() if name in own}
            yield Request(
                file=file,
                target=target,
                defines=given,
                spec=spec.name,
                budget=budget,
                memo=None,
                no_memo=False,
            )
