"""Tilings of one dimension, all tile sizes of an alternative together.

For an alternative that splits one axis of the box and leaves the other coordinates alone, what has
to be looked up is a few rows of the child's table along that axis: the tile's, and the remainders'.
What the other coordinates are is a *column*; no column depends on another. So a sweep takes a block
of columns after the other, small enough for the caches and with its rows one behind the other in
memory, and does a handful of array operations for each tile size. Repeated, it takes those columns
alone that have changed. Which rows and weights there are is worked out once, in
`morello.search.solving.sweep_plan`. What does not have this form is left to
`morello.search.solving.updates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

import numpy as np
from msgspec import Struct

from morello.ir.numeric import Array
from morello.ir.spec import Variant
from morello.search.tables.gather import Gather, Index, Table
from morello.search.tables.scratch import Choices, Part, Scratch, take_cheaper

BLOCK = 1 << 17
"""Cells of a block, about: with what is worked out for them they fit in a cache of 1 MiB."""

_Cut = Callable[[Array], Array]
"""Takes the columns of a block from an array as a sweep sees it."""


class Term(Struct, frozen=True):
    """Rows of a source, with a weight for each, the same for all columns; no weight is 1."""

    source: int
    rows: Index
    weight: Table | None


class Group(Struct, frozen=True):
    """Rows of the own table for which the same terms exist, for one tile size.

    ``base``: rows and columns, or one for all; none if it is 0.
    """

    position: int
    part: Part
    base: Table | None
    terms: tuple[Term, ...]


class SweepPlan(Struct, frozen=True):
    """A sweep of a box, whatever the variants are.

    ``axes``: those of a table in the order in which the sweep sees them, the one of its rows first;
    of the others, ``columns`` are longer than 1. ``gathers`` bring the sources' axes to where the
    table has its own; none is the table itself. Groups come in increasing order of tile sizes.
    """

    axes: tuple[int, ...]
    columns: int
    gathers: tuple[Gather | None, ...]
    groups: tuple[Group, ...]

    def view(self, array: Array) -> Array:
        """What broadcasts over a table of the variant, as rows of columns: never a copy."""
        ones: tuple[Index, ...] = (0,) * (len(self.axes) - 1 - self.columns)
        seen: Array = array.transpose(self.axes)[(slice(None),) * (1 + self.columns) + ones]
        return seen


class Sweep(Struct, frozen=True):
    """One alternative on a whole box. ``variants`` are those of its sources."""

    plan: SweepPlan
    variants: tuple[Variant, ...]

    def leads_to(self, variant: Variant) -> bool:
        """Whether a variant is among the children."""
        return variant in self.variants

    def improve(
        self,
        costs: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        scratch: Scratch,
    ) -> None:
        """Take tile sizes where they are cheaper; later ones see what earlier ones have changed.

        Args:
            costs: The variant's.
            choices: The variant's.
            first: The option that is the first tile size.
            tables: Costs of the children.
            scratch: For intermediate results.
        """
        own = self.plan.view(costs)
        self._run(_blocks(own.shape), own, choices, first, tables, False, scratch)

    def repeat(
        self,
        costs: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        scratch: Scratch,
        changed: Array,
    ) -> bool:
        """The same, in any order among the options, where ``changed`` costs may make a difference.

        Returns:
            Whether they might.
        """
        own = self.plan.view(costs)
        # Only the own table still changes, and of that a column reads no other one.
        columns = self.plan.view(changed).any(axis=0)
        places = np.nonzero(columns)
        if not len(places[0]):
            return False
        # Listed columns are copied one by one: from half of them on, slices of all are cheaper.
        all_ = 2 * len(places[0]) > columns.size
        cuts = _blocks(own.shape) if all_ else _listed(places, own.shape[0])
        self._run(cuts, own, choices, first, tables, True, scratch)
        return True

    def _run(
        self,
        cuts: Iterator[tuple[tuple[Index, ...], _Cut]],
        own: Table,
        choices: Choices,
        first: int,
        tables: Mapping[Variant, Table],
        ties: bool,
        scratch: Scratch,
    ) -> None:
        chosen = self.plan.view(choices)
        sources = [
            None if gather is None else self.plan.view(gather.read(tables[variant]))
            for gather, variant in zip(self.plan.gathers, self.variants, strict=True)
        ]
        for where, cut in cuts:
            block = np.ascontiguousarray(own[where])
            options = np.ascontiguousarray(chosen[where])
            rows = [block if s is None else np.ascontiguousarray(cut(s)) for s in sources]
            taken = False
            for group in self.plan.groups:
                result = _result(group, rows, cut, scratch)
                option = first + group.position
                taken |= take_cheaper(block, options, group.part, result, option, ties, scratch)
            if taken:
                own[where], chosen[where] = block, options


def _result(group: Group, sources: Sequence[Table], cut: _Cut, scratch: Scratch) -> Table:
    """What the tile size costs."""
    total: Table | None = None
    for term in group.terms:
        value = sources[term.source][term.rows]
        if term.weight is not None:
            # Columns that are listed have one axis, however many the plan has.
            weight = term.weight if value.ndim == term.weight.ndim else term.weight.reshape(-1, 1)
            # Slot 0 has the sum so far, once there is one: products then go to the other.
            value = scratch.apply(np.multiply, value, weight, int(total is not None))
        total = value if total is None else scratch.apply(np.add, total, value, 0)
    if group.base is None:
        assert total is not None
        return total
    base = cut(group.base)
    return base if total is None else scratch.apply(np.add, total, base, 0)


def _blocks(shape: tuple[int, ...]) -> Iterator[tuple[tuple[Index, ...], _Cut]]:
    """All columns: slices of their first axis."""
    length = max(1, BLOCK // (shape[0] * prod(shape[2:])))
    for start in range(0, shape[1], length):
        part = slice(start, start + length)

        def cut(array: Array, part: slice = part) -> Array:
            return array[:, part] if array.shape[1] > 1 else array

        yield (slice(None), part), cut


def _listed(places: tuple[Array, ...], rows: int) -> Iterator[tuple[tuple[Index, ...], _Cut]]:
    """Some columns, listed one by one."""
    length = max(1, BLOCK // rows)
    for start in range(0, len(places[0]), length):
        part = tuple(p[start : start + length] for p in places)

        def cut(array: Array, part: tuple[Array, ...] = part) -> Array:
            index = [i if n > 1 else 0 for i, n in zip(part, array.shape[1:], strict=True)]
            found: Array = array[(slice(None), *index)]
            return found.reshape(len(array), -1)

        yield (slice(None), *part), cut
