"""What coarser targets save and what they cost, step by step.

``python -m benchmarks.coarsening`` searches products of `SIZES` on the target and on every coarser
one. It counts Specs and compares predicted costs; nothing is timed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import click

from benchmarks.cases import Case, parse_cases
from benchmarks.growth import goal
from morello.definitions import load_definitions
from morello.ir.dtypes import F32
from morello.ir.target import Target
from morello.records import replace
from morello.rewriting.context import Context
from morello.search.planning.coarsening import changes, coarser
from morello.search.search import search

SIZES = "512x512x512,401x401x401,37x53x71"


def rows(case: Case, context: Context) -> Iterator[tuple[str, ...]]:
    """For the target and every coarser one: what changed, Specs, cost over that of the first."""
    full = context.target
    least: float | None = None
    said: tuple[str, ...] | None = None
    for target in (full, *coarser(full, [F32])):
        text = changes(full, target, max(case.m, case.k, case.n))
        if text == said:  # only tiles that are larger than this product went
            continue
        said = text
        used = replace(context, target=target)
        spec = goal(case, used)
        solution = search(used, spec)
        cost = solution.intensity(spec) * prod(spec.sizes)
        least = cost if least is None else least
        yield ", ".join(text) or "nothing", f"{solution.cells:,}", f"{cost / least:.3f}"


@click.command(help=__doc__)
@click.option("--sizes", default=SIZES, callback=parse_cases, show_default=True)
@click.option("--target", default="x86.avx512", show_default=True)
def main(sizes: Sequence[Case], target: str) -> None:
    """The command."""
    definitions = load_definitions()
    chosen: Target = definitions.targets[target]
    context = Context(chosen, definitions.operators, definitions.rules)
    for case in sizes:
        click.echo(f"\n| {case}: coarser | Specs | predicted cost |\n| --- | ---: | ---: |")
        for row in rows(case, context):
            click.echo(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
