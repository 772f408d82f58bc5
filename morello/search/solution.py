"""Solved tables, and how to look a Spec up in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from morello.rewriting.alternatives import Alternative, Context
from morello.search.box import IRRELEVANT, Box
from morello.search.gather import Table
from morello.spec.spec import Family, Spec


@dataclass(frozen=True, slots=True)
class Solution:
    """Solved tables with all that is needed to read them."""

    context: Context
    alternatives: Mapping[Family, tuple[Alternative, ...]]
    boxes: Mapping[Family, Box]
    tables: Mapping[Family, Table]

    def canonical(self, spec: Spec) -> Spec:
        """The Spec without the levels that are no coordinates of its family."""
        used = tuple(
            IRRELEVANT if axis[0] == IRRELEVANT else u
            for axis, u in zip(self.boxes[spec.family].used, spec.used, strict=True)
        )
        return replace(spec, used=used)

    def covers(self, spec: Spec) -> bool:
        """Whether the Spec is one of those that were solved."""
        box = self.boxes.get(spec.family)
        if box is None:
            return False
        coordinates = (*spec.sizes, *spec.used)
        return all(
            axis[0] == IRRELEVANT or value in axis
            for axis, value in zip(box.axes, coordinates, strict=True)
        )

    @property
    def cells(self) -> int:
        """Number of Specs that were solved."""
        return sum(box.cells for box in self.boxes.values())

    @property
    def bytes(self) -> int:
        """Memory that the tables take."""
        return sum(table.nbytes for table in self.tables.values())

    def intensity(self, spec: Spec) -> float:
        """Least cost in cycles per iteration, as solved; infinite if nothing implements it."""
        if spec.family not in self.tables:
            return float("inf")
        box = self.boxes[spec.family]
        index = tuple(
            int(box.rank(axis, np.asarray(v))) for axis, v in enumerate((*spec.sizes, *spec.used))
        )
        return float(self.tables[spec.family][index])
