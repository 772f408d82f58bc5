"""What a search may ask of a memo and leave in it: the choices of whole boxes.

Costs are not asked for: with the choices known, they follow from the same recurrence, restricted to
what was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from morello.ir.spec import Variant
from morello.rewriting.alternatives import Context
from morello.rewriting.bind import Array
from morello.search.tables.box import Box
from morello.search.tables.options import Option
from morello.search.tables.solved import Solved

Name = tuple[str, tuple[tuple[str, str], ...]]
"""An option as it is written down: a rule or kernel, and its parameters."""


@dataclass(frozen=True)
class Chosen:
    """The choices of every Spec of a box: ``table`` holds places in ``names``, or -1 for none."""

    names: tuple[Name, ...]
    table: npt.NDArray[np.signedinteger[Any]]

    @cached_property
    def _places(self) -> dict[Name, int]:
        return {name: place for place, name in enumerate(self.names)}

    def has(self, option: Option) -> bool:
        """Whether it was chosen anywhere."""
        return (option.name, option.parameters) in self._places

    def where(self, options: Sequence[Option]) -> Array:
        """For each option, which Specs of the box chose it: an axis in front of the table's."""
        places = [self._places[option.name, option.parameters] for option in options]
        return np.stack([self.table == place for place in places])


class MemoBackend(Protocol):
    """A memo, as the search sees it. Searches in several threads may share one."""

    @property
    def single_goal(self) -> bool:
        """Whether nobody will ask for another goal that is among what is solved."""

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Choices of a variant on a box, if all of it was solved under the same definitions."""

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """Forget what `find` finds: some of it does not apply."""

    def keep(self, context: Context, variant: Variant, solved: Solved) -> None:
        """Remember what was chosen on a box."""


class NullMemo:
    """The memo of those who have none."""

    def __init__(self, *, single_goal: bool = False) -> None:
        """``single_goal``: nor will they have another goal."""
        self.single_goal = single_goal

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Nothing is known."""
        return None

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """There is nothing to forget."""

    def keep(self, context: Context, variant: Variant, solved: Solved) -> None:
        """Nothing is kept."""


class CountingMemo:
    """A memo, with counts of what a search found in it and of what it had to solve.

    Attributes:
        solved: Number of Specs of each variant that was solved.
        recalled: The same for variants whose choices were known.
    """

    def __init__(self) -> None:
        self.solved: dict[Variant, int] = {}
        self.recalled: dict[Variant, int] = {}
        self._known: MemoBackend = NullMemo()

    @property
    def cells(self) -> int:
        """Specs that were solved."""
        return sum(self.solved.values())

    @property
    def families(self) -> int:
        """Families some Spec of which was solved."""
        return len({variant.family for variant in self.solved})

    @property
    def recalled_families(self) -> int:
        """Families no Spec of which had to be solved."""
        return len({v.family for v in self.recalled} - {v.family for v in self.solved})

    @property
    def single_goal(self) -> bool:
        """As the other one says."""
        return self._known.single_goal

    def over(self, known: MemoBackend) -> MemoBackend:
        """This, with what is asked answered by another memo."""
        self._known = known
        return self

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """What the other one knows."""
        chosen = self._known.find(context, variant, box)
        if chosen is not None:
            self.recalled[variant] = box.cells
        return chosen

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """Have the other one forget it."""
        self.recalled.pop(variant, None)
        self._known.reject(context, variant, box)

    def keep(self, context: Context, variant: Variant, solved: Solved) -> None:
        """Have the other one remember it."""
        self.solved[variant] = solved.box.cells
        self._known.keep(context, variant, solved)
