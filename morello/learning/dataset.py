"""A corpus as arrays: features of programs, what was predicted, what they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from morello.ir.numeric import Array
from morello.learning.corpus import CorpusError, Group
from morello.ranking.description import Description
from morello.ranking.features import SCHEMA
from morello.ranking.model import LESS

FEWEST = 3
"""Programs of a group that says something about which is faster."""

RANKABLE = 0.6
"""Two runs of a group agree at least so much (Kendall's tau), or it is noise that is ranked."""


@dataclass(frozen=True)
class Goal:
    """The programs of one group: features by program and column, cycles by program."""

    group: Group
    rows: Array
    predicted: Array
    cycles: Array
    first: Array
    second: Array

    @cached_property
    def described(self) -> tuple[Description, ...]:
        """What models are told of its programs."""
        return tuple(program.description for program in self.group.programs)

    @cached_property
    def compared(self) -> Array:
        """By program: all features, then how much more of them it has than the first one."""
        return np.hstack([self.rows, self.rows - self.rows[:1]])

    @cached_property
    def left(self) -> Array:
        """By program: how much slower it is than the first, beyond what is predicted.

        A logarithm. This is what is learned.
        """
        off = np.log(self.cycles / self.predicted)
        compared: Array = off - off[0]
        return compared

    @cached_property
    def agreement(self) -> float:
        """Kendall's tau of the first run with the last."""
        return tau(self.first, self.second)

    @property
    def rankable(self) -> bool:
        """Whether its order says more than noise does."""
        return self.agreement >= RANKABLE


@dataclass(frozen=True)
class Dataset:
    """Groups of one target as arrays, with the names of their columns."""

    columns: tuple[str, ...]
    goals: tuple[Goal, ...]

    @property
    def compared_columns(self) -> tuple[str, ...]:
        """The names of the columns of `Goal.compared`."""
        return (*self.columns, *(LESS + name for name in self.columns))


def dataset(groups: Sequence[Group]) -> Dataset:
    """The groups that have enough programs, as arrays over all features that any of them has.

    Raises:
        CorpusError: A group has features of another version.
    """
    for group in groups:
        if group.schema != SCHEMA:
            raise CorpusError(
                f"'{group}' has features of another version",
                help="'morello learn check --update' makes them anew",
            )
    kept = [group for group in groups if len(group.programs) >= FEWEST]
    names = {name for g in kept for program in g.programs for name in program.features}
    columns = tuple(sorted(names))
    return Dataset(columns, tuple(_goal(group, columns) for group in kept))


def _goal(group: Group, columns: tuple[str, ...]) -> Goal:
    programs = group.programs
    return Goal(
        group,
        np.array([[p.features.get(name, 0.0) for name in columns] for p in programs]),
        np.array([p.predicted for p in programs]),
        np.array([p.cycles for p in programs]),
        np.array([p.cycles_in(0) for p in programs]),
        np.array([p.cycles_in(-1) for p in programs]),
    )


def tau(one: Array, other: Array) -> float:
    """Kendall's tau-b: 1 where both order the programs alike; 0 where one has no order.

    M. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945.
    """
    above = np.triu_indices(len(one), 1)
    pairs = [np.sign(values[:, None] - values[None, :])[above] for values in (one, other)]
    untied = np.sqrt(np.prod([np.count_nonzero(pair) for pair in pairs], dtype=np.float64))
    return float(pairs[0] @ pairs[1] / untied) if untied else 0.0
