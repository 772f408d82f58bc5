"""How a search grows with levels, layouts and threads of the goal, and with cores: one size.

``python -m benchmarks.growth`` solves a product in variations, a fresh process for each, on one
core; and the larger goals of `CORES` on one core and on two in turn.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.cases import Case
from benchmarks.machine import environment, pin, save
from morello.definitions import load_definitions
from morello.ir.dtypes import F32
from morello.ir.layout import packed
from morello.ir.operators import Operation
from morello.ir.spec import Family, Operand, Spec
from morello.ir.target import Microkernel, Target
from morello.language import ast, target_ast
from morello.language.traverse import children, with_children
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.search import search

SIZE = Case(512, 512, 512)
CORES = (Case(2048, 2048, 2048), Case(4093, 4093, 4093))
REPEATS = 3
COLUMNS = (1, 0)


def without_level(target: Target, name: str) -> Target:
    """A target that lacks a cache: kernels take operands from the others.

    Where a cost says what the way to this cache takes, it is that to the next one behind it.
    """
    names = [level.name for level in target.levels]
    behind = names[names.index(name) + 1]

    def change(pattern: target_ast.KernelOperand) -> target_ast.KernelOperand:
        return replace(pattern, levels=tuple(v for v in pattern.levels if v != name))

    def elsewhere(expr: ast.Expr) -> ast.Expr:
        if isinstance(expr, ast.Name):
            return replace(expr, id=behind) if expr.id == name else expr
        return with_children(expr, [elsewhere(child) for child in children(expr)])

    def kernel(known: Microkernel) -> Microkernel:
        guards = tuple(map(elsewhere, known.guards))
        return replace(known, guards=guards, cost=elsewhere(known.cost))

    left = [level for level in target.levels if level.name != name]
    nearer = tuple(replace(level, distance=place) for place, level in enumerate(left))
    kernels = tuple(map(kernel, target.kernels))
    return with_patterns(replace(target, levels=nearer, kernels=kernels), change)


def without_panels(target: Target) -> Target:
    """A target whose kernels read plain layouts only."""
    return with_patterns(target, lambda pattern: replace(pattern, panels=()))


def with_patterns(
    target: Target, change: Callable[[target_ast.KernelOperand], target_ast.KernelOperand]
) -> Target:
    """A target with the pattern of each operand of each kernel changed."""

    def kernel(known: Microkernel) -> Microkernel:
        operands = tuple(map(change, known.match.operands))
        return replace(known, match=replace(known.match, operands=operands))

    return replace(target, kernels=tuple(map(kernel, target.kernels)))


def goal(case: Case, context: Context, *, columns: Sequence[int] = (), threads: int = 1) -> Spec:
    """A product, operands at these positions with columns together instead of rows."""
    target = context.target
    layouts = [COLUMNS if position in columns else COLUMNS[::-1] for position in range(3)]
    elements = (case.m * case.k, case.k * case.n, case.m * case.n)
    homes = (target.home(count * F32.bytes) for count in elements)
    operands = tuple(Operand(F32, *pair) for pair in zip(homes, layouts, strict=True))
    family = Family(Operation(context.operators["matmul"], 0), operands, threads)
    sizes = (case.m, case.n, case.k)
    return Spec(family, sizes, (0,) * len(target.bounded), (packed(2),) * 3)


Variation = Callable[[Context], tuple[Context, Spec]]


def _variation(change: Callable[[Target], Target] | None = None, **options: Any) -> Variation:
    def make(context: Context) -> tuple[Context, Spec]:
        if change is not None:
            context = replace(context, target=change(context.target))
        return context, goal(SIZE, context, **options)

    return make


VARIATIONS: Mapping[str, Variation] = {
    "four levels, rows, one thread": _variation(),
    "without L2": _variation(lambda target: without_level(target, "l2")),
    "without panels": _variation(without_panels),
    "columns of B together": _variation(columns=(1,)),
    "columns of all together": _variation(columns=(0, 1, 2)),
    "two threads": _variation(threads=2),
}


def solve(name: str, target: str) -> dict[str, Any]:
    """Search one variation in this process, on one core."""
    pin(1)
    definitions = load_definitions()
    context = Context(definitions.targets[target], definitions.operators, definitions.rules)
    context, spec = VARIATIONS[name](context)
    started = time.perf_counter()
    solution = search(context, spec, workers=1)
    return {
        "case": name,
        "seconds": time.perf_counter() - started,
        "families": solution.families,
        "variants": len(solution.solved),
        "cells": solution.cells,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def on_cores(case: Case, target: str, repeats: int) -> dict[str, Any]:
    """Seconds of a search on one core and on two, in turn, in this process."""
    definitions = load_definitions()
    context = Context(definitions.targets[target], definitions.operators, definitions.rules)
    spec = goal(case, context)
    found: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for workers, seconds in found.items():
            started = time.perf_counter()
            search(context, spec, workers=workers)
            seconds.append(time.perf_counter() - started)
    one, two = (median(seconds) for seconds in found.values())
    return {"case": str(case), "one": one, "two": two}


def run(target: str, repeats: int) -> dict[str, Any]:
    """Measure everything, with progress on the standard error.

    Raises:
        subprocess.CalledProcessError: A search failed.
    """
    records = []
    for name in VARIATIONS:
        click.echo(f"growth {name} ...", err=True)
        command = [sys.executable, "-m", "benchmarks.growth", "--one", name, "--target", target]
        done = subprocess.run(
            command, cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True
        )
        records.append(json.loads(done.stdout))
    cores = []
    for case in CORES:
        click.echo(f"cores {case} ...", err=True)
        cores.append(on_cores(case, target, repeats))
    return {"environment": environment(), "target": target, "cases": records, "cores": cores}


def table(document: dict[str, Any]) -> str:
    """The variations as a Markdown table."""
    head = [str(SIZE).replace("x", " x "), "seconds", "peak MiB", "families", "variants", "Specs"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for r in document["cases"]:
        row = [r["case"], f"{r['seconds']:.2f}", f"{r['peak_mib']:.0f}"]
        rows.append([*row, *(f"{r[name]:,}" for name in ("families", "variants", "cells"))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cores_text(document: dict[str, Any]) -> str:
    """A line for every size that was searched on one core and on two."""
    return "\n".join(
        f"* {r['case'].replace('x', ' x ')}: {r['one']:.2f} s on one core, {r['two']:.2f} s on "
        f"two: {r['one'] / r['two']:.2f} times as fast"
        for r in document["cores"]
    )


@click.command(help=__doc__)
@click.option("--target", default="x86.avx512", show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True)
@click.option("--one", hidden=True, help="One variation, in this process, as JSON.")
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(target: str, repeats: int, one: str | None, output: Path | None) -> None:
    """The command."""
    if one:
        click.echo(json.dumps(solve(one, target)))
        return
    try:
        document = run(target, repeats)
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: a search ended with status {error.returncode}")
    if output is not None:
        save(document, output)
    click.echo(f"{document['environment']['processor']}, {target}\n")
    click.echo(table(document))
    click.echo(f"\n{cores_text(document)}")


if __name__ == "__main__":
    main()
