"""Several corpora in one, and whether a corpus is what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from morello.checking.specs import check_spec
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.learning.corpus import (
    Group,
    MeasuredProgram,
    groups_in,
    kept,
    read_group,
    write_group,
)
from morello.learning.remaking import digest, remade
from morello.ranking.description import Describer
from morello.ranking.features import SCHEMA
from morello.records import replace
from morello.report.plan import Plan


class Merged(Struct, frozen=True):
    """What was written: groups that were new, that have more runs now, and that were left out.

    A group is left out where one of its goal is there that has other programs: what they took at
    different times does not compare.
    """

    new: int = 0
    longer: int = 0
    left_out: int = 0


def merge(sources: Sequence[Path], directory: Path) -> Merged:
    """Add the groups of some corpora to one, in a directory that is made if it is not there.

    Raises:
        CorpusError: A file is no group.
    """
    groups = [group for source in sources for group in groups_in(source)]
    directory.mkdir(parents=True, exist_ok=True)
    found = Merged()
    for group in groups:
        path = directory / group.file
        if not path.exists():
            write_group(directory, group)
            found = replace(found, new=found.new + 1)
            continue
        known = read_group(path)
        united = _united(known, group)
        if united is None:
            found = replace(found, left_out=found.left_out + 1)
        elif united != known:
            write_group(directory, united)
            found = replace(found, longer=found.longer + 1)
    return found


def _united(one: Group, other: Group) -> Group | None:
    """A group with the runs of both, each once; none where their programs differ."""
    theirs = {program.text: program for program in other.programs}
    if theirs.keys() != {program.text for program in one.programs}:
        return None
    programs = tuple(
        replace(p, runs=(*p.runs, *(run for run in theirs[p.text].runs if run not in p.runs)))
        for p in one.programs
    )
    return replace(one, programs=programs)


class Replayed(Struct, frozen=True):
    """A program made again from its recipe: its plan, and whether its C is what was measured."""

    program: MeasuredProgram
    plan: Plan | None
    same: bool
    refused: MorelloError | None = None


def replayed(definitions: Definitions, group: Group) -> Iterator[Replayed]:
    """The programs of a group, made again with these definitions.

    Raises:
        MorelloError: The target is unknown, or the spec is wrong.
    """
    target = definitions.targets.get(group.target)
    if target is None:
        raise MorelloError(f"there is no target '{group.target}', which '{group}' is for")
    collector = Collector()
    tree = parse_spec(Source(group.name, group.spec))
    goal = check_spec(tree, group.name, group.defines, definitions.operators, collector)
    collector.raise_if_any()
    for program in group.programs:
        try:
            (kernel,) = remade(definitions, goal, target, [program.recipe])
        except MorelloError as error:
            yield Replayed(program, None, same=False, refused=error)
        else:
            yield Replayed(program, kernel.plan, digest(kernel.source) == program.text)


def refreshed(group: Group, found: Sequence[Replayed], coefficients: Mapping[str, float]) -> Group:
    """A group as these definitions have it: predictions and features anew.

    Programs whose C code is another one are left out: it is not what was measured. The first one is
    that of the lowest cost.

    Args:
        group: As it is kept.
        found: Its programs, `replayed`.
        coefficients: Those of its target, by full name.
    """
    describer = Describer()
    programs = [
        replace(
            one.program,
            predicted=one.plan.cycles,
            features=described.features,
            graph=described.graph,
        )
        for one in found
        if one.same and one.plan is not None
        for described in [kept(describer.of(one.plan))]
    ]
    programs.sort(key=lambda program: program.predicted)
    return replace(group, programs=tuple(programs), coefficients=dict(coefficients), schema=SCHEMA)
