"""``morello operators``: the operators that specs may use."""

from __future__ import annotations

import click

from morello.cli.options import examples, json_option, local_options, name_filter
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.tables import Row, named_like, place_of, show_table
from morello.ir.operators import Operator
from morello.language.places import text_of


@click.command(
    epilog=examples("morello operators", "morello operators max", "morello operators --json")
)
@name_filter
@local_options
@json_option
@click.pass_obj
def operators(session: Session, /, text: str | None) -> None:
    """List the operators.

    With TEXT, only those that have it in their name.

    What a spec may use; the definition of each is its meaning.
    """
    definitions = definitions_for(session)
    columns = ("name", "operands", "definition", "meaning", "place")
    rows = [_row(operator) for operator in definitions.operators.values()]
    show_table(session, "operators", columns, named_like("operator", text, rows))


def _row(operator: Operator) -> Row:
    given = [text_of(p.span) for p in (*operator.inputs, *operator.declaration.scalars)]
    return {
        "name": operator.name,
        "operands": f"{', '.join(given)} -> {text_of(operator.output.span)}",
        "definition": text_of(operator.statement.span),
        "meaning": operator.doc,
        "place": place_of(operator.declaration.name_span),
    }
