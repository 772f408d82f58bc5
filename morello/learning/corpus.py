"""A corpus: programs of many goals with what they took, in files that can be read without trust.

A corpus is a directory. Each file in it is a *group*: the programs of one goal for one target, as
one machine and compiler ran them. It is gzipped text, one JSON object a line: the group's own
fields first, then one program a line. It is there whole or not at all.

===============  ===================================================================================
of a group
===============  ===================================================================================
``format``       `FORMAT`
``spec``         the text; ``name``: which spec of it; ``defines``: sizes by parameter
``target``       its name; ``coefficients``: their values, by full name
``processor``    where it was measured; ``compiler``, ``flags``: what built it
``held_out``     whether its list marks it as one to judge by
``schema``       of the features: `morello.ranking.features.SCHEMA`
===============  ===================================================================================

===============  ===================================================================================
of a program
===============  ===================================================================================
``recipe``       the plan, to be made again: `morello.learning.recipe`
``predicted``    cycles
``features``     by name; those that are 0 are left out
``text``         SHA-256 of the C file; ``characters``: how long it is
``runs``         for each run, minutes apart, the cycles of a call in each turn
===============  ===================================================================================
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from morello.errors import MALFORMED, MorelloError
from morello.ranking.features import PlanFeatures
from morello.report.plan import Plan
from morello.resources import write_whole
from morello.runtime.timing import low

FORMAT = 1
SUFFIX = ".group.gz"

UNREADABLE = (*MALFORMED, OSError, EOFError, zlib.error)

LARGEST = 64 << 20
"""Bytes of a group's text: more is no group."""


class CorpusError(MorelloError):
    """A file of a corpus is not what it should be."""


@dataclass(frozen=True)
class MeasuredProgram:
    """A program with its plan and what it took; see above."""

    recipe: Mapping[str, Any] = field(repr=False)
    predicted: float
    features: Mapping[str, float] = field(repr=False)
    text: str
    characters: int
    runs: tuple[tuple[float, ...], ...] = ()

    @property
    def cycles(self) -> float:
        """What a call takes: a low quantile of all turns."""
        return low([turn for run in self.runs for turn in run])

    def cycles_in(self, run: int) -> float:
        """The same of one run."""
        return low(self.runs[run])


@dataclass(frozen=True)
class Group:
    """Programs of one goal; see above."""

    spec: str
    name: str
    defines: Mapping[str, int]
    target: str
    coefficients: Mapping[str, float] = field(repr=False)
    processor: str
    compiler: str
    flags: tuple[str, ...]
    held_out: bool
    schema: int
    programs: tuple[MeasuredProgram, ...] = field(default=(), repr=False)

    @property
    def key(self) -> str:
        """Tells it from all others: what was asked for, and where and with what it was measured."""
        told = (self.spec, self.name, sorted(self.defines.items()), self.target)
        where = (self.processor, self.compiler, self.flags)
        return sha256(repr((*told, *where)).encode()).hexdigest()[:16]

    @property
    def file(self) -> str:
        """Its file's name."""
        return f"{self.name}-{self.key}{SUFFIX}"

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{n}={v}" for n, v in self.defines.items())])


def kept_features(described: PlanFeatures, plan: Plan) -> dict[str, float]:
    """The features of a plan as a file has them: the first digits of those that are not 0."""
    return {name: float(f"{value:.6g}") for name, value in described.of(plan).items() if value}


def groups_in(directory: Path) -> Iterator[Group]:
    """The groups of a corpus, by their files' names.

    Raises:
        CorpusError: There is no such directory, or a file is no group.
    """
    if not directory.is_dir():
        raise CorpusError(
            f"there is no corpus '{directory}'", help="'morello learn collect' makes one"
        )
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        yield read_group(path)


def write_group(directory: Path, group: Group) -> Path:
    """Write a group's file: at once, or not at all."""
    lines = [{"format": FORMAT, **_fields_of(group)}, *map(asdict, group.programs)]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    path = directory / group.file
    write_whole(path, gzip.compress(text.encode(), mtime=0))
    return path


def _fields_of(group: Group) -> dict[str, Any]:
    return {f.name: getattr(group, f.name) for f in fields(group) if f.name != "programs"}


def read_group(path: Path) -> Group:
    """Read a group's file.

    Raises:
        CorpusError: It is no group, of another format, or cannot be read.
    """
    try:
        with gzip.open(path) as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError("it is too large")
        first, *others = map(json.loads, text.decode().splitlines())
        if first.pop("format") != FORMAT:
            raise ValueError("it is of another format")
        programs = tuple(_program(**line) for line in others)
        return _checked(Group(**{**first, "flags": tuple(first["flags"])}, programs=programs))
    except UNREADABLE as error:
        raise CorpusError(f"'{path}' is no group of a corpus: {error}") from error


def _program(runs: Any, **others: Any) -> MeasuredProgram:
    """A line of a file."""
    return MeasuredProgram(**others, runs=tuple(tuple(map(float, run)) for run in runs))


def _checked(group: Group) -> Group:
    """Refuse what no machine measures, and names that are none: the file's is made of one."""
    texts = (group.spec, group.target, group.processor, group.compiler, *group.flags)
    numbers = [*group.coefficients.values()]
    sizes = [group.schema, *group.defines.values()]
    if not all(isinstance(text, str) for text in texts) or not group.name.isidentifier():
        raise ValueError("its fields are of other types")
    if not all(type(size) is int for size in sizes) or not isinstance(group.held_out, bool):
        raise ValueError("its fields are of other types")
    for program in group.programs:
        if not program.runs or not all(program.runs):
            raise ValueError("a program was not measured")
        turns = [program.predicted, *(turn for run in program.runs for turn in run)]
        if not all(turn > 0 for turn in turns):
            raise ValueError("a program takes no time")
        numbers += [*turns, *program.features.values()]
        if not isinstance(program.text, str):
            raise ValueError("its fields are of other types")
    if not all(isinstance(number, int | float) and isfinite(number) for number in numbers):
        raise ValueError("a number is none")
    return group
