"""Tables of definitions, as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from morello.cli.session import Session
from morello.errors import MorelloError
from morello.language.diagnostics import suggestion
from morello.language.source import Span

Row = Mapping[str, object]
"""One row: column name to value. Tables show the same that JSON does."""


def show_table(session: Session, key: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print rows as a table, or as ``{key: rows}`` where JSON is asked for."""
    if session.json:
        session.document({key: [dict(row) for row in rows]})
        return
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in columns))
    session.out.print(table)


def show_properties(session: Session, properties: Row) -> None:
    """Print what one thing has, a property a line."""
    width = max(map(len, properties)) + 2
    for name, value in properties.items():
        session.say(f"{name + ':':{width}}{_cell(value)}".rstrip())


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case str():
            return value
        case float():
            return f"{value:,.6g}"
        case list() | tuple():
            return ", ".join(map(_cell, value))
        case _:
            return str(value)


def place_of(span: Span) -> str:
    """``file:line``."""
    return f"{span.source.name}:{span.line}"


def require_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise `MorelloError` with advice if there is no definition of this name."""
    names = sorted(known)
    if name not in names:
        raise MorelloError(
            f"there is no {kind} '{name}'",
            help=suggestion(name, names) or f"'morello {kind}s' lists them",
        )
