"""From a target to its profile on this machine: draw, measure, fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import islice
from statistics import median

from msgspec import Struct

from morello import __version__
from morello.calibration.drawing import draw
from morello.calibration.fitting import Measured, fit, require_libraries
from morello.calibration.measuring import chain, cycles_of
from morello.checking.specs import check_spec
from morello.definitions import Definitions
from morello.definitions.profile import TargetProfile
from morello.errors import MorelloError, UsageError
from morello.ir.target import Target
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.resources import available_cores
from morello.search.search import Progress
from morello.toolchain.compilers import find_compiler, supports_openmp
from morello.toolchain.machine import Machine

PROGRAMS = 150
"""So many are measured, unless the caller says otherwise: some seven minutes."""


class Calibration(Struct, frozen=True):
    """What was found for a target: its profile, what was measured, and each relative error."""

    profile: TargetProfile
    measured: tuple[Measured, ...]
    errors: tuple[float, ...]


def calibrate(
    definitions: Definitions,
    target: Target,
    files: Sequence[Source],
    report: Callable[[Progress], None],
    *,
    programs: int = PROGRAMS,
    seed: int = 0,
) -> Calibration:
    """Fit a target's coefficients to this machine.

    Args:
        definitions: Operators, rules, emitters.
        target: The target, with the coefficients that are kept where nothing speaks against them.
        files: Specs to draw programs for; every parameter has a default. Those for more threads
            than this machine has cores are left out.
        report: Called before each program.
        programs: How many to measure.
        seed: Of what is drawn.

    Raises:
        UsageError: There are to be fewer than 2 programs.
        MorelloError: There are no specs, no C compiler, no library for the fit, this machine
            cannot run the target's programs, or a spec is wrong.
    """
    if programs < 2:
        raise UsageError(f"cannot fit {programs} programs", help="measure at least 2")
    require_libraries()
    compiler = find_compiler()
    here = Machine(compiler)
    here.require(target.flags, target.features, f"what is compiled for '{target.name}'")
    threads = available_cores() if supports_openmp(compiler) else 1
    specs = list(_specs(definitions, files, threads))
    if not specs:
        raise MorelloError(
            "there are no specs to calibrate with",
            help="name a file of specs, for no more threads than this machine has cores",
        )
    drawn = islice(draw(definitions, target, specs, seed), programs)
    clock = chain()
    measured: list[Measured] = []
    report(Progress(0, programs, "measuring programs"))
    for one in drawn:
        measured.append(Measured(one.name, one.counts, cycles_of(one.kernel, clock)))
        report(Progress(len(measured), programs, "measuring programs"))
    prior = {name: c.value for name, c in target.every_coefficient.items()}
    found = fit(measured, prior)
    sizes = [abs(error) for error in found.errors]
    profile = TargetProfile(
        found.coefficients,
        date.today().isoformat(),
        str(compiler),
        __version__,
        len(measured),
        median(sizes),
        max(sizes),
        found.rank_correlation,
    )
    return Calibration(profile, tuple(measured), found.errors)


def _specs(
    definitions: Definitions, files: Sequence[Source], threads: int
) -> Iterator[tuple[Source, str]]:
    """Specs by file and name, but those for more threads."""
    for file in files:
        tree = parse_spec(file)
        for spec in tree.specs:
            goal = check_spec(tree, spec.name, {}, definitions.operators, Collector())
            if goal.threads <= threads:
                yield file, spec.name
