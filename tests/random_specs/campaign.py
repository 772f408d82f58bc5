"""Runs many cases: counts outcomes, shrinks failures and writes them down."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from .apart import Task, apart
from .cases import Case
from .metamorphic import VARIATIONS, varied
from .recipes import random_case
from .shrink import shrunk
from .trial import Outcome, attempt

FAILURES = ("wrong", "crash", "fault")
"""Outcomes that should not be."""

OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL)
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run.

    ``sanitize`` and ``vary`` are shares of cases: those that are built under sanitizers, and those
    that are compiled once more in another way. ``seconds`` are those of a processor for each case.
    """

    seed: int
    count: int
    first: int = 0
    targets: Sequence[str] = ("x86.avx2", "x86.scalar")
    sanitize: float = 0.05
    vary: float = 0.1
    jobs: int = 1
    seconds: int = 20

    def target(self, number: int) -> str:
        """Targets take turns."""
        return self.targets[number % len(self.targets)]

    def variation(self, number: int) -> str:
        """How a case is looked at: plainly, under sanitizers, or compiled once more."""
        chance = Random(f"{self.seed}/{number}/way").random()
        if chance < self.sanitize:
            return "sanitize"
        if chance < self.sanitize + self.vary:
            return VARIATIONS[number // len(self.targets) % len(VARIATIONS)]
        return ""

    def command(self, number: int) -> str:
        """What runs one case again."""
        return (
            f"python -m tests.random_specs --seed {self.seed} --first {number} --count 1"
            f" --targets {self.target(number)} --sanitize {self.sanitize:g} --vary {self.vary:g}"
        )


@dataclass
class Report:
    """What came of a run."""

    plan: Plan
    outcomes: Counter[str] = field(default_factory=Counter)
    groups: Counter[tuple[str, str]] = field(default_factory=Counter)
    ways: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    decided: float = 0.0

    def add(self, number: int, outcome: Outcome) -> None:
        """Count one case."""
        self.outcomes[outcome.kind] += 1
        self.ways[self.plan.variation(number) or "plain"] += 1
        self.decided += outcome.decided
        if outcome.kind != "right":
            self.groups[outcome.kind, outcome.group] += 1

    def to_json(self) -> dict[str, Any]:
        """All of it, for files."""
        right = self.outcomes["right"]
        groups = [{"kind": k, "group": g, "cases": n} for (k, g), n in self.groups.most_common()]
        return {
            "seed": self.plan.seed,
            "first": self.plan.first,
            "cases": sum(self.outcomes.values()),
            "outcomes": dict(self.outcomes),
            "ways": dict(self.ways),
            "decided": self.decided / right if right else 0.0,
            "groups": groups,
            "failures": self.failures,
        }

    def text(self) -> str:
        """A summary to be read."""
        found = self.to_json()
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.outcomes.items()))
        lines = [f"{found['cases']} cases of seed {self.plan.seed}: {counts}"]
        lines += [f"  of right ones, {found['decided']:.1%} of elements have one right value"]
        lines += [f"  {n:5} {kind}: {group}" for (kind, group), n in self.groups.most_common(40)]
        return "\n".join(lines)


def tried(plan: Plan, number: int, case: Case) -> Outcome:
    """One case, in this process."""
    way, target = plan.variation(number), plan.target(number)
    seed = plan.seed, number
    if way in VARIATIONS:
        return varied(case, target, seed, way)
    return attempt(case, target, seed, sanitize=way == "sanitize")


def run(
    plan: Plan,
    *,
    keep: Path | None = None,
    draw: Callable[[int, int], Case] = random_case,
    told: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Run all cases, each in a process of its own.

    Args:
        plan: What to run.
        keep: Where failures are written, each in a file of its own.
        draw: The case of a seed and a number.
        told: Called after each case.
    """
    report = Report(plan)
    for number, outcome in _outcomes(plan, draw):
        report.add(number, outcome)
        if outcome.kind in FAILURES:
            failure = _failure(plan, number, outcome, draw)
            report.failures.append(failure)
            if keep is not None:
                _write(keep, failure)
        told(report)
    report.failures.sort(key=lambda f: int(f["number"]))
    return report


def _outcomes(plan: Plan, draw: Callable[[int, int], Case]) -> Iterator[tuple[int, Outcome]]:
    def tasks() -> Iterator[Task]:
        for number in range(plan.first, plan.first + plan.count):
            case = draw(plan.seed, number)
            yield number, lambda n=number, c=case: tried(plan, n, c).to_json()  # type: ignore[misc]

    for number, found in apart(tasks(), plan.jobs, plan.seconds):
        yield number, _outcome(found)


def _outcome(found: dict[str, Any]) -> Outcome:
    if "signal" not in found:
        return Outcome(**found)
    if found["signal"] in OUT_OF_TIME:
        return Outcome("budget", "out of time")
    return Outcome("crash", f"signal {found['signal']}", "the process was ended")


def _failure(
    plan: Plan, number: int, outcome: Outcome, draw: Callable[[int, int], Case]
) -> dict[str, Any]:
    """A failure with the smallest case that fails alike."""
    last = outcome

    def fails(case: Case) -> bool:
        nonlocal last
        [(_, found)] = apart(
            [(number, lambda: tried(plan, number, case).to_json())], 1, plan.seconds
        )
        again = _outcome(found)
        alike = again.kind == outcome.kind and (
            again.kind == "wrong" or again.group == outcome.group
        )
        last = again if alike else last
        return alike

    case = draw(plan.seed, number)
    small = shrunk(case, fails)
    return {
        "number": number,
        "target": plan.target(number),
        "way": plan.variation(number) or "plain",
        "kind": outcome.kind,
        "group": outcome.group,
        "detail": outcome.detail,
        "shrunk": last.detail,
        "spec": small.text,
        "drawn": case.text,
        "command": plan.command(number),
    }


def _write(keep: Path, failure: dict[str, Any]) -> None:
    """A ``.mspec`` that says in its comments what was wrong, and the whole as JSON."""
    keep.mkdir(parents=True, exist_ok=True)
    name = f"{failure['kind']}-{failure['number']}"
    said = [failure["command"], failure["target"], failure["way"], failure["group"]]
    said += str(failure["shrunk"]).splitlines()[-SHOWN:]
    comments = "".join(f"# {line}\n" for line in said)
    (keep / f"{name}.mspec").write_text(comments + failure["spec"])
    (keep / f"{name}.json").write_text(json.dumps(failure, indent=1) + "\n")
