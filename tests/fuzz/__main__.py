"""``python -m tests.fuzz --count 1000 --seed 1``: see `tests.fuzz`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from tests.fuzz.campaign import SHARES, run
from tests.fuzz.worker import FAULTS, Outcome


@click.command()
@click.option("--count", default=1000, show_default=True, help="How many inputs.")
@click.option("--seed", default=1, show_default=True, help="Inputs are drawn from it.")
@click.option("--first", default=0, show_default=True, help="Number of the first input.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(sorted(SHARES)), help="Kinds of files: all."
)
@click.option("--keep", type=click.Path(path_type=Path), help="Directory for what fails.")
@click.option("--json", "as_json", is_flag=True, help="Write the report as JSON.")
def main(
    count: int, seed: int, first: int, kinds: tuple[str, ...], keep: Path | None, as_json: bool
) -> None:
    """Damage files of every kind that is read, and read them.

    Exit status 1 says that a reading ended without a diagnostic, or used too much time or memory.
    """
    report = run(seed, range(first, first + count), keep=keep, kinds=kinds, told=_progress)
    click.echo(json.dumps(report.to_json()) if as_json else report.text())
    for fault in () if as_json else report.faults:
        click.echo(f"\n{fault['kind']}: {fault['file']}: {fault['place']}\n  {fault['again']}")
    sys.exit(1 if report.faults else 0)


def _progress(outcome: Outcome) -> None:
    if outcome.kind in FAULTS:
        click.echo(f"{outcome.number}: {outcome.kind}: {outcome.place}", err=True)


if __name__ == "__main__":
    main()
