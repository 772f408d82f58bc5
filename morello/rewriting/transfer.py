"""What it costs to move a tensor between levels: its lines, and what rows add that lie apart."""

from __future__ import annotations

from math import prod

import numpy as np

from morello.ir.layout import in_one_piece, paged, panel
from morello.ir.numeric import Number, Size
from morello.ir.target import Level, Target
from morello.rewriting.references import (
    Sizes,
    SpecRef,
    TensorRef,
    extents_in_memory,
    inner_and_outer,
    lines,
)


def transfer_cycles(
    target: Target,
    tensor: TensorRef,
    sizes: Sizes,
    level: Level,
    kind: str,
    *,
    by_rows: bool,
    ahead: bool = False,
) -> Number:
    """Lines times the cost of a line, and of rows that lie apart the cost of each.

    A row that lies apart costs what it takes until its lines are fetched ahead. One that is shorter
    does not come so far: it costs no more than its lines would, each by itself.

    Summed over every level on the way. A row that is all of a view lies apart from the next one if
    it is a part of something wider. A level with streams fetches so many rows ahead: one alone does
    not keep it busy, and more are not fetched ahead, which costs for each line.

    Args:
        target: Whose levels are on the way.
        tensor: What is moved, from or to where it is.
        sizes: Of the dimensions that index it.
        level: The other end.
        kind: ``fetch`` or ``store``: which coefficients of the levels count.
        by_rows: Whether a row is itself read in parts side by side.
        ahead: Whether kernels ask for what follows in each row, so that none is one too many.
    """
    hops = target.between(level, tensor.operand.level)
    _, runs = inner_and_outer(tensor, sizes)
    count = lines(tensor, sizes)
    apart: Number = 0.0
    for hop in hops:
        strided, aliasing = (_coefficient(hop, f"{kind}_{n}") for n in ("strided", "paged"))
        rows: Number = runs * np.where(paged(tensor.packing), aliasing, strided)
        if f"{kind}_short" in hop.coefficients:
            rows = np.minimum(rows, count * _coefficient(hop, f"{kind}_short"))
        apart = apart + rows
    whole = in_one_piece(tensor.packing, len(tensor.operand.order))
    together = sum(_coefficient(hop, kind) for hop in hops)
    total = count * together + np.where(whole, 0.0, apart)
    for hop in (h for h in hops if h.streams):
        alone, crowded = (_coefficient(hop, f"{kind}_{n}") for n in ("alone", "crowded"))
        rows = _side_by_side(tensor, sizes, runs, target.page)
        by_itself = 0.0 if by_rows else alone / np.clip(rows, 1, hop.streams)
        total = total + count * by_itself
        if not ahead:
            total = total + count * crowded * (rows > hop.streams)
    return total


def fetched_ahead(target: Target, f: SpecRef, tensor: TensorRef) -> bool:
    """Whether kernels for an operation ask for what follows in the rows of an operand."""
    types = tuple(str(own.operand.dtype) for own in f.tensors)
    places = (p for p, own in enumerate(f.tensors) if own.key == tensor.key)
    name = f.family.operation.operator.name
    return any((name, types, place) in target.fetched_ahead for place in places)


def _coefficient(level: Level, name: str) -> float:
    """A coefficient of a level, 0 where it has none."""
    found = level.coefficients.get(name)
    return 0.0 if found is None else found.value


def _side_by_side(tensor: TensorRef, sizes: Sizes, runs: Size, page: int) -> Size:
    """How many rows, or panels, of a view may be read side by side: all runs that lie apart.

    Of what is packed together only rows of a page and more count: shorter ones are read one after
    another. Panels that follow each other along their height are one row.
    """
    extents = extents_in_memory(tensor, sizes)
    rank = len(tensor.operand.order)
    row = extents[-1] if rank else 1
    whole = prod(extents, start=1)
    rows: Size = np.where(extents[0] > 1, extents[0], extents[-rank - 1])
    rows = np.where(panel(tensor.packing) > 0, rows, whole // row)
    length = whole // rows * tensor.operand.dtype.bytes
    count = np.where(length >= page, rows, 1)
    return np.where(in_one_piece(tensor.packing, len(tensor.operand.order)), count, runs)
