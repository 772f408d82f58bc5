"""Matching microkernels: which families a kernel's pattern accepts, and at which sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from operator import itemgetter

import numpy as np
from msgspec import Struct

from morello.ir.layout import contiguity, panel, panel_of, panel_text
from morello.ir.numeric import Size, Truth
from morello.ir.spec import Family
from morello.ir.target import Microkernel, Target
from morello.ir.vector_axis import REDUCTION, ROW_KINDS, Rows
from morello.records import replace
from morello.rewriting.meaning_cost import lanes_of, missing_primitives
from morello.rewriting.patterns import (
    PartialOperand,
    Patterns,
    operand_refusal,
    operator_refusal,
    pattern_order,
    patterns_for,
)
from morello.rewriting.references import (
    Point,
    Sizes,
    SpecRef,
    TensorRef,
    Variables,
    spec_ref,
)


class KernelMatch(Struct, frozen=True):
    """A kernel that accepts a family.

    ``fixed`` are (operand, dimension, size). ``variables`` bind a pattern's names, each to one or
    more (operand, dimension, step): the first is of that size, the others have so many elements,
    each so many apart. ``joined`` are (operand, dimension, how many are faster): of size 1, or in
    one piece with those, and a part of the row.
    """

    kernel: Microkernel
    f: SpecRef
    patterns: Patterns
    fixed: tuple[tuple[int, int, int], ...]
    variables: tuple[tuple[str, tuple[tuple[int, int, int], ...]], ...]
    joined: tuple[tuple[int, int, int], ...] = ()

    def on(self, family: Family) -> KernelMatch:
        """The match of another family whose operands are alike for all that the patterns say."""
        return replace(self, f=spec_ref(family))

    @property
    def lanes(self) -> int:
        """Lanes that the meaning is evaluated in, if the kernel is written from it."""
        return meaning_lanes(self.kernel, self.f.family)

    def bindings(self, sizes: Sizes) -> dict[str, Size]:
        """Pattern variables at these sizes."""
        found = {}
        for name, ((position, dimension, _), *_) in self.variables:
            extents = self.f.tensors[position].extents(sizes)
            joined = (extents[d] for p, d, _ in self.joined if p == position)
            found[name] = prod(joined, start=extents[dimension])
        return found

    def conditions(self, at: Point) -> list[tuple[str, Truth]]:
        """What sizes and packing must satisfy, each with its description."""
        return [
            *self._panel_conditions(at.packing),
            *self._shape_conditions(at.sizes),
            *self._joined_conditions(at),
        ]

    def _panel_conditions(self, packing: Sequence[int]) -> Iterator[tuple[str, bool]]:
        names = self.f.family.operation.names
        for name, pattern, own in zip(names, self.patterns.of, packing, strict=True):
            if panels := panel(own):
                text = f"{name} is not in panels of {panel_text(panels)}"
                yield text, panels in map(panel_of, pattern.panels)

    def _shape_conditions(self, sizes: Sizes) -> list[tuple[str, Truth]]:
        conditions: list[tuple[str, Truth]] = []
        names = self.f.family.operation.names
        for position, dimension, wanted in self.fixed:
            extent = self.f.tensors[position].extents(sizes)[dimension]
            text = f"dimension {dimension} of {names[position]} is {wanted}"
            conditions.append((text, extent == wanted))
        for name, places in self.variables:
            first = self.f.tensors[places[0][0]].extents(sizes)[places[0][1]]
            for position, dimension, step in places[1:]:
                extent = self.f.tensors[position].extents(sizes)[dimension]
                text = f"every '{name}' is the same size"
                conditions.append((text, extent == step * (first - 1) + 1))
        return conditions

    def _joined_conditions(self, at: Point) -> Iterator[tuple[str, Truth]]:
        names = self.f.family.operation.names
        for position, dimension, faster in self.joined:
            extent = self.f.tensors[position].extents(at.sizes)[dimension]
            packing = at.packing[position]
            together = (contiguity(packing) > faster) & (panel(packing) == 0)
            text = f"dimension {dimension} of {names[position]} is 1, or in one piece with the row"
            yield text, (extent == 1) | together

    def together(self, tensor: TensorRef, packed: Size) -> Size:
        """Of the dimensions in memory that are packed together, how many the pattern counts.

        A dimension that the pattern leaves out may lie between two of its own. It is of size 1, but
        others of the tensor that this is a part of may be between their rows.
        """
        keys = [own.key for own in self.f.tensors]
        pattern, order = self.patterns.of[keys.index(tensor.key)], tensor.operand.order
        wanted = pattern_order(pattern, len(order))
        if pattern.order == () or order == wanted:
            return packed
        found: Size = 0
        reach = 0
        for dimension in reversed(wanted):
            reach = max(reach, len(order) - 1 - order.index(dimension))
            found = found + np.greater(packed, reach)
        return found

    def scope_variables(self, at: Point) -> Variables:
        """What the kernel's guards and cost may name."""
        f = spec_ref(self.f.family, at.packing)
        tensors = dict(zip(f.family.operation.names, f.tensors, strict=True))
        return {"f": f, **tensors, **self.bindings(at.sizes)}


def meaning_lanes(kernel: Microkernel, family: Family) -> int:
    """Lanes in which a kernel's meaning is evaluated: of its vectors, those along its rows too."""
    if vectors := kernel.declaration.vectors:
        return vectors[1]
    pattern, element = kernel.match.operands[0], family.operands[-1].dtype.bytes
    width = pattern.width(element)
    if kernel.match.kind in ROW_KINDS and width:
        return width // element
    return lanes_of(family)


def match_kernel(kernel: Microkernel, target: Target, family: Family) -> KernelMatch | str:
    """The match, or the reason why the family is refused."""
    refusal = operation_refusal(kernel, family)
    if refusal:
        return refusal
    orders = tuple(operand.order for operand in family.operands)
    patterns = patterns_for(kernel.match, family.operation, orders)
    if isinstance(patterns, str):
        return patterns
    rows = patterns.rows
    if kernel.template is None:
        lanes = meaning_lanes(kernel, family)
        missing = missing_primitives(target, family, lanes, patterns.rows, streamed=kernel.streamed)
        if missing:
            return f"the target has no primitive {missing[0]}"
    for reason in _operand_refusals(patterns, target, family):
        return reason
    if rows is not None and (reason := _strided_refusal(kernel, rows, family)):
        return reason
    joins = _joins(patterns, target, family)
    f = spec_ref(family)
    fixed: list[tuple[int, int, int]] = []
    joined: list[tuple[int, int, int]] = []
    variables: dict[str, list[tuple[int, int, int]]] = {}
    for position, (pattern, tensor) in enumerate(zip(patterns.of, f.tensors, strict=True)):
        # The pattern does not name the first dimensions; for rows, all but the fastest.
        rank = len(tensor.indices)
        order = tensor.operand.order if rows else tuple(range(rank))
        own = rank - len(pattern.shape)
        alone = own - (joins if rows and rows.along[position] else 0)
        step = max(1, rows.along[position]) if rows else 1
        fixed += [(position, d, 1) for d in order[:alone]]
        joined += [(position, order[place], rank - place - 1) for place in range(alone, own)]
        for d, wanted in zip(order[own:], pattern.shape, strict=True):
            if isinstance(wanted, int):
                fixed.append((position, d, wanted))
            else:
                variables.setdefault(wanted, []).append((position, d, step))
    bound = tuple((n, tuple(sorted(p, key=itemgetter(2)))) for n, p in variables.items())
    return KernelMatch(kernel, f, patterns, tuple(fixed), bound, tuple(joined))


def misfits(kernel: Microkernel, target: Target, family: Family) -> list[str]:
    """What of the operands a kernel does not accept; nothing where it is for other operations."""
    if operation_refusal(kernel, family):
        return []
    orders = tuple(operand.order for operand in family.operands)
    patterns = patterns_for(kernel.match, family.operation, orders)
    if isinstance(patterns, str):
        return []
    return list(_operand_refusals(patterns, target, family))


def _operand_refusals(patterns: Patterns, target: Target, family: Family) -> Iterator[str]:
    operands = zip(patterns.of, family.operands, family.operation.names, strict=True)
    for pattern, operand, name in operands:
        if reason := operand_refusal(pattern, target, PartialOperand.of(operand), name):
            yield reason


def _strided_refusal(kernel: Microkernel, rows: Rows, family: Family) -> str:
    """Why every second element of an operand cannot be had; nothing where it can."""
    operands = zip(rows.along, family.operands, family.operation.names, strict=True)
    for name, operand in ((name, operand) for step, operand, name in operands if step > 1):
        if operand.vector:
            return f"every second element of {name} is wanted, which is in vectors"
        if kernel.streamed:
            return f"every second element of {name} is wanted, which is not in step with stores"
    return ""


def _joins(patterns: Patterns, target: Target, family: Family) -> int:
    """How many dimensions may be of one row with the fastest.

    None where a number says how long a row is, and of what is in registers or in the nearest cache:
    whether there are gaps between rows is not known of that.
    """
    rows = patterns.rows
    if rows is None or any(isinstance(n, int) for p in patterns.of for n in p.shape):
        return 0
    along = (o for o, step in zip(family.operands, rows.along, strict=True) if step)
    return len(rows.joined) if all(o.moves_lines(target) for o in along) else 0


def operation_refusal(kernel: Microkernel, family: Family) -> str:
    """Why a kernel refuses a family for its operation or threads, whatever its operands are."""
    match, operation = kernel.match, family.operation
    if refusal := operator_refusal(kernel, operation.operator):
        return refusal
    if match.kind == "named" and match.accumulating not in (None, operation.accumulating):
        return "it accumulates" if match.accumulating else "it does not accumulate"
    starts = match.kind in ("named", REDUCTION)
    if operation.operator.reduction and not operation.accumulating and not starts:
        return "the reduction is not yet initialised"
    if kernel.streamed and operation.accumulating:
        return "what is stored past the caches is not read before"
    if family.threads > 1:
        return "the work is still to be divided among threads"
    return ""
