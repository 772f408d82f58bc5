"""What a memo saves: the command from start to finish, cold and warm, and a part of what is solved.

``python -m benchmarks.memo`` compiles each size with a memo of its own that is empty, then again in
new processes, and, where there is a smaller size in the list, that with an empty memo and with the
larger one's. One core. Sizes of the memo are those of its file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.cases import Case, sizes_option, spec_text
from benchmarks.machine import environment, pinned, save

SIZES = (
    Case(64, 64, 64),
    Case(512, 512, 512),
    Case(2048, 2048, 2048),
    Case(1024, 1024, 1024),
    Case(401, 401, 401),
    Case(1, 2048, 16384),
)
REPEATS = 7


class _Bench:
    """Compiles in new processes, all files in one directory."""

    def __init__(self, directory: Path, target: str) -> None:
        self.directory = directory
        self.spec = directory / "matmul.mspec"
        self.spec.write_text(spec_text(target, 1))

    def compile(self, case: Case, memo: str) -> dict[str, Any]:
        """Compile once.

        Returns:
            ``seconds`` from start to finish, ``inside`` those of `morello.compile`, and whether it
            was ``from_memo``.

        Raises:
            subprocess.CalledProcessError: It failed; what it said is on the standard error.
        """
        defines = [part for name, n in case.defines.items() for part in ("-D", f"{name}={n}")]
        started = time.perf_counter()
        document = self._run("compile", str(self.spec), *defines, "--json", memo=memo)
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "inside": document["seconds"],
            "from_memo": document["from_memo"],
        }

    def stats(self, memo: str) -> dict[str, Any]:
        """Numbers of Specs and boxes, and bytes of the file."""
        document = self._run("memo", "stats", "--json", memo=memo)
        return {name: document[name] for name in ("cells", "boxes", "file_bytes")}

    def _run(self, *arguments: str, memo: str) -> dict[str, Any]:
        added = {
            "MORELLO_MEMO": str(self.directory / memo),
            "XDG_CACHE_HOME": str(self.directory / "cache"),
            "PYTHONPYCACHEPREFIX": str(self.directory / "modules"),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        done = subprocess.run(
            [sys.executable, "-m", "morello", *arguments],
            cwd=self.directory,
            env={**os.environ, **added},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _measure(bench: _Bench, case: Case, repeats: int) -> dict[str, Any]:
    memo = f"{case}.sqlite"
    cold = bench.compile(case, memo)
    warm = [bench.compile(case, memo) for _ in range(repeats)]
    assert all(run["from_memo"] for run in warm)
    return {
        "case": str(case),
        "cold": cold["seconds"],
        "cold_inside": cold["inside"],
        "warm": median(run["seconds"] for run in warm),
        "warm_inside": median(run["inside"] for run in warm),
        **bench.stats(memo),
    }


def _parts(bench: _Bench, cases: Sequence[Case], repeats: int) -> list[dict[str, Any]]:
    """Sizes of which a memo of the list has twice: all three divide those of a larger one."""
    found = []
    for small in cases:
        for large in cases:
            pairs = ((large.m, small.m), (large.k, small.k), (large.n, small.n))
            if small != large and all(b == 2 * a for b, a in pairs):
                memo = f"{large}.sqlite"
                runs = [bench.compile(small, memo) for _ in range(repeats)]
                found.append(
                    {
                        "case": str(small),
                        "after": str(large),
                        "seconds": median(run["seconds"] for run in runs),
                        "inside": median(run["inside"] for run in runs),
                    }
                )
    return found


def run(cases: Sequence[Case], target: str, repeats: int) -> dict[str, Any]:
    """Measure all cases, with progress on the standard error.

    Raises:
        subprocess.CalledProcessError: A compile failed.
    """
    with pinned(1), tempfile.TemporaryDirectory(prefix="morello-") as name:
        bench = _Bench(Path(name), target)
        bench.compile(Case(2, 2, 2), "first.sqlite")  # fills the caches of start-up
        records = []
        for case in cases:
            click.echo(f"memo {case} ...", err=True)
            records.append(_measure(bench, case, repeats))
        parts = _parts(bench, cases, repeats)
    return {
        "environment": environment(),
        "target": target,
        "repeats": repeats,
        "cases": records,
        "parts": parts,
    }


def table(document: dict[str, Any]) -> str:
    """The measurements as a Markdown table."""
    head = ["size (M x K x N)", "cold, s", "warm, s", "Specs", "boxes", "Specs a box", "KiB"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for r in document["cases"]:
        row = [r["case"].replace("x", " x "), f"{r['cold']:.2f}", f"{r['warm']:.2f}"]
        row += [f"{r['cells']:,}", f"{r['boxes']:,}", f"{r['cells'] / r['boxes']:.0f}"]
        rows.append([*row, f"{r['file_bytes'] / 1024:,.0f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def parts_text(document: dict[str, Any]) -> str:
    """A line for every size that was answered from a larger one's memo."""
    cold = {record["case"]: record for record in document["cases"]}
    return "\n".join(
        f"* {r['case'].replace('x', ' x ')} after {r['after'].replace('x', ' x ')}: "
        f"{r['seconds']:.2f} s, of them {r['inside']:.2f} s compiling, which is "
        f"{r['inside'] / cold[r['case']]['cold_inside']:.1%} of cold"
        for r in document["parts"]
    )


@click.command(help=__doc__)
@sizes_option
@click.option("--target", default="x86.avx512", show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True)
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(sizes: Sequence[Case], target: str, repeats: int, output: Path | None) -> None:
    """The command."""
    try:
        document = run(sizes or SIZES, target, repeats)
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: a compile ended with status {error.returncode}")
    if output is not None:
        save(document, output)
    click.echo(f"{document['environment']['processor']}, one core, {target}\n")
    click.echo(table(document))
    click.echo(f"\n{parts_text(document)}")


if __name__ == "__main__":
    main()
