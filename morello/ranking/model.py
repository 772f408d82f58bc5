"""A learned performance model: how far off a plan's predicted cost is.

It corrects the cost model of the target; it does not take its place. The logarithm of a program's
time is that of its predicted cycles, plus what *ensembles* of learners say of its description. Each
was trained on other goals than its fellows. Where they disagree about two programs, nothing like
them was measured.

There are two kinds: `trees` and `network`. A model is one ``.npz`` file of plain arrays, evaluated
with numpy alone: nothing in it is run.
"""

from __future__ import annotations

import io
import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np

from morello.errors import MorelloError
from morello.ir.numeric import Array
from morello.ranking.description import Description
from morello.ranking.features import SCHEMA

FORMAT = 2

LESS = "less first: "
"""How the names of columns begin that compare a program with the first one."""


class ModelError(MorelloError):
    """A file is no model, or one that cannot be used."""


@dataclass(frozen=True)
class About:
    """What a model is for, and where it is from.

    ``costs``: the `digest_of_costs` of the target that it corrects. ``gain``: by how much, for
    sure, a program must be faster to be chosen instead of the search's. ``deviations``: how many of
    the ensembles' standard deviations from their mean a bound lies that is sure.
    ``evaluation``: what it was worth on goals that it had not seen.
    """

    target: str
    processor: str
    costs: str
    programs: int
    goals: int
    date: str
    gain: float
    deviations: float
    evaluation: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model:
    """Ensembles of learners over named features.

    A column is a feature of a plan; with `LESS` before its name, it is how much more of it a
    program has than the first one, the search's choice.
    """

    about: About
    columns: tuple[str, ...]

    kind: ClassVar[str]
    """What a file says."""

    NAMES: ClassVar[tuple[str, ...]] = ("columns",)
    """Fields that are tuples of names."""

    ARRAYS: ClassVar[tuple[str, ...]]
    """Fields that are arrays."""

    @abstractmethod
    def corrections(self, described: Sequence[Description]) -> Array:
        """By ensemble and program: how much its time over its predicted cycles is the first one's.

        That is a logarithm: 0 where the prediction of both is off alike.

        Args:
            described: Each program for one goal; the search's choice first.
        """

    @abstractmethod
    def check(self) -> None:
        """Refuse arrays that do not fit together; whoever reads a file calls it.

        Raises:
            ValueError: With what is wrong.
        """

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All of them, by name."""
        return {name: getattr(self, name) for name in self.ARRAYS}

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """All tuples of names, by the field's name."""
        return {name: getattr(self, name) for name in self.NAMES}

    @cached_property
    def bytes(self) -> bytes:
        """Its file."""
        told = {"format": FORMAT, "schema": SCHEMA, "kind": self.kind, **self.names}
        about = np.array(json.dumps(told | asdict(self.about)))
        arrays: dict[str, Any] = {"about": about, **self.arrays}
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    @property
    def digest(self) -> str:
        """What tells it from all others: of what it says, however it is kept."""
        text = json.dumps([self.kind, asdict(self.about), self.names], sort_keys=True)
        arrays = b"".join(array.tobytes() for array in self.arrays.values())
        return sha256(text.encode() + arrays).hexdigest()[:16]


def digest_of_costs(coefficients: Mapping[str, float]) -> str:
    """What tells costs from others: those of a target by full name."""
    return sha256(repr(sorted(coefficients.items())).encode()).hexdigest()[:16]


def rows_of(described: Sequence[Description], columns: Sequence[str]) -> Array:
    """Features of the programs for one goal by program and column; see `Model`."""
    names = [column.removeprefix(LESS) for column in columns]
    rows = np.array([[one.features.get(n, 0.0) for n in names] for one in described], np.float64)
    rows = rows.reshape(len(described), len(columns))
    compared = np.array([column.startswith(LESS) for column in columns], bool)
    return np.where(compared, rows - rows[:1], rows)
