"""How long a search takes, cold: a fresh process for each size, on one core.

``python -m benchmarks.search`` measures products of `SIZES`. Peak memory is the whole process's.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.cases import Case, parse_cases, sizes_option, spec_text
from benchmarks.machine import environment, pin, save

SIZES = tuple(
    Case(*sizes)
    for sizes in (
        (16, 16, 16),
        (64, 64, 64),
        (100, 100, 100),
        (401, 401, 401),
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (4096, 4096, 4096),
        (4093, 4093, 4093),
        (1, 2048, 16384),
        (128, 768, 3072),
    )
)


def search_here(case: Case, target: str) -> dict[str, Any]:
    """Compile one case in this process, which has compiled nothing before.

    Returns:
        A record: seconds to load all definitions and to search (elapsed, and of CPU), counts of
        families and of cells (Specs), cells by second of CPU, the peak of resident memory in MiB,
        and what `benchmarks.bounds` counts.

    Raises:
        MorelloError: It cannot be compiled.
    """
    pin(1)
    start = time.perf_counter()
    import morello  # noqa: PLC0415 - its time is measured
    from benchmarks.bounds import axes, counts  # noqa: PLC0415
    from morello.definitions import load_definitions  # noqa: PLC0415
    from morello.memo.memo import Memo  # noqa: PLC0415
    from morello.search.results.solution import Solution  # noqa: PLC0415

    definitions = load_definitions()
    loaded = time.perf_counter()
    memo, started = Memo(), time.process_time()
    kernel = morello.compile(
        spec_text(target, 1), defines=case.defines, definitions=definitions, memo=memo
    )
    seconds, cpu_seconds = time.perf_counter() - loaded, time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    statistics = kernel.statistics
    (tree,) = kernel.plan.trees
    solution = tree.solved
    assert isinstance(solution, Solution)
    return {
        "case": str(case),
        "load_seconds": loaded - start,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "families": statistics.families,
        "cells": statistics.cells,
        "cells_per_second": statistics.cells / cpu_seconds,
        "peak_mib": peak,
        "bounds": counts(solution),
        "level_axes": axes(solution),
        "predicted_cycles": kernel.cost,
    }


def search_apart(case: Case, target: str) -> dict[str, Any]:
    """The record of `search_here`, from a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed; what it said is on the standard error.
    """
    command = [sys.executable, "-m", "benchmarks.search", "--one", str(case), "--target", target]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True
    )
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def table(document: dict[str, Any]) -> str:
    """The measurements as a Markdown table."""
    head = [
        "size (M x K x N)",
        "seconds",
        "of CPU",
        "peak MiB",
        "families",
        "Specs",
        "million Specs/s",
    ]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    rows += [
        [
            r["case"].replace("x", " x "),
            f"{r['seconds']:.2f}",
            f"{r['cpu_seconds']:.2f}",
            f"{r['peak_mib']:.0f}",
            f"{r['families']:,}",
            f"{r['cells']:,}",
            f"{r['cells_per_second'] / 1e6:.1f}",
        ]
        for r in document["cases"]
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def bounds_table(document: dict[str, Any]) -> str:
    """What the bounds save, as a Markdown table."""
    head = ["size (M x K x N)", "Specs", "all sizes", "all levels", "neither bound"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for record in document["cases"]:
        counts = record["bounds"]
        row = [record["case"].replace("x", " x "), f"{counts['cells']:,}"]
        row += [
            f"{counts[name]:.2g} ({counts[name] / counts['cells']:,.1f} x)"
            for name in ("all_sizes", "all_levels", "neither")
        ]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def run(cases: Sequence[Case], target: str) -> dict[str, Any]:
    """Measure all cases, with progress on the standard error.

    Raises:
        subprocess.CalledProcessError: See `search_apart`.
    """
    records = []
    for case in cases:
        click.echo(f"search {case} ...", err=True)
        records.append(search_apart(case, target))
    return {"environment": environment(), "target": target, "cases": records}


@click.command(help=__doc__)
@sizes_option
@click.option("--target", default="x86.avx512", show_default=True)
@click.option(
    "--one", callback=parse_cases, hidden=True, help="One size, in this process, as JSON."
)
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(sizes: Sequence[Case], target: str, one: Sequence[Case], output: Path | None) -> None:
    """The command."""
    if one:
        click.echo(json.dumps(search_here(one[0], target)))
        return
    try:
        document = run(sizes or SIZES, target)
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: a search ended with status {error.returncode}")
    if output is not None:
        save(document, output)
    click.echo(f"{document['environment']['processor']}, one core, {target}\n")
    click.echo(table(document))


if __name__ == "__main__":
    main()
