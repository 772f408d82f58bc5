"""Shapes and small graphs that nobody chose, against the best of other runtimes.

``python -m benchmarks.unnamed --count 60 --seed 20261127`` draws so many ONNX models of the kinds
of `KINDS`, imports each, compares its results with those of ONNX Runtime, and measures both by
turns, with equally many threads, and with them the other `benchmarks.runtimes` that are installed.
Ratios are of the best of these. It prints a table by kind, and the cases where we are slowest. A
case that cannot be imported, or whose results differ, is named. Nothing is tuned to cases that are
drawn anew: the seed of a table that is published is the day on which it was made. With ``--threads
2`` it also says how much faster we are than with one.

Of the slowest it says how many cycles were predicted for each nanosecond. Where these are fewer
than the processor's clock, a program is slower than the cost model takes it for: a kernel is slow,
or a cost is too low. Else nothing faster was in the space of programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import click

from benchmarks.machine import environment, save
from benchmarks.models import imported, measure
from benchmarks.unnamed_kinds import KINDS, Graph, draw
from morello.errors import MorelloError
from morello.runtime.target_choice import NATIVE
from morello.toolchain.compilers import find_compiler


def measured(graph: Graph, target: str, repeats: int, threads: int = 1) -> dict[str, Any]:
    """All times of a case; or, as ``failed``, why there are none.

    Of several threads also how many times as fast as one they are: ``gain``.
    """
    with TemporaryDirectory(prefix="morello-") as name:
        place = Path(name)
        graph.write(place / "model.onnx")
        try:
            model, alone = place / "model.onnx", None
            seconds = imported("drawn", model, place, target, graph.inputs, threads)
            if threads > 1:
                imported("alone", model, place, target, graph.inputs)
                alone = place / "alone"
            found = measure(place / "drawn", model, 1, repeats, threads, alone)
        except MorelloError as error:
            return {"failed": str(error).partition("\n")[0]}
    if not found["error"] <= graph.most_error:
        return {"failed": f"results differ by {found['error']:.1e}"}
    return {**found, "import": seconds}


def table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lines: what could not be measured; by kind, and all; then the slowest cases."""
    for r in records:
        if "failed" in r:
            yield f"{r['kind']} {r['what']}: {r['failed']}\n"
    timed = [r for r in records if "ratio" in r]
    if not timed:
        return
    yield "| | cases | geometric mean | tenth percentile | smallest | search, CPU s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    kinds = dict.fromkeys(r["kind"] for r in timed)
    for name in (*kinds, "all"):
        own = [r for r in timed if name in (r["kind"], "all")]
        ratios = [r["ratio"] for r in own]
        tenth = quantiles(ratios, n=10, method="inclusive")[0] if len(ratios) > 1 else ratios[0]
        searched = geometric_mean(r["import"] for r in own)
        cells = (geometric_mean(ratios), tenth, min(ratios))
        text = " | ".join(f"{value:.2f}" for value in cells)
        yield f"| {name.replace('_', ' ')} | {len(own)} | {text} | {searched:.1f} |"
    yield ""
    yield "| slowest | | ours, us | best, us | of | ratio | predicted cycles a nanosecond |"
    yield "| --- | --- | ---: | ---: | --- | ---: | ---: |"
    for r in sorted(timed, key=lambda r: r["ratio"])[:10]:
        times = " | ".join(f"{time * 1e6:.1f}" for time in (r["ours"], r["others"][r["best"]]))
        said = f"{r['kind'].replace('_', ' ')} | {r['what']} | {times} | {r['best']}"
        yield f"| {said} | {r['ratio']:.2f} | {r['predicted'] / r['ours'] / 1e9:.1f} |"
    gains = sorted((r["gain"], r["what"]) for r in timed if "gain" in r)
    if gains:
        least = "; ".join(f"{what}: {gain:.2f}" for gain, what in gains[:5])
        mean = geometric_mean(gain for gain, _ in gains)
        yield f"\nagainst one thread: {mean:.2f} times as fast; least: {least}"


@click.command(help=__doc__)
@click.option("--count", default=30, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True)
@click.option("--only", default="", help="Kinds whose names contain this.")
@click.option("-t", "--target", default=NATIVE, show_default=True)
@click.option("--repeats", default=11, show_default=True, help="Turns that count.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1))
@click.option("--json", "path", type=click.Path(path_type=Path), help="Where to write the record.")
def main(
    count: int, seed: int, only: str, target: str, repeats: int, threads: int, path: Path | None
) -> None:
    """See the module."""
    kinds = [kind for kind in KINDS if only in kind.__name__]
    if not kinds:
        raise click.UsageError(f"no kind has '{only}' in its name")
    records: list[dict[str, Any]] = []
    for kind, graph in draw(count, seed, kinds):
        found = measured(graph, target, repeats, threads)
        records.append({"kind": kind, "what": graph.what, **found})
        said = found.get("failed") or f"{found['ratio']:.2f}"
        click.echo(f"{len(records)} of {count}: {kind} {graph.what}: {said}", err=True)
        if path is not None:
            own = {"target": target, "seed": seed, "threads": threads, "cases": records}
            save({**environment(find_compiler()), **own}, path)
    click.echo("\n".join(table(records)))


if __name__ == "__main__":
    main()
