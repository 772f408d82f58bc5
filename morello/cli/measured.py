"""The table of a contest: predicted against measured, as shown and as kept in a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import to_builtins

from morello.cli.outputs import origin
from morello.cli.session import Session
from morello.cli.tables import Row, show_table
from morello.codegen.goals import title
from morello.kernel import Kernel
from morello.report.documents import Document
from morello.toolchain.build import STANDARD_FLAGS

if TYPE_CHECKING:
    from morello.runtime.autotune import Measurement

COLUMNS = (
    "rank",
    "predicted",
    "measured",
    "runs",
    "half of the runs",
    "cycles",
    "chosen",
    "program",
)


def measured_document(kernel: Kernel) -> Document:
    """What is kept of a contest: on what, with what and when it was held, and its rows.

    Seconds are those of a call; a tenth of the runs are quicker. The clock is in hertz, absent
    where it is not known to be fixed.
    """
    place = kernel.measured_on
    assert place is not None
    return {
        "generator": origin(),
        "spec": title(kernel.goal),
        "target": kernel.program.target.name,
        "threads": kernel.goal.threads,
        **to_builtins(place),
        "flags": [*STANDARD_FLAGS, *kernel.c_source.flags],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "programs": [row.to_json() for row in kernel.measurements],
    }


def measured_text(document: Document) -> str:
    """The file: its first line says where it is from, as of all files that are written."""
    return json.dumps(document, indent=2, allow_nan=False).replace("{\n  ", "{", 1) + "\n"


def show_measurements(session: Session, kernel: Kernel, wanted: int) -> None:
    """Show the contest as a table; says so where fewer took part than were wanted."""
    rows = kernel.measurements
    show_table(session, "programs", COLUMNS, [_row(row) for row in rows])
    if len(rows) < wanted:
        plural = "s" if len(rows) > 1 else ""
        session.say(
            f"measured {len(rows)} program{plural}, not {wanted}: no more were found that differ"
        )


def _row(row: Measurement) -> Row:
    lower, upper = map(_microseconds, row.quartiles)
    cycles = row.measured_cycles
    return {
        "rank": row.rank,
        "predicted": f"{row.predicted_cycles:,.0f} cycles",
        "measured": _microseconds(row.seconds),
        "runs": row.runs,
        "half of the runs": f"{lower} to {upper}",
        "cycles": None if cycles is None else f"{cycles:,.0f}",
        "chosen": "yes" if row.chosen else "",
        "program": row.description,
    }


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.4g} us"
