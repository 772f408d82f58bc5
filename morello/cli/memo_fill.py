"""``morello memo fill``: what other goals than those of a compile will need, ahead of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from morello.cli.memos import memo_path
from morello.cli.options import (
    budget_option,
    define_option,
    examples,
    json_option,
    local_options,
    memo_option,
    targets_option,
)
from morello.cli.progress import ProgressBar
from morello.cli.request import asked_specs, definitions_for, phases_of, read_source
from morello.cli.session import Session
from morello.compiler import compile_spec
from morello.errors import MorelloError
from morello.memo.memo import Memo
from morello.search.planning.budget import Budget


@click.command(
    epilog=examples(
        "morello memo fill model.mspec -t native",
        "morello memo fill matmul.mspec -D M=2048 -D K=2048 -D N=2048",
    )
)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@targets_option("A target, or native. May be repeated. Default: what FILES say, then native.")
@define_option
@local_options
@budget_option
@memo_option
@json_option
@click.pass_obj
def fill(
    session: Session,
    /,
    files: Sequence[str],
    targets: Sequence[str],
    defines: Mapping[str, int],
    budget: Budget | None,
    memo: str | None,
) -> None:
    """Solve every spec of FILES with all that is below it, for other goals.

    A compile solves what its own goal needs. This solves the sizes that only other goals need,
    too: products of fewer rows, the same block at a smaller size. It takes two to three times as
    long. What was solved is kept after each spec, so that Ctrl-C loses the one at work only.
    """
    definitions = definitions_for(session)
    asked = asked_specs(definitions, [read_source(file) for file in files], targets, defines)
    filled = []
    with (
        Memo.open(memo_path(memo), warn=session.warn, fill=True) as opened,
        ProgressBar(lambda: session.err) as progress,
    ):
        if opened.store is None or not opened.store.writable:
            raise MorelloError("the memo cannot be written", help="name another: --memo")
        for number, one in enumerate(asked, start=1):
            statistics = compile_spec(
                one.source,
                spec=one.spec,
                defines=one.defines,
                target=one.target,
                definitions=definitions,
                progress=phases_of(progress, f"{number} of {len(asked)}, {one}"),
                memo=opened,
                budget=budget,
            ).statistics
            if statistics.coarsening is not None:
                session.warn(f"the search of {one} was {statistics.coarsening}")
            counts = {"families": statistics.families, "cells": statistics.cells}
            seconds = statistics.seconds
            filled.append({"spec": one.spec, "target": one.target, **counts, "seconds": seconds})
            session.say(
                f"filled: {one}, {statistics.cells:,} Specs in "
                f"{statistics.families:,} families, {seconds:.2f} s"
            )
    if session.json:
        session.document({"filled": filled})
