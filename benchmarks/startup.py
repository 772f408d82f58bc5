"""How long the command takes before and beside the search: new processes, from start to finish.

``python -m benchmarks.startup`` measures `CONTENDERS` in turn, so that a busy machine is busy for
all of them, and gives medians. What is compiled is so small that little is searched. Python and
numpy alone are measured too: less is not to be had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.machine import environment, save

PROJECT = Path(__file__).resolve().parent.parent
REPEATS = 15

_MORELLO = ("-m", "morello")
_COMPILE = (
    *(*_MORELLO, "compile", str(PROJECT / "examples" / "matmul.mspec"), "--target", "x86.scalar"),
    *("-D", "M=2", "-D", "K=2", "-D", "N=2", "--json"),
)
_OFF = {"MORELLO_CACHE": "off"}

CONTENDERS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "python -c pass": (("-c", "pass"), {}),
    "python -c 'import numpy'": (("-c", "import numpy"), {}),
    "morello --version": ((*_MORELLO, "--version"), {}),
    "morello --help": ((*_MORELLO, "--help"), {}),
    "morello rules": ((*_MORELLO, "rules"), {}),
    "morello compile": (_COMPILE, {}),
    "morello compile, MORELLO_CACHE=off": (_COMPILE, _OFF),
}
"""Name -> arguments of Python, and what is added to its environment."""


def run_once(
    arguments: tuple[str, ...], added: Mapping[str, str], directory: Path
) -> tuple[float, float]:
    """Run Python once; its caches and outputs go to a directory.

    Modules are compiled once, as they are when a package is installed.

    Returns:
        Seconds from start to finish, and of them those inside `morello.compile`, if it is called:
        reading the spec, the search, emitting.

    Raises:
        subprocess.CalledProcessError: It failed; what it said is on the standard error.
    """
    caches = {
        "XDG_CACHE_HOME": str(directory / "cache"),
        "PYTHONPYCACHEPREFIX": str(directory / "modules"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, **caches, **added},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds = time.perf_counter() - started
    inside = json.loads(done.stdout)["seconds"] if "--json" in arguments else 0.0
    return seconds, inside


def run(repeats: int) -> dict[str, Any]:
    """Measure all contenders.

    Raises:
        subprocess.CalledProcessError: See `run_once`.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        directory = Path(name)
        for arguments, added in CONTENDERS.values():  # the first fills the caches, and is not timed
            run_once(arguments, added, directory)
        for _ in range(repeats):
            for contender, (arguments, added) in CONTENDERS.items():
                times[contender].append(run_once(arguments, added, directory))
    records = [
        {
            "case": contender,
            "seconds": median(seconds for seconds, _ in found),
            "least_seconds": min(seconds for seconds, _ in found),
            "compiling_seconds": median(inside for _, inside in found),
        }
        for contender, found in times.items()
    ]
    return {"environment": environment(), "repeats": repeats, "cases": records}


def table(document: dict[str, Any]) -> str:
    """The measurements as a Markdown table."""
    head = ["command", "ms", "least", "of them compiling"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    columns = ("seconds", "least_seconds", "compiling_seconds")
    rows += [
        [f"`{record['case']}`", *(f"{record[column] * 1e3:.0f}" for column in columns)]
        for record in document["cases"]
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@click.command(help=__doc__)
@click.option("--repeats", type=click.IntRange(1), default=REPEATS, show_default=True)
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(repeats: int, output: Path | None) -> None:
    """The command."""
    try:
        document = run(repeats)
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: a command ended with status {error.returncode}")
    if output is not None:
        save(document, output)
    click.echo(f"{document['environment']['processor']}, median of {repeats}\n")
    click.echo(table(document))


if __name__ == "__main__":
    main()
