"""What ``morello check --use`` found, as text and for tools."""

from __future__ import annotations

from collections.abc import Sequence

from morello.cli.session import Session
from morello.cli.tables import Row, place_of, show_table
from morello.cli.use import Used
from morello.report.documents import Document
from morello.report.usage.counts import Key
from morello.report.usage.tally import Compile, Tally, in_words

COMPILED = ("spec", "target", "cycles", "families", "fired", "won")
COUNTED = ("rule or kernel", "fired in", "families", "won in", "Specs", "mostly in")

SHOWN_KERNELS = 4
"""So many rules and kernels are named in the table of specs; of more, how many."""


def show_used(session: Session, used: Used) -> None:
    """Two tables, of specs and of rules and kernels, the notes, and all in a line."""
    show_table(session, "specs", COMPILED, [_compiled(c, used.tallies) for c in used.compiles])
    show_table(session, "use", COUNTED, [_counted(tally) for tally in used.tallies])
    session.show(used.notes)
    session.say(f"{in_words(used.tallies)}; over {_over(used.compiles)}")


def _over(compiles: Sequence[Compile]) -> str:
    """The set of specs that all of it holds for."""
    specs = len(dict.fromkeys((c.file, c.spec) for c in compiles))
    targets = ", ".join(dict.fromkeys(c.target for c in compiles))
    files = ", ".join(dict.fromkeys(c.file for c in compiles))
    return f"{specs} spec{'' if specs == 1 else 's'} of {files} for {targets}"


def _compiled(compile: Compile, tallies: Sequence[Tally]) -> Row:
    keys = [tally.key for tally in tallies if compile in tally.compiles]
    return {
        "spec": compile.spec,
        "target": compile.target,
        "cycles": f"{compile.cycles:,.0f}",
        "families": compile.use.families,
        "fired": _named([key for key in keys if key in compile.use.fired], keys),
        "won": _named([key for key in keys if key in compile.use.won], keys),
    }


def _named(some: Sequence[Key], keys: Sequence[Key]) -> str:
    """Which they are, if there are few to tell; else how many."""
    if len(keys) > SHOWN_KERNELS:
        return f"{len(some)} of {len(keys)}"
    return ", ".join(name for _, name in some) or "-"


def _counted(tally: Tally) -> Row:
    kind, name = tally.key
    most = max(tally.won or tally.fired, key=lambda pair: pair[1], default=None)
    return {
        "rule or kernel": f"{kind} '{name}' ({place_of(tally.item.declaration.name_span)})",
        "fired in": f"{len(tally.fired)} of {len(tally.compiles)}",
        "families": sum(families for _, families in tally.fired),
        "won in": f"{len(tally.won)} of {len(tally.compiles)}",
        "Specs": sum(specs for _, specs in tally.won),
        "mostly in": "-" if most is None else str(most[0]),
    }


def used_json(used: Used) -> Document:
    """All of it for tools."""
    return {
        "specs": [_compile_json(compile) for compile in used.compiles],
        "left_out": [{"spec": name, "why": why} for name, why in used.left_out],
        "rules": [_tally_json(tally) for tally in used.tallies if tally.key[0] == "rule"],
        "kernels": [_tally_json(tally) for tally in used.tallies if tally.key[0] == "kernel"],
    }


def _compile_json(compile: Compile) -> Document:
    return {
        "spec": compile.spec,
        "file": compile.file,
        "target": compile.target,
        "cycles": compile.cycles,
        "families": compile.use.families,
        "cells": compile.use.specs,
    }


def _tally_json(tally: Tally) -> Document:
    span = tally.item.declaration.name_span
    won = dict(tally.won)
    return {
        "name": tally.key[1],
        "file": span.source.name,
        "line": span.line,
        "compiles": len(tally.compiles),
        "fired": len(tally.fired),
        "won": len(tally.won),
        "in": [
            {
                "spec": compile.spec,
                "file": compile.file,
                "target": compile.target,
                "families": families,
                "chosen": won.get(compile, 0),
            }
            for compile, families in tally.fired
        ],
        "closest": _closest_json(tally),
    }


def _closest_json(tally: Tally) -> Document | None:
    """Where a rule or kernel that never wins would have cost least more."""
    if tally.closest is None:
        return None
    compile, nearest = tally.closest
    return {
        "spec": compile.spec,
        "file": compile.file,
        "target": compile.target,
        "at": str(nearest.spec),
        "ratio": nearest.ratio,
    }
