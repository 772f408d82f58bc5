"""How fast compiled products are, against OpenBLAS and the plain triple loop.

``python -m benchmarks.matmul`` measures all `benchmarks.cases.CASES`, in one process, contenders by
turns. Every contender's result is checked against the reference first.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.cases import CASES, Case, sizes_option
from benchmarks.contenders import (
    LOOP_FLAGS,
    Array,
    Blas,
    Entry,
    compile_case,
    entries,
    find_blas,
)
from benchmarks.machine import environment, pin, save
from morello import Kernel, MorelloError
from morello.reference.compare import check_close, reference
from morello.toolchain.build import STANDARD_FLAGS
from morello.toolchain.compilers import Compiler, find_compiler
from morello.toolchain.timing import Timing, time_alternately


def measure(
    case: Case,
    target: str,
    threads: int,
    blas: Sequence[Blas],
    compiler: Compiler,
    repeats: int,
) -> dict[str, Any]:
    """Check and time one case.

    Returns:
        A record: sizes, the prediction, and per contender the median and quartiles in seconds,
        GFLOP/s, and the median over the turns of its time over ours in the same turn.

    Raises:
        MorelloError: It cannot be compiled or run, or a result is wrong.
    """
    kernel = compile_case(case, target, threads)
    contenders, a, b = entries(case, kernel, blas, compiler)
    _check(case, kernel, contenders, a, b)
    timings = time_alternately({e.name: e.run for e in contenders}, repeats=repeats)
    own = timings["morello"]
    return {
        "case": str(case),
        "sizes": case.defines,
        "predicted_cycles": kernel.cost,
        "contenders": {name: _record(case, t, own) for name, t in timings.items()},
    }


def _check(case: Case, kernel: Kernel, contenders: Sequence[Entry], a: Array, b: Array) -> None:
    goal = kernel.goal
    expected = reference(goal.operation, goal.sizes, [a, b], goal.operands[-1].dtype)
    for entry in contenders:
        entry.run(1)
        check_close(entry.result, expected, name=f"{case}: {entry.name}")


def _record(case: Case, timing: Timing, own: Timing) -> dict[str, Any]:
    return {
        "seconds": timing.median,
        "quartiles": timing.quartiles,
        "calls": timing.batch,
        "gflops": case.flops / timing.median * 1e-9,
        "ratio": median(t / o for t, o in zip(timing.runs, own.runs, strict=True)),
    }


def table(document: dict[str, Any]) -> str:
    """The measurements as a Markdown table; the others as their time over ours."""
    names = list(document["cases"][0]["contenders"])
    head = ["size (M x K x N)", "time", "half of the runs", "GFLOP/s"]
    head += [f"against {name}" for name in names if name != "morello"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for record in document["cases"]:
        own = record["contenders"]["morello"]
        low, high = own["quartiles"]
        row = [record["case"].replace("x", " x "), _time(own["seconds"])]
        row += [f"{_time(low)} to {_time(high)}", f"{own['gflops']:.1f}"]
        row += [f"{r['ratio']:.2f}" for n, r in record["contenders"].items() if n != "morello"]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _time(seconds: float) -> str:
    for unit, scale in (("ns", 1e9), ("us", 1e6)):
        if seconds * scale < 1000:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e3:.3g} ms"


def run(cases: Sequence[Case], target: str, threads: int, repeats: int) -> dict[str, Any]:
    """Measure all cases, with progress on the standard error.

    Raises:
        MorelloError: See `measure`.
    """
    compiler = find_compiler()
    cores = pin(threads)
    blas, missing = find_blas(compiler, threads)
    for name in missing:
        click.echo(f"not installed, left out: {name}", err=True)
    records = []
    for case in cases:
        click.echo(f"{case} ...", err=True)
        records.append(measure(case, target, threads, blas, compiler, repeats))
    return {
        "environment": environment(compiler),
        "flags": {"all": STANDARD_FLAGS, "loops": LOOP_FLAGS},
        "target": target,
        "threads": threads,
        "cores": cores,
        "repeats": repeats,
        "left_out": missing,
        "cases": records,
    }


@click.command(help=__doc__)
@sizes_option
@click.option("--target", default="x86.avx512", show_default=True)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=21, show_default=True)
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(
    sizes: Sequence[Case], target: str, threads: int, repeats: int, output: Path | None
) -> None:
    """The command."""
    try:
        document = run(sizes or CASES, target, threads, repeats)
    except MorelloError as error:
        sys.exit(f"error: {error}")
    if output is not None:
        save(document, output)
    machine = document["environment"]
    click.echo(f"{machine['processor']}, {machine['compiler']}, {target}, {threads} threads\n")
    click.echo(table(document))


if __name__ == "__main__":
    main()
