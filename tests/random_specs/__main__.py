"""``python -m tests.random_specs --count 100 --seed 1``: see `tests.random_specs`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from .campaign import FAILURES, Plan, Report, run
from .metamorphic import prepare


@click.command()
@click.option("--count", default=100, show_default=True, help="How many cases.")
@click.option("--seed", default=1, show_default=True, help="Cases are drawn from it.")
@click.option("--first", default=0, show_default=True, help="Number of the first case.")
@click.option("--targets", default="x86.avx2,x86.scalar", show_default=True, help="In turns.")
@click.option("--sanitize", default=0.05, show_default=True, help="Share under sanitizers.")
@click.option("--vary", default=0.1, show_default=True, help="Share that is compiled twice.")
@click.option("--jobs", default=1, show_default=True, help="Cases at the same time.")
@click.option("--seconds", default=20, show_default=True, help="Of a processor, for each case.")
@click.option("--keep", type=click.Path(path_type=Path), help="Directory for failures.")
@click.option("--json", "as_json", is_flag=True, help="Write the report as JSON.")
def main(
    count: int,
    seed: int,
    first: int,
    targets: str,
    sanitize: float,
    vary: float,
    jobs: int,
    seconds: int,
    keep: Path | None,
    as_json: bool,
) -> None:
    """Compile random specs, and hold them against plain numpy.

    Exit status 1 says that a program was wrong, or that something ended without a diagnostic.
    """
    plan = Plan(seed, count, first, tuple(targets.split(",")), sanitize, vary, jobs, seconds)
    prepare()
    report = run(plan, keep=keep, told=_progress)
    click.echo(err=True)
    click.echo(json.dumps(report.to_json(), indent=1) if as_json else report.text())
    for failure in () if as_json else report.failures:
        click.echo(f"\n{failure['command']}\n{failure['shrunk']}\n{failure['spec']}")
    sys.exit(1 if any(report.outcomes[kind] for kind in FAILURES) else 0)


def _progress(report: Report) -> None:
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(report.outcomes.items()))
    done = sum(report.outcomes.values())
    click.echo(f"\r{done} of {report.plan.count}: {counts}   ", nl=False, err=True)


if __name__ == "__main__":
    main()
