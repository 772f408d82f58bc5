"""``morello kernels``: the microkernels of the targets."""

from __future__ import annotations

import click

from morello.cli.options import examples, json_option, local_options, name_filter
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.tables import Row, named_like, place_of, require_known, show_table
from morello.ir.target import Microkernel
from morello.language.kernel_clauses import CLAUSES
from morello.language.places import text_of


@click.command(
    epilog=examples(
        "morello kernels", "morello kernels add --target NAME", "morello kernels --json"
    )
)
@name_filter
@click.option("-t", "--target", metavar="NAME", help="Only what this target has or inherits.")
@local_options
@json_option
@click.pass_obj
def kernels(session: Session, /, text: str | None, target: str | None) -> None:
    """List the microkernels.

    With TEXT, only those that have it in their name.

    What they match, what they cost, what counts as 0 to them, when what they
    take is not converted first, and where they are written.
    """
    targets = definitions_for(session).targets
    if target is not None:
        require_known("target", target, targets)
    chosen = [targets[target]] if target is not None else list(targets.values())
    found = {kernel.name: kernel for t in chosen for kernel in t.kernels}
    columns = (
        "name",
        "target",
        "matches",
        "cost",
        *(clause.name for clause in CLAUSES),
        "meaning",
        "place",
    )
    rows = named_like("kernel", text, [_row(kernel) for kernel in found.values()])
    show_table(session, "kernels", columns, rows)


def _row(kernel: Microkernel) -> Row:
    return {
        "name": kernel.name,
        "target": kernel.target,
        "matches": text_of(kernel.match.span),
        "cost": text_of(kernel.cost.span),
        **dict.fromkeys((clause.name for clause in CLAUSES), ""),
        **{clause.name: clause.shown(value) for clause, value in kernel.clauses.given()},
        "meaning": kernel.doc,
        "place": place_of(kernel.declaration.name_span),
    }
