"""How fast compiled products are, against the best libraries and against the machine's limits.

``python -m benchmarks.matmul`` measures all `benchmarks.cases.CASES` against all
`benchmarks.contenders.PEERS` that are installed; the others are named. Contenders take turns in one
process, and every result is checked against the reference first. ``benchmarks/README.md`` says how
to install the peers, and what the numbers mean.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click

import morello
from benchmarks import building
from benchmarks.cases import CASES, ELEMENTS, Case, sizes_option, spec_text
from benchmarks.cases import drawn as draw_any
from benchmarks.cases import narrow as draw_narrow
from benchmarks.contenders import LIMITS, LOOPS, OWN, PEERS, SPECS
from benchmarks.harness import Problem
from benchmarks.machine import environment, save
from benchmarks.report import report
from benchmarks.runs import Measured, Setting, environment_of, measure
from morello import MorelloError
from morello.definitions import load_definitions
from morello.ir.dtypes import DTYPES
from morello.ir.target import Target
from morello.reference.goals import goal_reference
from morello.reference.inputs import make_all
from morello.runtime.target_choice import NATIVE, native_target
from morello.runtime.timing import Timing
from morello.toolchain.build import STANDARD_FLAGS
from morello.toolchain.compilers import find_compiler
from morello.toolchain.machine import Machine

Document = dict[str, Any]

MODES = ("warm", "flushed")
TARGET, REPEATS = "x86.avx512", 21


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can choose. ``only`` names contenders, besides the compiled spec; none is all."""

    target: str = TARGET
    threads: int = 1
    repeats: int = REPEATS
    modes: tuple[str, ...] = MODES
    only: tuple[str, ...] = ()


def run(
    cases: Sequence[Case], options: Options, keep: Callable[[Document], None] = lambda _: None
) -> Document:
    """Measure cases, with progress on the standard error.

    Args:
        cases: Which.
        options: How.
        keep: Called with the document after each case.

    Returns:
        The document. Where the user interrupts, with the cases that are done, and marked; where the
        spec cannot be compiled, crashes, or computes something else, ``failed`` names the case.

    Raises:
        MorelloError: There is no compiler, no such target, or this machine cannot run it.
    """
    compiler, target = find_compiler(), _target(options.target)
    here = Machine(compiler)
    here.require(target.flags, target.features, f"a program for {target.name}")
    document = _heading(options, environment(compiler), target)
    with tempfile.TemporaryDirectory(prefix="morello-") as directory:
        where = Path(directory)
        workshop = building.Workshop(compiler, target, options.threads, where, options.only)
        try:
            _measure_all(cases, options, workshop, document, keep)
        except KeyboardInterrupt:
            document["interrupted"] = True
    keep(document)
    return document


def _target(name: str) -> Target:
    definitions = load_definitions()
    targets = definitions.targets
    if name == NATIVE:
        return native_target(definitions)
    if name not in targets:
        known = ", ".join((*targets, NATIVE))
        raise MorelloError(f"there is no target '{name}': choose one of {known}")
    return targets[name]


def _heading(options: Options, machine: Document, target: Target) -> Document:
    roles = {
        name: {"role": variant.role}
        for contender in (*SPECS, *PEERS, LOOPS, *LIMITS)
        for name, variant in zip(contender.names(), contender.variants, strict=True)
    }
    return {
        "environment": machine,
        "flags": {"all": STANDARD_FLAGS, "target": target.flags},
        "variables": environment_of(target, options.threads),
        "target": target.name,
        "threads": options.threads,
        "repeats": options.repeats,
        "modes": options.modes,
        "contenders": roles,
        "left_out": {},
        "failed": [],
        "cases": [],
    }


def _measure_all(
    cases: Sequence[Case],
    options: Options,
    workshop: building.Workshop,
    document: Document,
    keep: Callable[[Document], None],
) -> None:
    libraries, missing = building.build_all(workshop)
    _leave_out(document, missing)
    harness = building.build_c(workshop, "harness.c")
    setting = Setting(
        workshop.target,
        options.threads,
        options.repeats,
        options.modes,
        harness,
        workshop.directory,
    )
    for case in cases:
        unknown = sorted(set(ELEMENTS[case.dtypes]) - set(DTYPES))
        if unknown:
            _leave_out(document, {str(case): f"there is no element type '{unknown[0]}'"})
            continue
        click.echo(f"{case} ...", err=True)
        try:
            record = _measure_case(case, workshop, libraries, setting, document)
        except MorelloError as error:
            _leave_out(document, {str(case): str(error)})
            document["failed"].append(str(case))
            continue
        document["cases"].append(record)
        document["failed"] += [str(case)] if OWN in record["left_out"] else []
        keep(document)


def _leave_out(document: Document, reasons: Mapping[str, str]) -> None:
    for name, reason in reasons.items():
        click.echo(f"left out: {name}: {reason}", err=True)
    document["left_out"] |= reasons


def _measure_case(
    case: Case,
    workshop: building.Workshop,
    libraries: Mapping[str, Path],
    setting: Setting,
    document: Document,
) -> Document:
    """Check and time one case.

    Returns:
        A record: sizes, the prediction, and by mode, by contender, what `_record` gives.

    Raises:
        MorelloError: It cannot be compiled.
    """
    kernel, packed = (
        morello.compile(
            spec_text(setting.target.name, setting.threads, case.dtypes, role),
            defines=case.defines,
        )
        for role in ("input", "weight")
    )
    built = {**libraries, **building.build_for_case(workshop, case, kernel, packed)}
    arguments = [(a.shape, a.dtype) for a in kernel.signature.inputs]
    a, b = make_all("random", arguments)
    (expected,) = goal_reference(kernel.goal, {"a": a, "b": b})
    contenders = list(building.entrants(case, built))
    measured = measure(contenders, Problem(case.dtypes, a, b, expected), setting)
    for name, reason in measured.left_out.items():
        click.echo(f"left out of {case}: {name}: {reason}", err=True)
    for name, about in measured.about.items():
        document["contenders"][name]["about"] = about
    return {
        "case": str(case),
        "sizes": case.defines,
        "flops": case.flops,
        "predicted_cycles": kernel.cost,
        "left_out": measured.left_out,
        **{mode: _records(case, measured, mode) for mode in setting.modes},
    }


def _records(case: Case, measured: Measured, mode: str) -> Document:
    timings = measured.times.get(mode, {})
    own = timings.get(OWN)
    return {name: _record(case, timing, own) for name, timing in timings.items()}


def _record(case: Case, timing: Timing, own: Timing | None) -> Document:
    """Median and quartiles in seconds, GFLOP/s, and the median over turns of its time over ours."""
    ratios = [t / o for t, o in zip(timing.runs, own.runs, strict=True)] if own else []
    return {
        "seconds": timing.median,
        "quartiles": timing.quartiles,
        "calls": timing.batch,
        "gflops": case.flops / timing.median * 1e-9,
        "ratio": median(ratios) if ratios else None,
    }


def _names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    known = [contender.name for contender in (*PEERS, LOOPS, *LIMITS)]
    names = tuple(name.strip() for name in value.split(",")) if value else ()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"'{unknown[0]}' is none of: {', '.join(known)}")
    return names


@click.command(help=__doc__)
@sizes_option
@click.option(
    "--narrow", type=click.IntRange(1), metavar="N", help="N small and narrow ones instead."
)
@click.option("--drawn", type=click.IntRange(1), metavar="N", help="N that nobody chose instead.")
@click.option("--seed", default=0, show_default=True, help="Of what --narrow and --drawn draw.")
@click.option("--target", default=TARGET, show_default=True)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True)
@click.option("--mode", type=click.Choice(MODES), help="Default: both.")
@click.option("--only", callback=_names, metavar="NAME,...", help="Contenders. Default: all.")
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="An SVG or PNG file.")
def main(
    sizes: Sequence[Case],
    narrow: int | None,
    drawn: int | None,
    seed: int,
    target: str,
    threads: int,
    repeats: int,
    mode: str | None,
    only: tuple[str, ...],
    output: Path | None,
    plot: Path | None,
) -> None:
    """The command."""
    options = Options(target, threads, repeats, (mode,) if mode else MODES, only)

    def keep(document: Document) -> None:
        if output is not None:
            save(document, output)

    try:
        some = draw_narrow(narrow, seed) if narrow else ()
        some += draw_any(drawn, seed) if drawn else ()
        document = run((*sizes, *some) or CASES, options, keep)
    except MorelloError as error:
        sys.exit(f"error: {error}")
    click.echo(report(document))
    if plot is not None:
        from benchmarks.plot import draw  # noqa: PLC0415 - needs matplotlib

        draw(document, plot)
    if document.get("interrupted"):
        sys.exit(130)
    if document["failed"]:
        sys.exit(f"error: the compiled spec failed: {', '.join(document['failed'])}")


if __name__ == "__main__":
    main()
