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
``parts``        features of all parts of its programs' plans, each once
===============  ===================================================================================

===============  ===================================================================================
of a program
===============  ===================================================================================
``recipe``       the plan, to be made again: `morello.learning.recipe`
``predicted``    cycles
``features``     by name; those that are 0 are left out
``graph``        a `PlanGraph`, with places among the group's parts for ``parts``
``text``         SHA-256 of the C file; ``characters``: how long it is
``runs``         for each run, minutes apart, the cycles of a call in each turn
===============  ===================================================================================
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from morello.errors import MALFORMED, MorelloError
from morello.ranking.description import Description
from morello.ranking.graphs import NO_GRAPH, PlanGraph
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
    graph: PlanGraph = field(default=NO_GRAPH, repr=False)

    @property
    def description(self) -> Description:
        """What models are told of it."""
        return Description(self.features, self.graph)

    @property
    def structure(self) -> frozenset[str]:
        """The rules and kernels of its plan, without their parameters."""
        return frozenset(name for name, *_ in self.recipe.get("options", ()))

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


def kept(described: Description) -> Description:
    """A description as a file has it: the first digits of what is not 0."""
    graph = described.graph
    return Description(
        _kept(described.features),
        replace(
            graph,
            parts=tuple(map(_kept, graph.parts)),
            runs=tuple(map(_digits, graph.runs)),
            shares=tuple(map(_digits, graph.shares)),
            weights=tuple(map(_digits, graph.weights)),
        ),
    )


def _kept(features: Mapping[str, float]) -> dict[str, float]:
    return {name: _digits(value) for name, value in features.items() if value}


def _digits(value: float) -> float:
    return float(f"{value:.6g}")


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
    parts: dict[str, int] = {}
    programs = [_line(program, parts) for program in group.programs]
    first = {"format": FORMAT, **_fields_of(group), "parts": list(map(json.loads, parts))}
    lines = [first, *programs]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    path = directory / group.file
    write_whole(path, gzip.compress(text.encode(), mtime=0))
    return path


def _line(program: MeasuredProgram, parts: dict[str, int]) -> dict[str, Any]:
    """A program's line. ``parts``: places of parts that are known by their text; grows."""
    graph = program.graph
    texts = (json.dumps(part, sort_keys=True) for part in graph.parts)
    placed = [parts.setdefault(text, len(parts)) for text in texts]
    line = {f.name: getattr(program, f.name) for f in fields(program)}
    return line | {"graph": asdict(graph) | {"parts": placed}}


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
        parts = first.pop("parts", ())
        programs = tuple(_program(parts, **line) for line in others)
        return _checked(Group(**{**first, "flags": tuple(first["flags"])}, programs=programs))
    except UNREADABLE as error:
        raise CorpusError(f"'{path}' is no group of a corpus: {error}") from error


def _program(parts: Sequence[Any], runs: Any, graph: Any = None, **others: Any) -> MeasuredProgram:
    """A line of a file."""
    turns = tuple(tuple(map(float, run)) for run in runs)
    return MeasuredProgram(**others, runs=turns, graph=_graph(parts, graph) if graph else NO_GRAPH)


def _graph(parts: Sequence[Any], line: Any) -> PlanGraph:
    """The graph of a program's line."""
    found = PlanGraph(
        tuple(parts[place] for place in line["parts"]),
        tuple(line["runs"]),
        tuple(line["shares"]),
        tuple((above, below) for above, below in line["edges"]),
        tuple(line["weights"]),
    )
    count = len(found.parts)
    if len(found.runs) != count or len(found.shares) != count:
        raise ValueError("a graph has parts of which nothing is said")
    if len(found.weights) != len(found.edges):
        raise ValueError("a graph has edges of which nothing is said")
    if not all(type(end) is int and 0 <= end < count for edge in found.edges for end in edge):
        raise ValueError("a graph has edges to no parts")
    return found


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
        if not all(isinstance(name, str) for name in program.structure):
            raise ValueError("its recipe names no rules")
        graph = program.graph
        numbers += [*turns, *program.features.values(), *graph.runs, *graph.shares, *graph.weights]
        for part in {id(part): part for part in graph.parts}.values():
            numbers += dict(part).values()
        if not isinstance(program.text, str):
            raise ValueError("its fields are of other types")
    if not all(isinstance(number, int | float) and isfinite(number) for number in numbers):
        raise ValueError("a number is none")
    return group
