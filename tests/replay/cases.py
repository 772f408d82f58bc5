"""What is replayed: examples, and the cases of the benchmarks, on every target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import CASES, ELEMENTS, SPEC
from benchmarks.networks import WORKS
from morello.definitions import load_definitions

PROJECT = Path(__file__).resolve().parent.parent.parent
ROLES = ("input", "weight")


@dataclass(frozen=True, slots=True)
class Replayed:
    """A spec with sizes for its parameters, on a target."""

    name: str
    text: str
    defines: Mapping[str, int]
    target: str

    @property
    def key(self) -> str:
        """What it is called in a file of results."""
        return f"{self.name} on {self.target}"


def cases() -> Iterator[Replayed]:
    """All of them, always in the same order."""
    for target in sorted(load_definitions().targets):
        for path in sorted((PROJECT / "examples").glob("**/*.mspec")):
            if "plugins" not in path.parts:  # they need what the plugin defines
                yield Replayed(path.stem, path.read_text(), {}, target)
        for case in CASES:
            a, b, c = ELEMENTS[case.dtypes]
            for role in ROLES:
                text = SPEC.format(target=target, threads=1, role=role, a=a, b=b, c=c)
                yield Replayed(f"{role} {case}", text, case.defines, target)
        for work in WORKS:
            for threads in (1, 2):
                name = f"{work.name}, {threads} threads"
                yield Replayed(name, work.text(threads), work.sizes, target)


def without_comments(source: str) -> str:
    """C without its comments, and without the lines and blanks that they leave."""
    kept = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.DOTALL)
    return "\n".join(line.rstrip() for line in kept.splitlines() if line.strip())
