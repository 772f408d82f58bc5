"""The goals that a command works through: of lists, and of specs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from morello.checking.goal_list import ListedGoal, read_goal_list
from morello.cli.request import asked_specs, chosen_target, read_source
from morello.compiler import NATIVE
from morello.definitions import Definitions
from morello.errors import MorelloError, UsageError
from morello.language.load import load_source

LIST_SUFFIX = ".toml"


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
    lists = [file for file in files if file.endswith(LIST_SUFFIX)]
    specs = [read_source(file) for file in files if file not in lists]
    if defines and not specs:
        raise UsageError("-D sets parameters of specs", help="a list says what sizes it has")
    named = [chosen_target(definitions, name).name for name in targets]
    goals = [
        (goal, chosen_target(definitions, target).name)
        for goal in goals_of_lists(definitions, lists)
        for target in _targets_of(goal, named)
    ]
    for asked in asked_specs(definitions, specs, named, defines):
        goals.append((ListedGoal(asked.source, asked.spec, asked.defines), asked.target))
    if not goals:
        raise MorelloError(
            f"there are no goals for {', '.join(named) or 'any target'}",
            help="those of a list that names targets are for these alone",
        )
    return goals


def _targets_of(goal: ListedGoal, named: Sequence[str]) -> Sequence[str]:
    """Those that are asked for, of what the list says, if it says any."""
    if not goal.targets:
        return named or [NATIVE]
    return [target for target in goal.targets if not named or target in named]
