"""Some elements of a goal's outputs: each step executed for what is needed of its output alone.

A *selection* of a tensor has the indices that are needed along each axis, in order. What is read of
an operand follows from what is wanted of the output: the same indices where both have a dimension,
all where it is reduced. Where an index is a sum, as in a window, what it reaches from its first
element to its last; the dimensions of such a sum are then selected without gaps. An axis of the
output that has margins, or that goes through rows, is needed whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial as bind
from operator import itemgetter

import numpy as np
from msgspec import Struct

from morello.ir.goal import GoalTensor
from morello.ir.numeric import Array
from morello.ir.operators import OperandIndex
from morello.reference.bounded import Bounded, joined, mapped
from morello.reference.errors import Errors
from morello.reference.meaning import Meaning, Tensor
from morello.reference.steps import Step, Steps, place_of

Indices = Array
"""Indices along an axis, or of a dimension: int64, they rise."""

Selection = tuple[Indices, ...]


class Part(Struct, frozen=True):
    """A step for a part of its dimensions."""

    step: Step
    dims: Mapping[str, Indices]

    @property
    def work(self) -> float:
        """See `Step.work`."""
        return self.step.work({dim: indices.size for dim, indices in self.dims.items()})

    def needed(self, position: int) -> Selection:
        """What the operand at this position has of it."""
        return tuple(_reached(i, self.dims) for i in self.step.operation.operands[position])


class PartialGoal(Struct, frozen=True):
    """What has to be computed for some elements of outputs.

    Attributes:
        wanted: Names of the outputs.
        parts: The steps that are needed, in order.
        needed: The selection of each tensor that they read or compute.
        steps: All steps of the goal.
    """

    wanted: tuple[str, ...]
    parts: tuple[Part, ...]
    needed: Mapping[str, Selection]
    steps: Steps

    @staticmethod
    def of(steps: Steps, wanted: Mapping[str, Selection]) -> PartialGoal:
        """For selections of outputs, by name. More is selected where steps cannot do with less."""
        needed = dict(wanted)
        parts: list[Part] = []
        for step in reversed(steps.steps):
            own = steps.parts.get(step.output)
            if own is not None and own.whole is not None and own.whole.name in needed:
                # All that reads the whole comes after all of its parts.
                widened = _widened(own, needed[own.whole.name])
                needed[own.whole.name] = widened
                inside = _inside(own, widened)
                if inside is not None:
                    needed[own.name] = inside
            if step.output not in needed:
                continue
            part = Part(step, _dims(step, needed[step.output]))
            parts.append(part)
            needed[step.output] = part.needed(len(step.tensors) - 1)
            for position, name in enumerate(step.tensors[:-1]):
                needed[name] = _union(needed.get(name), part.needed(position))
                view = steps.views.get(name)
                if view is not None and view.whole is not None:
                    places = tuple(map(np.unique, place_of(view, needed[name])))
                    needed[view.whole.name] = _union(needed.get(view.whole.name), places)
        return PartialGoal(tuple(wanted), tuple(reversed(parts)), needed, steps)

    @property
    def work(self) -> float:
        """Operations of all parts."""
        return sum(part.work for part in self.parts)

    def run(self, inputs: Mapping[str, Array], *, flushes: bool = False) -> dict[str, Bounded]:
        """What is computed, by name, and of that only what is needed.

        Args:
            inputs: Inputs and weights by name, whole.
            flushes: Subnormal numbers may have been taken for 0.
        """
        given = self.steps.given(inputs)
        known: dict[str, Tensor] = {
            name: taken(given[name], selection)
            for name, selection in self.needed.items()
            if name in given
        }
        for part in self.parts:
            step = part.step
            for name in step.tensors[:-1]:
                self._find(name, known)
            operands = [
                self._operand(known[name], name, part.needed(position))
                for position, name in enumerate(step.tensors[:-1])
            ]
            meaning = Meaning(step.operation, step.dtype, Errors(step.dtype, flushes=flushes))
            sizes = [part.dims[d].size for d in step.operation.dims]
            known[step.output] = meaning.execute(sizes, operands)
        for name in self.wanted:
            self._find(name, known)
        computed = {*self.wanted, *(p.step.output for p in self.parts)}
        return {name: known[name] for name in computed}  # type: ignore[misc]

    def _find(self, name: str, known: dict[str, Tensor]) -> None:
        """Add a view, or what is computed in parts, if that is what a name stands for."""
        if name in known:
            return
        view = self.steps.views.get(name)
        if view is not None and view.whole is not None:
            self._find(view.whole.name, known)
            places = place_of(view, self.needed[name])
            own = tuple(map(np.searchsorted, self.needed[view.whole.name], places))
            known[name] = mapped(itemgetter(own), known[view.whole.name])
            return
        selected = self.needed[name]
        found: list[tuple[tuple[Array, ...], Bounded]] = []
        for part in self.steps.parts_of(name):
            inside = _inside(part, selected)
            if inside is None:
                continue
            places = tuple(map(np.searchsorted, selected, place_of(part, inside)))
            own = tuple(map(np.searchsorted, self.needed[part.name], inside))
            piece = taken(known[part.name], own)
            assert isinstance(piece, Bounded)
            found.append((places, piece))
        known[name] = joined([indices.size for indices in selected], found)

    def _operand(self, tensor: Tensor, name: str, wanted: Selection) -> Tensor:
        """What one step reads of what is selected for all."""
        selected = self.needed[name]
        if all(map(np.array_equal, selected, wanted)):
            return tensor
        return taken(tensor, tuple(map(np.searchsorted, selected, wanted)))


def _inside(part: GoalTensor, selected: Selection) -> Selection | None:
    """What a part has of a selection of its whole; none if that is nothing."""
    assert part.whole is not None
    shape, several, found = part.whole.shape, _through_rows(part), list[Indices]()
    along = {axis.dimension for axis in part.axes}
    for axis, size in zip(part.axes, part.shape, strict=True):
        d, low = axis.dimension, part.lows[axis.dimension]
        here, reach = selected[d] - low, shape[d]
        if axis.runs_on:  # through the rows of dimensions outside of it, too
            order = part.whole.layout.order
            for outer in order[: order.index(d)][::-1]:
                if reach < size:
                    rows = reach * (selected[outer] - part.lows[outer])
                    here, reach = np.add.outer(rows, here).ravel(), reach * shape[outer]
                    along.add(outer)
        here = np.unique(here[(here >= 0) & (here < size)])
        found.append(np.arange(size) if d in several else here)
    fixed = all(low in selected[d] for d, low in enumerate(part.lows) if d not in along)
    return tuple(found) if fixed and all(indices.size for indices in found) else None


def _through_rows(part: GoalTensor) -> set[int]:
    """The dimensions of a whole along which several of a part's dimensions run."""
    dimensions = [axis.dimension for axis in part.axes]
    return {d for d in dimensions if dimensions.count(d) > 1}


def _widened(part: GoalTensor, selected: Selection) -> Selection:
    """A selection of a whole with all that a part reaches along what it goes through in rows."""
    several = _through_rows(part)
    return tuple(
        np.union1d(wanted, low + np.arange(size)) if d in several else wanted
        for d, (wanted, low, size) in enumerate(zip(selected, part.lows, part.box, strict=True))
    )


def taken(tensor: Tensor, selection: Selection) -> Tensor:
    """The selected elements of a tensor; a copy, but where all are."""
    whole = all(i.size == n for i, n in zip(selection, tensor.shape, strict=True))
    found: Tensor = tensor if whole else mapped(bind(_take, selection), tensor)
    return found


def whole(shape: Sequence[int]) -> Selection:
    """All elements of a tensor."""
    return tuple(np.arange(n) for n in shape)


def _take(selection: Selection, array: Array) -> Array:
    for axis, indices in enumerate(selection):
        if indices.size < array.shape[axis]:
            array = np.take(array, indices, axis)
    return array


def _dims(step: Step, selection: Selection) -> dict[str, Indices]:
    """What of each dimension is needed for a selection of the output."""
    dims = {dim: np.arange(size) for dim, size in step.size.items()}
    *inputs, output = step.operation.operands
    for index, indices in zip(output, selection, strict=True):
        if index.alone is not None:
            dims[index.alone] = indices
    summed = (i for access in inputs for i in access if i.alone is None)
    for dim in {d for index in summed for d in index.dims}:
        dims[dim] = np.arange(dims[dim][0], dims[dim][-1] + 1)
    return dims


def _reached(index: OperandIndex, dims: Mapping[str, Indices]) -> Indices:
    """What an index reaches along its axis, with its margins."""
    if index.alone is not None:
        return dims[index.alone]
    low = sum(factor * int(dims[dim][0]) for dim, factor in index.terms)
    return low + np.arange(index.extent({dim: dims[dim].size for dim in index.dims}))


def _union(known: Selection | None, more: Selection) -> Selection:
    if known is None:
        return more
    return tuple(
        a if np.array_equal(a, b) else np.union1d(a, b) for a, b in zip(known, more, strict=True)
    )
