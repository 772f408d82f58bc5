"""The goals that a command works through: of lists, and of specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from morello.checking.goal_list import ListedGoal, read_goal_list
from morello.cli.request import asked_specs, chosen_target, read_source
from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.language.load import load_source
from morello.language.parse import parse_spec
from morello.language.source import Source
from morello.plugins.resources import GOALS_SUFFIX, load_resource
from morello.runtime.target_choice import NATIVE, native_target


def goals_of_lists(definitions: Definitions, lists: Sequence[str]) -> Iterator[ListedGoal]:
    """Goals of lists, by the names of their files.

    Raises:
        MorelloError: A list cannot be read, or something is wrong in it.
    """
    for name in lists:
        source = load_source(name)
        yield from read_goal_list(
            source.name, source.text, definitions.operators, Path(name).parent
        )


def goals_of_plugins(definitions: Definitions) -> list[ListedGoal]:
    """Goals of the lists that plugins bring."""
    files = [file for file in definitions.learning if file.name.endswith(GOALS_SUFFIX)]
    texts = [(file.name, load_resource(file.resource, file.name).text) for file in files]
    return [
        goal for name, text in texts for goal in read_goal_list(name, text, definitions.operators)
    ]


def asked_goals(
    definitions: Definitions,
    files: Sequence[str],
    targets: Sequence[str],
    defines: Mapping[str, int],
) -> list[tuple[ListedGoal, str]]:
    """Goals of lists and of specs, each with a target.

    Raises:
        MorelloError: A file cannot be read, something is wrong in it, or there are no goals.
        UsageError: Parameters are given, and there are only lists.
    """
    lists = [file for file in files if file.endswith(GOALS_SUFFIX)]
    specs = [read_source(file) for file in files if file not in lists]
    if defines and not specs:
        raise UsageError("-D sets parameters of specs", help="a list says what sizes it has")
    named = [chosen_target(definitions, name).name for name in targets]
    goals = [
        (goal, chosen_target(definitions, target).name)
        for goal in goals_of_lists(definitions, lists)
        for target in _targets_of(definitions, goal, named)
    ]
    for asked in asked_specs(definitions, specs, named, defines):
        goals.append((ListedGoal(asked.source, asked.spec, asked.defines), asked.target))
    if not goals:
        raise MorelloError(
            f"there are no goals for {', '.join(named) or 'any target'}",
            help="those of a list that names targets are for these alone",
        )
    return goals


def _targets_of(definitions: Definitions, goal: ListedGoal, named: Sequence[str]) -> Sequence[str]:
    """Those that are asked for, of what the list says, if it says any; else what the spec says."""
    if not goal.targets:
        return named or [_target_said(goal.source)]
    if not named:
        return goal.targets
    listed = {native_target(definitions).name if t == NATIVE else t for t in goal.targets}
    return [target for target in named if target in listed]


@lru_cache(maxsize=16)  # the goals of one table follow each other
def _target_said(source: Source) -> str:
    """The target that a file of specs names, or this machine's best."""
    said = parse_spec(source).target
    return NATIVE if said is None else said.id
