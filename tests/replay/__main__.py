"""``python -m tests.replay save FILE`` and ``compare FILE``: see `tests.replay`."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path

import click

import morello
from morello.resources import available_cores

from .cases import Replayed, cases, without_comments

BUDGET = "30000 specs"


@click.group()
def main() -> None:
    """Save the C of examples and benchmarks on every target, or compare it with what was saved."""


def _options(command: click.Command) -> click.Command:
    for option in (
        click.option("--only", default="", help="Only cases whose name has this in it."),
        click.option("--budget", default=BUDGET, show_default=True, help="Of each search."),
        click.option("--jobs", default=available_cores(), help="How many processes."),
    ):
        command = option(command)
    return command


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def save(file: Path, only: str, budget: str, jobs: int) -> None:
    """Write hashes of the C of each case to FILE."""
    found = _found(only, budget, jobs)
    file.write_text(json.dumps({"budget": budget, "found": found}, indent=1) + "\n")
    click.echo(f"saved {len(found)} cases to {file}")


@main.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def compare(file: Path, only: str, budget: str, jobs: int) -> None:
    """Exit with status 1 if the C of a case is not what FILE says."""
    saved = json.loads(file.read_text())
    if saved["budget"] != budget:
        raise click.UsageError(f"{file} was saved with --budget '{saved['budget']}'")
    before = {key: value for key, value in saved["found"].items() if only in key}
    after = _found(only, budget, jobs)
    differing = [key for key in before | after if before.get(key) != after.get(key)]
    for key in differing:
        click.echo(f"{key}: {before.get(key, 'absent')} before, {after.get(key, 'absent')} now")
    click.echo(f"{len(after)} cases: {len(differing)} differ")
    sys.exit(1 if differing else 0)


def _found(only: str, budget: str, jobs: int) -> dict[str, str]:
    wanted = [case for case in cases() if only in case.key]
    with ProcessPoolExecutor(jobs) as pool:
        results = pool.map(_written, wanted, [budget] * len(wanted))
        with click.progressbar(results, length=len(wanted), file=sys.stderr) as shown:
            return {case.key: text for case, text in zip(wanted, shown, strict=True)}


def _written(case: Replayed, budget: str) -> str:
    """A hash of the C, or the first line of why there is none."""
    try:
        kernel = morello.compile(
            case.text,
            defines=dict(case.defines),
            target=case.target,
            memo=morello.Memo(fill=True),
            budget=budget or None,
        )
    except morello.MorelloError as error:
        return str(error).partition("\n")[0]
    return sha256(without_comments(kernel.source).encode()).hexdigest()


for _command in (save, compare):
    _options(_command)

if __name__ == "__main__":
    main()
