"""Measures everything that the documentation quotes, and writes it there.

``python -m benchmarks.figures`` runs `benchmarks.matmul` (for each of `PRODUCTS`, and `NARROW`),
`benchmarks.networks`, `benchmarks.search`, `benchmarks.growth`, `benchmarks.memo`,
`benchmarks.model` and `benchmarks.pruning`, keeps their records in ``benchmarks/results/``, draws
pictures there, and writes the tables between the marks ``<!-- figures: NAME -->`` and
``<!-- end -->`` of the pages. With ``--only`` some are measured again, with ``--write-only`` none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks import growth, matmul, memo, model, model_report, networks, pruning, report, search
from benchmarks.cases import CASES, narrow
from benchmarks.machine import save
from benchmarks.matmul import Options
from morello.ir.pruning import PRUNINGS
from morello.runtime.target_choice import NATIVE

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "benchmarks" / "results"
PAGES = ("README.md", "docs/search.md", "docs/cost-model.md", "benchmarks/README.md")
TARGET = "x86.avx512"
MEASURED = NATIVE  # what runs here; what is only searched is for `TARGET`
REPEATS = 21

PRODUCTS: Mapping[str, Options] = {
    "matmul": Options(MEASURED, repeats=REPEATS),
    "matmul-avx512": Options("x86.avx512_bf16", repeats=REPEATS),
    "matmul-avx2": Options("x86.avx2", repeats=REPEATS),
    "matmul-threads": Options(MEASURED, threads=2, repeats=REPEATS),
}
"""How products are measured, by the name of the record. Here and below, those that were never
measured are left out of the pages; the first is always there."""

NARROW = (60, 20261127)
"""How many small and narrow products are drawn, and the seed: the day when they were measured."""

NETWORKS: Mapping[str, int] = {"networks": 1, "networks-threads": 2}
"""Threads of parts of networks, by the name of the record."""

MARKED = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """What stands between the marks of each name, from the records that are kept."""
    searched = _record("search")
    return {
        "matmul": _matmul(_record("matmul"), "warm"),
        "contenders": "\n".join(_contenders(name) for name in kept(PRODUCTS)),
        "narrow": _matmul(_record("narrow"), "warm"),
        "networks": "\n".join(_networks(_record(name)) for name in kept(NETWORKS)),
        "search": _search(searched),
        "bounds": f"{search.bounds_table(searched)}\n",
        "growth": _growth(_record("growth")),
        "memo": _memo(_record("memo")),
        "model": _model(_record("model")),
        "pruning": _pruning(_record("pruning")),
    }


def _record(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return document


def kept(names: Iterable[str]) -> list[str]:
    """Those of which there is a record."""
    return [name for name in names if (RESULTS / f"{name}.json").is_file()]


def _threads(document: dict[str, Any]) -> str:
    return "one thread" if document["threads"] == 1 else f"{document['threads']} threads"


def _matmul(document: dict[str, Any], mode: str) -> str:
    return (
        f"{_machine(document)}; {document['environment']['compiler']}; "
        f"target {document['target']}; {_threads(document)}; caches {mode}; medians of "
        f"{document['repeats']} turns. "
        '"Against it": time of the other over ours in the same turn; above 1, ours is '
        f"faster.\n\n{report.table(document, mode)}\n"
    )


def _contenders(name: str) -> str:
    """All about one record: its picture, and for each mode the table, and everybody's rates."""
    document = _record(name)
    parts = [f"### {document['target']}, threads: {document['threads']}\n"]
    parts.append(f"![Shares of the limit](results/{name}.svg)\n")
    for mode in document["modes"]:
        parts += [_matmul(document, mode), "GFLOP/s of all:\n", f"{report.rates(document, mode)}\n"]
    parts.append(f"{report.contenders_text(document)}\n")
    return "\n".join(parts)


def _networks(document: dict[str, Any]) -> str:
    return (
        f"{_machine(document)}; {document['environment']['compiler']}; PyTorch "
        f"{document['environment']['versions']['torch']}; {_threads(document)}; medians of "
        f"{document['repeats']} turns.\n\n{networks.table(document)}\n"
    )


def _search(document: dict[str, Any]) -> str:
    return (
        f"{_machine(document)}; target {document['target']}; one core, a fresh process for each "
        f"size.\n\n{search.table(document)}\n"
    )


def _growth(document: dict[str, Any]) -> str:
    return f"{growth.table(document)}\n\n{growth.cores_text(document)}\n"


def _memo(document: dict[str, Any]) -> str:
    return f"{memo.table(document)}\n\n{memo.parts_text(document)}\n"


def _model(document: dict[str, Any]) -> str:
    return (
        f"{_machine(document)}; target {document['target']}; the {document['best']} best by "
        f"prediction and others that were drawn; medians of {document['rounds']} turns.\n\n"
        f"{model_report.table(document)}\n\n{model_report.summary(document)}\n"
    )


def _pruning(document: dict[str, Any]) -> str:
    return f"At commit {document['commit']}:\n\n{pruning.table(document)}\n"


def _machine(document: dict[str, Any]) -> str:
    machine = document["environment"]
    sizes = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    return f"{machine['processor']} ({sizes})"


def updated(text: str, found: dict[str, str]) -> str:
    """A page with its tables replaced."""
    return MARKED.sub(lambda match: match[1] + found[match[2]] + match[3], text)


def _product(options: Options) -> Callable[[], dict[str, Any]]:
    return lambda: matmul.run(CASES, options)


def _narrow() -> dict[str, Any]:
    only = ("MKL", "LIBXSMM", "loop")
    return matmul.run(
        narrow(*NARROW), Options("x86.avx2", repeats=REPEATS, modes=("warm",), only=only)
    )


def _network(threads: int) -> Callable[[], dict[str, Any]]:
    return lambda: networks.run(threads, REPEATS)


MEASUREMENTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "narrow": _narrow,
    "search": lambda: search.run(search.SIZES, TARGET),
    "growth": lambda: growth.run(TARGET, growth.REPEATS),
    "memo": lambda: memo.run(memo.SIZES, TARGET, memo.REPEATS),
    "model": lambda: model.run(model.SIZES, model.Options(MEASURED)),
    "pruning": lambda: pruning.run(list(pruning.goals()), list(PRUNINGS), pruning.LIMITS),
    **{name: _network(threads) for name, threads in NETWORKS.items()},
    **{name: _product(options) for name, options in PRODUCTS.items()},
}
"""By the name of the record."""


def _measure(names: Sequence[str]) -> None:
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        document = MEASUREMENTS[name]()
        if document.get("interrupted"):
            raise click.Abort
        save(document, RESULTS / f"{name}.json")


def _draw() -> None:
    from benchmarks import model_plot, plot  # noqa: PLC0415 - they need matplotlib

    for name in kept(PRODUCTS):
        plot.draw(_record(name), RESULTS / f"{name}.svg")
    model_plot.draw(_record("model"), RESULTS / "model.svg")


@click.command(help=__doc__)
@click.option("--only", multiple=True, type=click.Choice(list(MEASUREMENTS)), help="Measure these.")
@click.option("--write-only", is_flag=True, help="Use the records that are kept.")
def main(only: tuple[str, ...], write_only: bool) -> None:
    """The command."""
    if not write_only:
        _measure(only or list(MEASUREMENTS))
    _draw()
    for page in PAGES:
        path = PROJECT / page
        path.write_text(updated(path.read_text(), tables()))


if __name__ == "__main__":
    main()
