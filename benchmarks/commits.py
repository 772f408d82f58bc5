"""What a compilation takes at two commits, in turn: CPU seconds and memory of whole processes.

``python -m benchmarks.commits OLD`` installs both commits, each in an environment of its own, and
compiles `CASES` with one and the other: with an empty memo file, as the command is called by
default, or with ``--no-memo``, on one core. What is installed is kept with ``--keep DIR``. Cycles
that are predicted are shown as a ratio: kernels and costs change with commits, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import click

from benchmarks.cases import ELEMENTS, SPEC
from benchmarks.machine import environment, git, pinned, save

PROJECT = Path(__file__).resolve().parent.parent

EXAMPLES = (
    "attention",
    "batched_matmul",
    "convolution",
    "feed_forward",
    "mlp",
    "resnet_block",
    "rms_norm_matmul",
    "softmax",
    "statistics",
)

_PRODUCTS = {
    **{str(n): ("f32", (n, n, n), 1) for n in (16, 64, 256, 401, 1024, 4093, 4096)},
    "bf16": ("bf16", (512, 512, 512), 1),
    "u8s8": ("u8s8", (512, 512, 512), 1),
    "8 threads": ("f32", (1024, 1024, 1024), 8),
}

_BATCH = """spec batch(B = 8, N = 64) {
  input a: f32[B, N, N]
  input b: f32[B, N, N]
  output c: f32[B, N, N]
  c = matmul(a, b)
}
"""

_WIDE_SOFTMAX = """spec rows(M = 32, N = 32768) {
  input x: f32[M, N]
  output y: f32[M, N]
  y = softmax(x)
}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One compilation. ``memory`` is the peak in MiB."""

    seconds: float
    memory: float
    specs: int
    cycles: float


def cases(target: str) -> Mapping[str, str]:
    """Texts of specs, by name."""
    examples = {n: (PROJECT / "examples" / f"{n}.mspec").read_text() for n in EXAMPLES}
    return examples | {
        **{name: _product(target, *what) for name, what in _PRODUCTS.items()},
        "batch of 8": _BATCH,
        "softmax 32 x 32768": _WIDE_SOFTMAX,
    }


def _product(target: str, dtypes: str, sizes: tuple[int, int, int], threads: int) -> str:
    a, b, c = ELEMENTS[dtypes]
    text = SPEC.format(target=target, threads=threads, a=a, b=b, c=c, role="input")
    m, k, n = sizes
    return text.replace("(M, K, N)", f"(M = {m}, K = {k}, N = {n})")


def install(commit: str, directory: Path) -> Path:
    """The Python of an environment with a commit in it; what is there already is left.

    Raises:
        subprocess.CalledProcessError: There is no such commit, or it cannot be installed.
    """
    tree, home = directory / "tree", directory / "environment"
    python = home / "bin" / "python"
    if not (directory / "done").exists():
        tree.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "-C", str(PROJECT), "archive", commit], check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
        venv.create(home, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", str(tree)], check=True)
        (directory / "done").touch()
    return python


def compile_once(python: Path, spec: Path, target: str, *, memo: bool) -> Run:
    """Compile in a new process, with an empty memo or with none.

    Raises:
        subprocess.CalledProcessError: It failed; what it said is on the standard error.
    """
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        arguments = ["compile", str(spec), "-t", target, "-o", f"{name}/out.c", "--json"]
        command = [str(python), "-m", "morello", *arguments, *([] if memo else ["--no-memo"])]
        # Caches of parsed definitions stay from one run to the next, as a user's do.
        added = {
            "XDG_CACHE_HOME": str(python.parent.parent / "cache"),
            "MORELLO_MEMO": f"{name}/memo.sqlite",
        }
        with (Path(name) / "said").open("w+") as said:
            started = subprocess.Popen(
                command, cwd=name, env={**os.environ, **added}, stdout=said, text=True
            )
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            if started.returncode:
                print(said.read(), file=sys.stderr)
                raise subprocess.CalledProcessError(started.returncode, command)
            document = json.load(said)
    return Run(
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        document["cells"],
        document["cycles"],
    )


def in_turn(
    pythons: Sequence[Path], text: str, target: str, *, memo: bool, repeats: int
) -> list[Run]:
    """For each environment, the medians of its runs."""
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        spec = Path(name) / "case.mspec"
        spec.write_text(text)
        runs: list[list[Run]] = [[] for _ in pythons]
        for _ in range(repeats):
            for python, found in zip(pythons, runs, strict=True):
                found.append(compile_once(python, spec, target, memo=memo))
    return [
        Run(
            median(run.seconds for run in found),
            median(run.memory for run in found),
            found[0].specs,
            found[0].cycles,
        )
        for found in runs
    ]


@contextmanager
def _kept(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="morello-") as name:
        yield Path(name)


def table(records: Sequence[dict[str, Any]]) -> str:
    """The measurements as a Markdown table; ratios are those of the old commit to the new."""
    head = ["case", "CPU s", "", "ratio", "MiB", "", "Specs", "", "predicted"]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for record in records:
        old, new = record["old"], record["new"]
        rows.append(
            [
                record["case"],
                f"{old['seconds']:.2f}",
                f"{new['seconds']:.2f}",
                f"**{old['seconds'] / new['seconds']:.1f}**",
                f"{old['memory']:.0f}",
                f"{new['memory']:.0f}",
                f"{old['specs']:,}",
                f"{new['specs']:,}",
                f"{old['cycles'] / new['cycles']:.2f}",
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@click.command(help=__doc__)
@click.argument("old")
@click.argument("new", default="HEAD")
@click.option("--target", default="x86.avx2", show_default=True)
@click.option("--cases", "only", help="Names, with commas between them. Default: all.")
@click.option("--no-memo", is_flag=True, help="Compile with --no-memo.")
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path, file_okay=False))
@click.option("--json", "output", type=click.Path(path_type=Path, dir_okay=False))
def main(
    old: str,
    new: str,
    target: str,
    only: str | None,
    no_memo: bool,
    repeats: int,
    keep: Path | None,
    output: Path | None,
) -> None:
    known = cases(target)
    names = [name.strip() for name in only.split(",")] if only else list(known)
    if wrong := [name for name in names if name not in known]:
        raise click.UsageError(f"no case '{wrong[0]}': there are {', '.join(known)}")
    records: list[dict[str, Any]] = []
    with _kept(keep) as directory, pinned(1):
        commits = [git("rev-parse", "--verify", f"{commit}^{{commit}}") for commit in (old, new)]
        pythons = [install(commit, directory / commit) for commit in commits]
        for python in pythons:  # what is compiled once for all goals is there, as for a user
            in_turn([python], known["16"], target, memo=not no_memo, repeats=1)
        for name in names:
            before, after = in_turn(pythons, known[name], target, memo=not no_memo, repeats=repeats)
            records.append({"case": name, "old": asdict(before), "new": asdict(after)})
            print(f"{name}: {before.seconds:.2f} s, {after.seconds:.2f} s", file=sys.stderr)
    ratios = [record["old"]["seconds"] / record["new"]["seconds"] for record in records]
    print(table(records))
    print(f"\ngeometric mean {geometric_mean(ratios):.2f}, least {min(ratios):.2f}")
    if output is not None:
        document = {"environment": environment(), "commits": commits, "repeats": repeats}
        save(document | {"memo": not no_memo, "cases": records}, output)


if __name__ == "__main__":
    main()
