"""``morello rules``: the rewrite rules in force."""

from __future__ import annotations

import click

from morello.cli.options import examples, json_option, local_options, name_filter
from morello.cli.request import definitions_for
from morello.cli.session import Session
from morello.cli.tables import Row, named_like, place_of, show_table
from morello.ir.rule import Rule
from morello.language.places import text_of


@click.command(
    epilog=examples("morello rules", "morello rules tile", "morello rules --json -r my.mrules")
)
@name_filter
@local_options
@json_option
@click.pass_obj
def rules(session: Session, /, text: str | None) -> None:
    """List the rewrite rules.

    With TEXT, only those that have it in their name.

    What they match, what they mean, and where they are written.
    """
    definitions = definitions_for(session)
    rows = named_like("rule", text, [_row(rule) for rule in definitions.rules])
    show_table(session, "rules", ("name", "matches", "meaning", "place"), rows)


def _row(rule: Rule) -> Row:
    return {
        "name": rule.name,
        "matches": text_of(rule.declaration.match.span),
        "meaning": rule.doc,
        "place": place_of(rule.declaration.name_span),
    }
