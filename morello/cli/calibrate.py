"""``morello calibrate``: fit a target's coefficients to this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import to_builtins

from morello.calibration.calibrate import PROGRAMS, Calibration
from morello.calibration.calibrate import calibrate as fit_to_machine
from morello.cli.options import examples, json_option, local_options, measured_target_option
from morello.cli.progress import ProgressBar
from morello.cli.request import chosen_target, definitions_for, read_source
from morello.cli.session import Session
from morello.cli.tables import show_table
from morello.definitions import calibration_specs
from morello.definitions.profile import Profile, profile_path, read_profile, write_profile
from morello.errors import UsageError
from morello.ir.target import Target
from morello.report.documents import Document
from morello.resources import processor

COLUMNS = ("coefficient", "before", "fitted", "meaning")


@click.command(
    epilog=examples("morello calibrate", "morello calibrate -t NAME --programs 60 -o mine.json")
)
@measured_target_option
@click.option("--programs", default=PROGRAMS, show_default=True, help="How many to measure.")
@click.option("--seed", default=0, show_default=True, help="Of the programs that are drawn.")
@click.option(
    "-s",
    "--specs",
    "files",
    metavar="FILE",
    multiple=True,
    help="Specs to measure, instead of those of the plugins. May be repeated.",
)
@local_options
@click.option("-o", "--output", metavar="PATH", help="Where to keep it, instead of your own place.")
@json_option
@click.pass_obj
def calibrate(
    session: Session,
    /,
    target: str,
    programs: int,
    seed: int,
    files: Sequence[str],
    output: str | None,
) -> None:
    """Fit the costs of a target to this machine.

    Programs that use them in different proportions are compiled and measured; later compiles for
    the target use what was found. Let the machine rest meanwhile: it takes some minutes.
    """
    path = Path(output) if output else profile_path()
    if path is None:
        raise UsageError("profiles are switched off", help="name a file with -o")
    old = read_profile(path)
    definitions = definitions_for(session, fitted=False)
    chosen = chosen_target(definitions, target)
    specs = [read_source(file) for file in files] or calibration_specs(definitions)
    with ProgressBar(lambda: session.err) as progress:
        found = fit_to_machine(definitions, chosen, specs, progress, programs=programs, seed=seed)
    targets = {**(old.targets if old else {}), chosen.name: found.profile}
    write_profile(path, Profile(processor() or "unknown", targets))
    _show(session, chosen, found, path)


def _show(session: Session, target: Target, found: Calibration, path: Path) -> None:
    profile = found.profile
    if session.json:
        programs: list[Document] = [
            {"name": m.name, "cycles": m.cycles, "error": e}
            for m, e in zip(found.measured, found.errors, strict=True)
        ]
        session.document({"path": str(path), "profile": to_builtins(profile), "programs": programs})
        return
    before = target.every_coefficient
    rows = [
        {"coefficient": n, "before": before[n].value, "fitted": v, "meaning": before[n].doc}
        for n, v in profile.coefficients.items()
    ]
    show_table(session, "coefficients", COLUMNS, rows)
    session.say(
        f"{profile.programs} programs for {target.name}: predictions are off by "
        f"{profile.median_error:.0%} in the median, {profile.largest_error:.0%} at most; "
        f"rank correlation {profile.rank_correlation:.3f}"
    )
    session.say(f"wrote {path}")
