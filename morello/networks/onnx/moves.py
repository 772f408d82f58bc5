"""Nodes of ONNX that only move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from morello.ir.numeric import Array
from morello.networks.byte_products import same_of_bytes
from morello.networks.kinds import Rewrite, Translation, number


def _transpose(t: Translation) -> str:
    [x] = t.inputs
    return t.permute(x, t.attribute("perm", range(len(t.shape(x)))[::-1]))


def _slice(t: Translation) -> str:
    x = t.inputs[0]
    shape = t.shape(x)
    starts, ends = t.whole_numbers("starts", 1) or (), t.whole_numbers("ends", 2) or ()
    axes = t.whole_numbers("axes", 3) or tuple(range(len(starts)))
    steps = t.whole_numbers("steps", 4) or (1,) * len(starts)
    slices = [slice(None)] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        before_all = step < 0 and end < -shape[axis]
        slices[axis] = slice(start, None if before_all else end, step)
    if min(steps, default=1) < 0:
        return t.move(x, t.places(x)[tuple(slices)])
    whole = [own.indices(size) for own, size in zip(slices, shape, strict=True)]
    return t.cut(x, t.result(), [own[0] for own in whole], [own[2] for own in whole])


def _split(t: Translation) -> Sequence[str]:
    x = t.inputs[0]
    t.whole_numbers("split", 1)  # what is computed has no sizes to be known
    axis = int(t.attribute("axis", 0)) % len(t.shape(x))
    parts, starts = [], [0] * len(t.shape(x))
    for place in range(len(t.node.outputs)):
        parts.append(t.cut(x, t.result(place), starts))
        starts[axis] += t.result(place)[axis]
    return parts


def _gather(t: Translation) -> str:
    x, indices = t.inputs
    shape, data = t.shape(x), t.network.data(indices)
    axis = int(t.attribute("axis", 0)) % len(shape)
    if data is None:
        # Rows of the first dimension; those of another one are brought there and back.
        order = [axis, *(a for a in range(len(shape)) if a != axis)]
        found, rank = t.lookup(t.permute(x, order), indices), len(t.shape(indices))
        inner = range(rank + axis, rank + len(shape) - 1)
        return t.permute(found, [*range(rank, rank + axis), *range(rank), *inner])
    if data.size != 1:
        return t.move(x, np.take(t.places(x), data, axis=axis))
    starts, one = [0] * len(shape), list(shape)
    starts[axis], one[axis] = int(data.reshape(())) % shape[axis], 1
    return t.cut(x, one, starts)


def _gather_elements(t: Translation) -> str:
    x, indices = t.inputs
    data = t.network.repeated_data(indices)
    if data is not None:
        return t.move(x, t.places(x)[_elements(t, data)])
    shape, wanted = t.shape(x), t.shape(indices)
    axis = int(t.attribute("axis", 0)) % len(shape)
    first = t.places(x)[_elements(t, np.zeros(wanted, np.int32))]
    step = prod(shape[axis + 1 :])
    flat = _row_number(t, [indices], [shape[axis]], [step], first, prod(shape))
    return t.lookup(t.view(x, (prod(shape),)), flat)


def _row_number(
    t: Translation,
    columns: Sequence[str],
    sizes: Sequence[int],
    steps: Sequence[int],
    first: Array,
    rows: int,
) -> str:
    """Which of all rows is meant by indices along several dimensions, from a first one on.

    A negative one counts from the end. One that is outside of its dimension is outside of all rows.
    """
    every = [(f"{{{n}}}", size, steps[n]) for n, size in enumerate(sizes)]
    parts = [f"({own} if {own} >= 0 else {own} + {size}) * {step}" for own, size, step in every]
    outside = " or ".join(f"{own} < (-{size}) or {own} >= {size}" for own, size, _ in every)
    value = f"(-{rows + 1}) if {outside} else {' + '.join(parts)} + {{{len(every)}}}"
    return t.elementwise(value, *columns, t.constant(first.astype(np.int32)), dtype="int32")


def _elements(t: Translation, data: Array) -> tuple[Array, ...]:
    """The indices of elements, of which only that along one dimension is not their own place."""
    axis = int(t.attribute("axis", 0)) % data.ndim
    own = [*np.indices(data.shape)]
    own[axis] = data
    return tuple(own)


def _gather_nd(t: Translation) -> str:
    x, indices = t.inputs
    data, shape, given = t.network.repeated_data(indices), t.shape(x), t.shape(indices)
    batched = int(t.attribute("batch_dims", 0))
    if data is not None:
        batch = np.indices(data.shape[:-1])[:batched]
        return t.move(x, t.places(x)[(*batch, *np.moveaxis(data, -1, 0))])
    depth = batched + given[-1]
    sizes = shape[batched:depth]
    columns = [
        t.view(t.cut(indices, (*given[:-1], 1), (*(0,) * (len(given) - 1), n)), given[:-1])
        for n in range(given[-1])
    ]
    steps = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
    first = (np.arange(prod(shape[:batched])) * prod(sizes)).reshape(
        *shape[:batched], *(1,) * (len(given) - 1 - batched)
    )
    rows = prod(shape[:depth])
    found = _row_number(t, columns, sizes, steps, first, rows)
    return t.lookup(t.view(x, (rows, *shape[depth:])), found)


COMBINED: Mapping[str, tuple[str, str]] = {
    "add": ("{0} + {1}", "+="),
    "max": ("max({0}, {1})", "max="),
    "min": ("min({0}, {1})", "min="),
    "mul": ("{0} * {1}", ""),
}
"""What is written, of what is there and what is new, and what several that are new are reduced by:
by the name of a reduction."""


def _scattered(t: Translation, *, elements: bool) -> str:
    """Elements of two tensors that lie one after the other."""
    x, indices, updates = t.inputs
    places, data = t.places(x).copy(), t.data(indices, "indices")
    where = _elements(t, data) if elements else tuple(np.moveaxis(data, -1, 0))
    targets = places[where].reshape(-1)
    updates = t.view(updates, targets.shape)
    reduction = str(t.attribute("reduction", "none"))
    if reduction != "none":
        combined, update = COMBINED[reduction]
        targets, updates = _reduced_to_places(t, targets, updates, update)
        updates = t.elementwise(combined, t.move(x, targets), updates)
    places.reshape(-1)[targets] = places.size + np.arange(len(targets))
    return t.move(t.concat([t.view(x, (places.size,)), updates], 0), places)


def _reduced_to_places(
    t: Translation, targets: Array, updates: str, update: str
) -> tuple[Array, str]:
    """Places, each once, and what is written to each, in a row."""
    distinct, own, counts = np.unique(targets, return_inverse=True, return_counts=True)
    if counts.max() > 1 and not update:
        raise t.unsupported("it multiplies several elements that it writes to one place")
    order = np.argsort(own, kind="stable")
    column = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((len(distinct), counts.max()), len(order))
    table[own[order], column] = order
    if counts.min() < counts.max():
        fill = 0 if update == "+=" else t.limits(updates)[0 if update == "max=" else 1]
        updates = t.concat([updates, t.constant(np.array([fill], t.type(updates)))], 0)
    rows = t.reduce(t.move(updates, table), [1], update)
    return distinct, t.view(rows, (len(distinct),))


def _reversed_rows(t: Translation) -> str:
    """The first elements of each row in the reverse order, as many as its length says."""
    x, lengths = t.inputs
    time, batch = int(t.attribute("time_axis", 0)), int(t.attribute("batch_axis", 1))
    places = t.places(x).copy()
    rows = np.moveaxis(places, (batch, time), (0, 1))  # a view of the places
    for row, length in zip(rows, t.data(lengths, "lengths").tolist(), strict=True):
        row[:length] = row[:length][::-1].copy()
    return t.move(x, places)


def _one_hot(t: Translation) -> str:
    """A number where the index is that of the place, also from the end, another one elsewhere."""
    indices, _, values = t.inputs
    depth, (off, on) = int(t.number(1, 0)), t.data(values, "values").tolist()
    axis = int(t.attribute("axis", -1)) % len(t.result())
    shape = t.shape(indices)
    places = np.arange(depth, dtype=np.float32).reshape(-1, *(1,) * (len(shape) - axis))
    column = t.view(indices, (*shape[:axis], 1, *shape[axis:]))
    value = f"{number(on)} if {{0}} == {{1}} or {{0}} + {depth} == {{1}} else {number(off)}"
    return t.cast(t.elementwise(value, column, t.constant(places), dtype="float32"))


def _diagonal(t: Translation) -> str:
    rows, columns = t.result()
    ones = np.eye(rows, columns, int(t.attribute("k", 0)), np.float32)
    return t.cast(t.constant(ones))


def _sizes(t: Translation) -> str:
    shape = t.shape(t.inputs[0])
    if t.operator == "Size":
        return t.cast(t.constant(np.array(prod(shape), np.int32)))
    part = shape[t.attribute("start", 0) : t.attribute("end", None)]
    return t.cast(t.constant(np.array(part, np.int32)))


def _triangle(t: Translation) -> str:
    x, kept = t.inputs[0], int(t.number(1, 0))
    part = np.triu if t.attribute("upper", 1) else np.tril
    ones = part(np.ones(t.shape(x)[-2:], np.float32), kept)
    return t.elementwise("{0} if {1} != 0 else 0", x, t.constant(ones))


def _concat(t: Translation) -> str:
    parts = [x for x in filter(None, t.inputs) if 0 not in t.shape(x)]
    return t.concat(parts, int(t.attribute("axis", 0)) % len(t.result()))


def _pad(t: Translation) -> str:
    x = t.inputs[0]
    shape = t.shape(x)
    pads = t.whole_numbers("pads", 1) or ()
    axes = t.whole_numbers("axes", 3) or tuple(range(len(shape)))
    before, after = [0] * len(shape), [0] * len(shape)
    for axis, low, high in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        before[axis], after[axis] = low, high
    if min(pads, default=0) < 0:  # it also cuts
        starts = [max(0, -low) for low in before]
        cuts = zip(shape, starts, after, strict=True)
        x = t.cut(x, [size - low + min(0, high) for size, low, high in cuts], starts)
        before, after = ([max(0, own) for own in each] for each in (before, after))
    mode: Any = t.attribute("mode", "constant")
    if mode == "constant":
        return t.frame(x, before, t.result(), float(t.attribute("value", t.number(2, 0.0))))
    return t.move(x, np.pad(t.places(x), [*zip(before, after, strict=True)], mode=mode))


def _expand(t: Translation) -> str:
    x = t.inputs[0]
    return t.repeat(x, t.result())


def _tile(t: Translation) -> str:
    x = t.inputs[0]
    repeats = t.whole_numbers("repeats", 1) or ()
    return t.move(x, np.tile(t.places(x), repeats))


def _depth_to_space(t: Translation) -> str:
    n, c, h, w = t.shape(t.inputs[0])
    block = int(t.attribute("blocksize", 1))
    deep = c // block**2
    if t.attribute("mode", "DCR") == "DCR":
        view, order = (n, block, block, deep, h, w), (0, 3, 4, 1, 5, 2)
    else:
        view, order = (n, deep, block, block, h, w), (0, 1, 4, 2, 5, 3)
    return t.permute(t.view(t.inputs[0], view), order)


def _space_to_depth(t: Translation) -> str:
    n, c, h, w = t.shape(t.inputs[0])
    block = int(t.attribute("blocksize", 1))
    view = t.view(t.inputs[0], (n, c, h // block, block, w // block, block))
    blocks_first = t.attribute("mode", "DCR") == "DCR"
    return t.permute(view, (0, 3, 5, 1, 2, 4) if blocks_first else (0, 1, 3, 5, 2, 4))


def _same(t: Translation) -> str:
    return t.inputs[0]


def _dropout(t: Translation) -> Sequence[str]:
    """All elements, and that all are kept."""
    if t.number(2, 0):
        raise t.unsupported("it is in training")
    x = t.inputs[0]
    return x, t.constant(np.ones(t.shape(x), np.float32))


REWRITES: Mapping[str, Rewrite] = {
    **dict.fromkeys(
        ("Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"), same_of_bytes(_same)
    ),
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Dropout": _dropout,
    "Expand": _expand,
    "EyeLike": _diagonal,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "OneHot": _one_hot,
    "Pad": _pad,
    "ReverseSequence": _reversed_rows,
    "Scatter": lambda t: _scattered(t, elements=True),
    "ScatterElements": lambda t: _scattered(t, elements=True),
    "ScatterND": lambda t: _scattered(t, elements=False),
    "Shape": _sizes,
    "Size": _sizes,
    "Slice": same_of_bytes(_slice),
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Tile": _tile,
    "Transpose": same_of_bytes(_transpose),
    "Trilu": _triangle,
}
