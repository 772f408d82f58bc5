"""Many damaged files, drawn from a seed; counts of how they ended, and the ones that failed."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.corpus import Sound, corpus
from tests.fuzz.mutate import damaged
from tests.fuzz.readers import READERS, installed
from tests.fuzz.worker import FAULTS, Limits, Outcome, outcomes

SHARES = {
    "spec": 33,
    "rules": 14,
    "target": 14,
    "project": 3,
    "profile": 8,
    "memo": 6,
    "export": 6,
    "page": 8,
    "family": 3,
    "axes": 3,
    "startup definitions": 1,
    "startup parser-mspec": 0.5,
    "startup template": 0.5,
}
"""How often each kind of file is drawn, in percent."""


@dataclass(slots=True)
class Report:
    """Numbers of inputs by kind of file and outcome, faults, and the time that it took."""

    seed: int
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As data for tools."""
        counts: dict[str, dict[str, int]] = {}
        for (kind, outcome), number in sorted(self.counts.items()):
            counts.setdefault(kind, {})[outcome] = number
        seconds = round(self.seconds, 1)
        return {"seed": self.seed, "seconds": seconds, "counts": counts, "faults": self.faults}

    def text(self) -> str:
        """A line for each kind of file."""
        data = self.to_json()
        lines = [
            f"{kind}: {', '.join(f'{n} {outcome}' for outcome, n in found.items())}"
            for kind, found in data["counts"].items()
        ]
        return "\n".join([*lines, f"{len(self.faults)} faults in {data['seconds']} s"])


@dataclass(frozen=True, slots=True)
class Draw:
    """Input by number: the same for a seed and a corpus, whatever was drawn before."""

    seed: int
    sounds: Sequence[Sound]

    def of(self, number: int) -> tuple[Sound, bytes]:
        """A sound file, and the same with damage."""
        random = Random(f"{self.seed} {number}")
        kinds = sorted({sound.kind for sound in self.sounds})
        (kind,) = random.choices(kinds, [SHARES[kind] for kind in kinds])
        alike = [sound for sound in self.sounds if sound.kind == kind]
        sound, other = random.choice(alike), random.choice(alike)
        return sound, damaged(random, sound.data, other.data)

    def read(self, number: int, directory: Path) -> None:
        """Have the kind's reader read the damaged file."""
        sound, data = self.of(number)
        READERS[sound.kind](data, directory, sound.beside)


def run(
    seed: int,
    numbers: range,
    *,
    keep: Path | None = None,
    kinds: Sequence[str] = (),
    limits: Limits | None = None,
    told: Callable[[Outcome], None] | None = None,
) -> Report:
    """Read inputs, and report.

    Args:
        seed: What they are drawn from, with their numbers.
        numbers: Which of them.
        keep: Where faults are written down: the input, and what was raised.
        kinds: Kinds of files, all by default.
        limits: Of each input.
        told: Is told of every outcome.
    """
    report, started = Report(seed), time.perf_counter()
    with _own_directories() as directory:
        installed()
        draw = Draw(seed, [s for s in corpus(directory) if not kinds or s.kind in kinds])
        for outcome in outcomes(numbers, draw.read, limits or Limits()):
            sound, data = draw.of(outcome.number)
            report.counts[sound.kind, outcome.kind] += 1
            if outcome.kind in FAULTS:
                fault = _fault(seed, kinds, sound, outcome)
                report.faults.append(fault)
                _keep(keep, f"{outcome.kind}-{seed}-{outcome.number}", fault, sound.name, data)
            if told is not None:
                told(outcome)
    report.seconds = time.perf_counter() - started
    return report


@contextmanager
def _own_directories() -> Iterator[Path]:
    """A cache, a profile and a memo that are nobody else's; gives a directory for other files."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as base:
        own = {"XDG_CACHE_HOME": f"{base}/cache", "MORELLO_PROFILE": "off", "MORELLO_MEMO": "off"}
        before = dict(os.environ)
        os.environ.update(own)
        os.environ.pop("MORELLO_CACHE", None)
        made = Path(base, "made")
        made.mkdir()
        try:
            yield made
        finally:
            os.environ.clear()
            os.environ.update(before)


def _fault(seed: int, kinds: Sequence[str], sound: Sound, outcome: Outcome) -> dict[str, Any]:
    words = ["python -m tests.fuzz", f"--seed {seed}", f"--first {outcome.number}", "--count 1"]
    return {
        "file": f"{sound.kind}: {sound.name}",
        "number": outcome.number,
        "kind": outcome.kind,
        "place": outcome.place,
        "text": outcome.text,
        "again": " ".join([*words, *(f"--kind '{kind}'" for kind in kinds)]),
    }


def _keep(directory: Path | None, stem: str, fault: dict[str, Any], name: str, data: bytes) -> None:
    if directory is None:
        return
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{stem}-{name}").write_bytes(data)
    (directory / f"{stem}.json").write_text(json.dumps(fault, indent=1) + "\n")
