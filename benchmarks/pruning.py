"""What each rule of thumb that leaves programs out saves, and what it loses.

``python -m benchmarks.pruning`` searches the goals of ``pruning.toml`` with all prunings, and with
all but one, for each of them: Specs, and the predicted cost of the best program. Nothing is timed.
A search that takes longer than ``--seconds`` of CPU, or more than ``--specs``, is given up.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, TypedDict

import click

from benchmarks.machine import commit, save
from morello.ir.pruning import PRUNINGS, SWITCH, asked

HERE = Path(__file__).parent
GOALS = HERE / "pruning.toml"
NOTHING = 5e-5
"""A difference of costs that is none: of sums in another order, or as good as none."""

ALL = ""
"""The name of the search in which nothing is switched off."""


class Found(TypedDict):
    """Of one search: how many Specs, cycles of the best program, and what had an effect."""

    specs: int
    cycles: float
    asked: list[str]


Searched = Mapping[str, Mapping[str, Found | None]]
"""What was found for each goal, by what was switched off; nothing where that was given up."""


class Goal(TypedDict):
    """A goal of the file: the statements of a spec, and the name of the target."""

    target: str
    spec: str


def goals(path: Path = GOALS) -> dict[str, Goal]:
    """Those of a file, by name."""
    return {
        name: Goal(target=goal["target"], spec=goal["spec"])
        for name, goal in tomllib.loads(path.read_text()).items()
    }


def text_of(goal: Goal) -> str:
    """The text of a goal's spec."""
    return f"spec goal() {{\n{goal['spec']}\n}}"


def search_here(goal: Goal, most: int) -> Found | None:
    """Search in this process, which has searched nothing; nothing where that is too much.

    Args:
        goal: What is searched.
        most: Specs that may be solved.
    """
    import morello  # noqa: PLC0415 - only here
    from morello.memo.memo import Memo  # noqa: PLC0415

    budget = morello.Budget(specs=most)
    try:
        kernel = morello.compile(text_of(goal), target=goal["target"], memo=Memo(), budget=budget)
    except morello.MorelloError as error:
        if type(error) is morello.MorelloError:  # the coarsest search is too much
            return None
        raise
    if kernel.statistics.coarsening is not None:
        return None
    specs = kernel.statistics.cells
    return Found(specs=specs, cycles=kernel.cost, asked=sorted(asked))


@dataclass(frozen=True, slots=True)
class Limits:
    """What one search may take, Specs and seconds of CPU, and how many are done at a time."""

    specs: int = 20_000_000
    seconds: int = 90
    jobs: int = 1


LIMITS = Limits()
"""By default."""


def search_apart(name: str, off: str, limits: Limits) -> Found | None:
    """The same in a process of its own, with a pruning switched off.

    Raises:
        subprocess.CalledProcessError: It failed, and not for want of time.
    """
    command = [sys.executable, "-m", "benchmarks.pruning", "--one", name]
    command += ["--specs", str(limits.specs), "--seconds", str(limits.seconds)]
    environment = {**os.environ, SWITCH: off}
    done = subprocess.run(
        command, cwd=HERE.parent, env=environment, stdout=subprocess.PIPE, check=False, text=True
    )
    click.echo(f"{name} without {off or 'nothing'}: {done.stdout.strip()}", err=True)
    if done.returncode == -signal.SIGXCPU:
        return None
    done.check_returncode()
    found: Found | None = json.loads(done.stdout)
    return found


def run(names: Sequence[str], off: Sequence[str], limits: Limits) -> dict[str, Any]:
    """Search goals with all prunings, and without each of some that leave anything out of them.

    Raises:
        subprocess.CalledProcessError: See `search_apart`.
    """
    with ThreadPoolExecutor(limits.jobs) as pool:
        searched = pool.map(lambda name: search_apart(name, ALL, limits), names)
        own = dict(zip(names, searched, strict=True))
        known = {name: found for name, found in own.items() if found is not None}
        pairs = [(n, p) for p in off for n, found in known.items() if p in found["asked"]]
        others = pool.map(lambda pair: search_apart(pair[0], pair[1], limits), pairs)
        changed = dict(zip(pairs, others, strict=True))
    without = {p: {n: changed.get((n, p), known[n]) for n in known} for p in off}
    return {
        "specs": limits.specs,
        "seconds": limits.seconds,
        "commit": commit(),
        "searched": {ALL: own, **without},
    }


def rows(searched: Searched) -> Iterator[tuple[str, ...]]:
    """For each pruning: what it leaves of the Specs, and by how much costs fall without it."""
    known = {name: found for name, found in searched[ALL].items() if found is not None}
    for pruning, without in searched.items():
        if pruning == ALL:
            continue
        pairs = {n: (own, found) for n, own in known.items() if (found := without[n]) is not None}
        changed = {
            n: (own, other)
            for n, (own, other) in pairs.items()
            if (own["specs"], own["cycles"]) != (other["specs"], other["cycles"])
        }
        more = [other["specs"] / own["specs"] for own, other in changed.values()]
        lost = {n: own["cycles"] / other["cycles"] - 1 for n, (own, other) in changed.items()}
        worst = max(lost, key=lambda n: lost[n], default="")
        given_up = [n for n in known if n not in pairs]
        yield (
            f"`{pruning}`",
            PRUNINGS[pruning],
            ", ".join(changed) or "none",
            f"{geometric_mean(more):.2f} to {max(more):.2f}" if more else "1",
            f"{lost[worst]:.2%} ({worst})" if lost and lost[worst] > NOTHING else "nothing",
            ", ".join(given_up) or "none",
        )


HEAD = (
    "Pruning",
    "What it leaves out",
    "Goals that it changes",
    "Specs without it, times",
    "Loses at most",
    "Too much without it",
)


def table(document: dict[str, Any]) -> str:
    """What was found, as Markdown."""
    lines = [HEAD, ("---",) * len(HEAD), *rows(document["searched"])]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@click.command(help=__doc__)
@click.option("--goals", "names", help="Names of goals, with commas between; by default all.")
@click.option("--without", help="Names of prunings, with commas between; by default all.")
@click.option("--specs", default=LIMITS.specs, show_default=True, help="Of a search, at most.")
@click.option("--seconds", default=LIMITS.seconds, show_default=True, help="Of CPU, at most.")
@click.option("--jobs", default=LIMITS.jobs, show_default=True, help="Searches at a time.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Where the record goes.")
@click.option("--one", hidden=True)
def main(
    names: str | None,
    without: str | None,
    specs: int,
    seconds: int,
    jobs: int,
    path: Path | None,
    one: str | None,
) -> None:
    """The command."""
    known = goals()
    if one is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        click.echo(json.dumps(search_here(known[one], specs)))
        return
    wanted = _chosen(names, known, "goal")
    document = run(wanted, _chosen(without, PRUNINGS, "pruning"), Limits(specs, seconds, jobs))
    if path is not None:
        save(document, path)
    click.echo(table(document))


def _chosen(text: str | None, known: Mapping[str, object], what: str) -> list[str]:
    """Names that are there, of a list of them.

    Raises:
        click.UsageError: One is not there.
    """
    names = list(known) if text is None else text.split(",")
    for name in (n for n in names if n not in known):
        raise click.UsageError(f"there is no {what} '{name}': there are {', '.join(known)}")
    return names


if __name__ == "__main__":
    main()
