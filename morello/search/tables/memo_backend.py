"""What a search may ask of a memo: the choices of whole boxes.

Costs are not asked for: with the choices known, they follow from the same recurrence, restricted to
what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from morello.ir.numeric import Array
from morello.ir.spec import Variant
from morello.rewriting.context import Context
from morello.search.tables.box import Box
from morello.search.tables.options import Option
from morello.search.tables.solved import Solved

Name = tuple[str, tuple[tuple[str, str], ...]]
"""An option as it is written down: a rule or kernel, and its parameters."""


@dataclass(frozen=True)
class Chosen:
    """The choices of every Spec of a box: ``table`` holds places in ``names``, or -1 for none."""

    names: tuple[Name, ...]
    table: npt.NDArray[np.signedinteger]

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

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Choices of a variant on a box, if all of it was solved under the same definitions."""

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """Forget what `find` finds: some of it does not apply."""

    def keep(self, context: Context, solved: Mapping[Variant, Solved]) -> None:
        """Keep what was solved, and not recalled, before a search was interrupted."""


class NullMemo:
    """The memo of those who have none."""

    def find(self, context: Context, variant: Variant, box: Box) -> Chosen | None:
        """Nothing is known."""
        return None

    def reject(self, context: Context, variant: Variant, box: Box) -> None:
        """There is nothing to forget."""

    def keep(self, context: Context, solved: Mapping[Variant, Solved]) -> None:
        """There is no place."""
