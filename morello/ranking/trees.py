"""Models that are ensembles of regression trees over the features of a plan as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from morello.ir.numeric import Array
from morello.ranking.description import Description
from morello.ranking.model import Model, rows_of

LEAF = -1
"""In the place of a feature."""


@dataclass(frozen=True, eq=False)
class Trees(Model):
    """Boosted trees.

    All are in one table of nodes: ``feature`` is the column that a node asks, or `LEAF`; what is at
    most its ``threshold`` goes ``left``, what is more ``right``; a leaf has a ``value``. ``roots``
    has a row for each ensemble. A node's children come after it.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array
    roots: Array

    kind: ClassVar[str] = "trees"
    ARRAYS: ClassVar[tuple[str, ...]] = (
        "feature",
        "threshold",
        "left",
        "right",
        "value",
        "roots",
    )

    def corrections(self, described: Sequence[Description]) -> Array:
        """As `Model.corrections`: each program goes down all trees at once."""
        rows = rows_of(described, self.columns)
        at = np.broadcast_to(self.roots.ravel(), (len(rows), self.roots.size)).copy()
        programs = np.arange(len(rows))[:, None]
        while True:
            asked = self.feature[at]
            inner = asked != LEAF
            if not inner.any():
                break
            low = rows[programs, np.maximum(asked, 0)] <= self.threshold[at]
            at = np.where(inner, np.where(low, self.left[at], self.right[at]), at)
        values = self.value[at].reshape(len(rows), *self.roots.shape)
        total: Array = values.sum(axis=2).T
        return total

    def check(self) -> None:
        """Refuse trees that have no end, or ask what is not there."""
        nodes = len(self.feature)
        if any(len(a) != nodes for n, a in self.arrays.items() if n != "roots"):
            raise ValueError("its arrays do not fit")
        if self.roots.ndim != 2:
            raise ValueError("its arrays do not fit")
        for name in ("feature", "left", "right", "roots"):
            if getattr(self, name).dtype.kind != "i":
                raise ValueError("its trees are no trees")
        inner = np.flatnonzero(self.feature != LEAF)
        places = np.arange(nodes)[inner]
        below = (self.left[inner], self.right[inner])
        ends = all(np.all((child > places) & (child < nodes)) for child in below)
        asked = np.all((self.feature >= LEAF) & (self.feature < len(self.columns)))
        begun = self.roots.size and np.all((self.roots >= 0) & (self.roots < nodes))
        numbers = np.all(np.isfinite(self.value)) and np.all(np.isfinite(self.threshold))
        if not (ends and asked and begun and numbers):
            raise ValueError("its trees are no trees")
