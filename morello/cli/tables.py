"""Tables of definitions, as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from morello.cli.session import Session
from morello.errors import MorelloError
from morello.language.diagnostics import suggestion
from morello.language.source import Span

FOLDED = 24
"""Characters: a column of longer texts may be folded to this width."""

BETWEEN = 3
"""Characters of a terminal between two columns."""

Row = Mapping[str, object]
"""One row: column name to value. Tables show the same that JSON does."""


def show_table(session: Session, key: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print rows as a table, or as ``{key: rows}`` where JSON is asked for.

    On a terminal that is too narrow for the columns, each row is a paragraph.
    """
    if session.json:
        session.document({key: [dict(row) for row in rows]})
        return
    cells = [[_cell(row[column]) for column in columns] for row in rows]
    widths = _widths(columns, cells, session.out.width) if session.out.is_terminal else []
    if widths is None:
        _print_paragraphs(session, columns, cells)
    else:
        _print_table(session, columns, cells, widths)


def _print_table(
    session: Session, columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, width in zip_longest(columns, widths):
        table.add_column(column, overflow="fold", width=width)
    for row in rows:
        table.add_row(*row)
    session.out.print(table)


def _print_paragraphs(
    session: Session, columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """The first column as a title, and below it each of the others that says something."""
    from rich.padding import Padding  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    longest = max(map(len, columns[1:]), default=0)
    for title, *values in rows:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(min_width=longest, style="dim")
        grid.add_column(overflow="fold")
        for column, value in zip(columns[1:], values, strict=True):
            if value:
                grid.add_row(column, value)
        session.out.print(Text(title, style="bold"))
        session.out.print(Padding(grid, (0, 0, 1, 2)))


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int
) -> Sequence[int] | None:
    """Widths of columns that fit; none if there is no room for them.

    The first column is a name and is never folded, nor is any word of the others.
    """
    from rich.cells import cell_len  # noqa: PLC0415

    texts = list(zip(columns, *rows, strict=True))
    wanted = [max(map(cell_len, column)) for column in texts]
    words = [max(cell_len(w) for text in column for w in text.split()) for column in texts]
    least = [
        wanted[0],
        *(max(min(w, FOLDED), n) for w, n in zip(wanted[1:], words[1:], strict=True)),
    ]
    free = room - sum(least) - BETWEEN * len(columns)
    more = sum(wanted) - sum(least)
    if free < 0:
        return None
    share = min(1.0, free / more) if more else 1.0
    return [low + int((high - low) * share) for low, high in zip(least, wanted, strict=True)]


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


def named_like(kind: str, text: str | None, rows: Sequence[Row]) -> Sequence[Row]:
    """The rows whose name contains a text; all where there is none.

    Raises:
        MorelloError: No name contains it; with advice.
    """
    if text is None:
        return rows
    names = [str(row["name"]) for row in rows]
    found = [row for row, name in zip(rows, names, strict=True) if text.lower() in name.lower()]
    if not found:
        raise MorelloError(
            f"no {kind} has '{text}' in its name",
            help=suggestion(text, names) or f"'morello {kind}s' lists them",
        )
    return found


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
