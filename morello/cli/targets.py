"""``morello targets``: the targets, or all about one of them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from morello.cli.options import examples, json_option, local_options
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.tables import Row, require_known, show_properties, show_table
from morello.ir.target import Coefficient, Level, Primitives, Target

TARGET_COLUMNS = ("name", "extends", "levels", "kernels", "meaning")
LACKING_COLUMNS = ("function", "not of", "for want of")
COEFFICIENT_COLUMNS = ("coefficient", "cycles", "meaning", "source")


@click.command(epilog=examples("morello targets", "morello targets NAME --json"))
@click.argument("name", required=False, metavar="[NAME]")
@local_options
@json_option
@click.pass_obj
def targets(session: Session, /, name: str | None) -> None:
    """List the targets, or all about one.

    With NAME, what that target is like, the flags that its C is compiled with, its coefficients,
    and where their numbers are from.
    """
    known = definitions_for(session).targets
    if name is None:
        show_table(session, "targets", TARGET_COLUMNS, [_row(target) for target in known.values()])
        return
    require_known("target", name, known)
    target = known[name]
    described = {**_row(target), "flags": list(target.flags)}
    machine: Row = {
        "features": list(target.features),
        "compiler": target.compiler or None,
        "runner": target.runner or None,
        "passes": list(target.passes),
    }
    lacking = [row for vectors in target.primitives.values() for row in _lacking(vectors)]
    if session.json:
        tables = {"lacking": lacking, "coefficients": _coefficients(target)}
        session.document({**described, **machine, **tables})
        return
    show_properties(session, {**described, **{n: v for n, v in machine.items() if v}})
    if lacking:
        show_table(session, "lacking", LACKING_COLUMNS, lacking)
    show_table(session, "coefficients", COEFFICIENT_COLUMNS, _coefficients(target))


def _lacking(vectors: Primitives) -> Iterator[Row]:
    """Functions that are defined, and what these vectors lack to have them."""
    of = f"{vectors.dtype} x {vectors.lanes}"
    for name, entries in vectors.lacking.items():
        yield {"function": name, "not of": of, "for want of": ", ".join(entries)}


def _row(target: Target) -> Row:
    return {
        "name": target.name,
        "extends": [base for base in target.lineage if base != target.name],
        "levels": [_level(level) for level in target.levels],
        "kernels": len(target.kernels),
        "meaning": target.doc,
    }


def _level(level: Level) -> str:
    if level.capacity is None:
        return level.name
    if not level.addressable:
        return f"{level.name} {level.capacity} registers"
    return f"{level.name} {level.capacity * level.capacity_unit >> 10} KiB"


def _coefficients(target: Target) -> list[Row]:
    return [_coefficient(name, found) for name, found in target.every_coefficient.items()]


def _coefficient(name: str, coefficient: Coefficient) -> Row:
    return {
        "coefficient": name,
        "cycles": coefficient.value,
        "meaning": coefficient.doc,
        "source": coefficient.source,
    }
