"""Measures everything that the documentation quotes, and writes it there.

``python -m benchmarks.figures`` runs `benchmarks.matmul`, `benchmarks.search`, `benchmarks.growth`
and `benchmarks.memo`, keeps their records in ``benchmarks/results/``, and writes the tables between
the marks ``<!-- figures: NAME -->`` and ``<!-- end -->`` of the pages. With ``--write-only``
nothing is measured again.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from benchmarks import growth, matmul, memo, search
from benchmarks.cases import CASES
from benchmarks.machine import save

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "benchmarks" / "results"
PAGES = ("README.md", "docs/search.md")
TARGET = "x86.avx512"
REPEATS = 41

MARKED = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> dict[str, str]:
    """What stands between the marks of each name, from the records that are kept."""
    searched = json.loads((RESULTS / "search.json").read_text())
    return {
        "matmul": _matmul(json.loads((RESULTS / "matmul.json").read_text())),
        "search": _search(searched),
        "bounds": f"{search.bounds_table(searched)}\n",
        "growth": _growth(json.loads((RESULTS / "growth.json").read_text())),
        "memo": _memo(json.loads((RESULTS / "memo.json").read_text())),
    }


def _matmul(document: dict[str, Any]) -> str:
    threads = "one thread" if document["threads"] == 1 else f"{document['threads']} threads"
    return (
        f"{_machine(document)}; {document['environment']['compiler']}; "
        f'target {document["target"]}; {threads}. Columns "against": time of the other over '
        f"ours in the same turn, median of {document['repeats']} turns; above 1, ours is faster."
        "\n\n"
        f"{matmul.table(document)}\n"
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


def _machine(document: dict[str, Any]) -> str:
    machine = document["environment"]
    sizes = ", ".join(f"{name} {size}" for name, size in machine["caches"].items())
    return f"{machine['processor']} ({sizes})"


def updated(text: str, found: dict[str, str]) -> str:
    """A page with its tables replaced."""
    return MARKED.sub(lambda match: match[1] + found[match[2]] + match[3], text)


def _measure() -> None:
    RESULTS.mkdir(exist_ok=True)
    documents = {
        "search": search.run(search.SIZES, TARGET),
        "growth": growth.run(TARGET, growth.REPEATS),
        "memo": memo.run(memo.SIZES, TARGET, memo.REPEATS),
        "matmul": matmul.run(CASES, TARGET, 1, REPEATS),
    }
    for name, document in documents.items():
        save(document, RESULTS / f"{name}.json")


@click.command(help=__doc__)
@click.option("--write-only", is_flag=True, help="Use the records that are kept.")
def main(write_only: bool) -> None:
    """The command."""
    if not write_only:
        _measure()
    for page in PAGES:
        path = PROJECT / page
        path.write_text(updated(path.read_text(), tables()))


if __name__ == "__main__":
    main()
