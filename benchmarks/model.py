"""How far the predicted costs can be trusted: many programs for each of some products, measured.

``python -m benchmarks.model`` takes, for every product, the programs that the search finds best and
others that are drawn from its space. All programs of a product take turns. What the table shows is
said in `benchmarks.model_report`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import click

from benchmarks.cases import Case, sizes_option
from benchmarks.machine import environment, pinned, save
from benchmarks.model_drawing import draw
from benchmarks.model_report import summary, table
from morello.calibration.fitting import require_libraries
from morello.calibration.measuring import chain as chain_of_instructions
from morello.calibration.measuring import cycles_by_turns
from morello.codegen.generate import Writer
from morello.codegen.goals import goal_specs
from morello.compiler import compile_spec
from morello.definitions import Definitions, load_definitions
from morello.errors import MorelloError
from morello.ir.programs.emitted import EmitOptions
from morello.kernel import Kernel
from morello.memo.memo import Memo
from morello.runtime.timing import contender
from morello.search.results.solution import Solution
from morello.toolchain.compilers import find_compiler

SIZES = tuple(
    Case(*sizes)
    for sizes in (
        (64, 64, 64),
        (100, 100, 100),
        (128, 128, 128),
        (256, 256, 256),
        (401, 401, 401),
        (512, 512, 512),
        (1000, 1000, 1000),
        (128, 768, 3072),
        (6, 4096, 16),
        (1, 2048, 16384),
    )
)
"""Of those that other libraries are measured with: within each cache, beyond all, and odd ones."""

TARGET = "x86.avx512"

BEST = 10
"""Programs of each product that are the best by prediction."""

PROGRAMS = 22
"""Programs of each product in all."""

DRAWS_A_PROGRAM = 10
"""So often is drawn at most for every program; where that gives few new ones, there are fewer."""

LONGEST = 200_000
"""Characters of a program that is drawn, or twice those of the best: compilers take their time."""

ROUNDS = 15

SPEC = """spec matmul(M = {m}, K = {k}, N = {n}) {{
  input  a: f32[M, K]
  input  b: f32[K, N]
  output c: f32[M, N]
  c = matmul(a, b)
}}
"""


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure. ``best`` of the ``programs`` of a product are the best by prediction."""

    target: str = TARGET
    best: int = BEST
    programs: int = PROGRAMS
    rounds: int = ROUNDS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Entrant:
    """A program: its place by prediction, from 1, among the best; none for one that was drawn."""

    kernel: Kernel
    place: int | None


def entrants(case: Case, definitions: Definitions, options: Options) -> list[Entrant]:
    """Different programs for a product: no two have the same text.

    The best come first, in the order of prediction.

    Raises:
        MorelloError: Nothing implements it.
    """
    source = SPEC.format(m=case.m, k=case.k, n=case.n)
    first = compile_spec(source, target=options.target, definitions=definitions, memo=Memo())
    target, (tree,) = first.program.target, first.plan.trees
    solution = tree.solved
    assert isinstance(solution, Solution)
    writer = Writer(first.goal, target, definitions.emitters[target.emitter], EmitOptions(False))
    (goal,) = goal_specs(target, first.goal)
    solved = [(solution, goal)]
    best = writer.distinct(solved, writer.choices(solved), options.best)
    drawn = islice(draw(solution, goal, options.seed), DRAWS_A_PROGRAM * options.programs)
    others = writer.programs(solved, ([root] for root in drawn))
    longest = max(LONGEST, 2 * len(first.source))
    found: dict[str, Entrant] = {}
    for place, written in enumerate(chain(best, others), start=1):
        kernel = Kernel(first.goal, *written, first.statistics)
        if place > len(best) and len(kernel.source) > longest:
            continue
        entrant = Entrant(kernel, place if place <= len(best) else None)
        found.setdefault(kernel.source, entrant)
        if len(found) == options.programs:
            break
    return list(found.values())


def measure_case(case: Case, definitions: Definitions, options: Options) -> dict[str, Any]:
    """The record of one product.

    Raises:
        MorelloError: A program cannot be found, built or run.
    """
    found = entrants(case, definitions, options)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # compilers are processes of their own
        functions = list(pool.map(lambda one: one.kernel.function, found))
    arrays = found[0].kernel.random_arguments()
    programs = {str(place): contender(f, arrays) for place, f in enumerate(functions)}
    with pinned(1):
        runs = cycles_by_turns(programs, chain_of_instructions(), options.rounds)
    measured = zip(found, runs.values(), strict=True)
    return {
        "case": str(case),
        "volume": case.m * case.k * case.n,
        "programs": [_record(entrant, cycles) for entrant, cycles in measured],
    }


def _record(entrant: Entrant, cycles: Sequence[float]) -> dict[str, Any]:
    low, _, high = quantiles(cycles, n=4, method="inclusive")
    return {
        "place": entrant.place,
        "predicted": entrant.kernel.cost,
        "cycles": median(cycles),
        "quartiles": [low, high],
        "halves": [median(cycles[::2]), median(cycles[1::2])],
        "program": entrant.kernel.plan.summary(),
    }


def run(cases: Sequence[Case], options: Options) -> dict[str, Any]:
    """Measure all products with the shipped coefficients, with progress on the standard error.

    Raises:
        MorelloError: A library or the target is missing, or see `measure_case`.
    """
    require_libraries()
    definitions = load_definitions(fitted=False)
    records = []
    for case in cases:
        click.echo(f"model {case} ...", err=True)
        records.append(measure_case(case, definitions, options))
    return {
        "environment": environment(find_compiler()),
        "target": options.target,
        "best": options.best,
        "rounds": options.rounds,
        "seed": options.seed,
        "cases": records,
    }


@click.command(help=__doc__)
@sizes_option
@click.option("--target", default=TARGET, show_default=True)
@click.option("--best", type=click.IntRange(2), default=BEST, show_default=True)
@click.option("--programs", type=click.IntRange(2), default=PROGRAMS, show_default=True)
@click.option("--rounds", type=click.IntRange(2), default=ROUNDS, show_default=True)
@click.option("--seed", default=0, show_default=True, help="Of what is drawn.")
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(sizes: Sequence[Case], output: Path | None, **options: Any) -> None:
    """The command."""
    try:
        document = run(sizes or SIZES, Options(**options))
    except MorelloError as error:
        sys.exit(f"error: {error}")
    if output is not None:
        save(document, output)
    click.echo(f"{document['environment']['processor']}, {document['target']}\n")
    click.echo(f"{table(document)}\n\n{summary(document)}")


if __name__ == "__main__":
    main()
