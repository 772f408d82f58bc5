"""Operations of StableHLO that only move elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from morello.networks.kinds import Rewrite, Translation


def _broadcast(t: Translation) -> str:
    [x], result = t.inputs, t.result()
    once, places = t.once(x), t.attribute("broadcast_dimensions", ())
    if [*places] != sorted(places):
        order = np.argsort(places)
        once, places = t.permute(once, order.tolist()), sorted(places)
    sizes = dict(zip(places, t.shape(once), strict=True))
    return t.repeat(t.view(once, [sizes.get(axis, 1) for axis in range(len(result))]), result)


def _reshape(t: Translation) -> str:
    [x] = t.inputs
    once = t.once(x)
    if prod(t.shape(once)) == 1:
        return t.repeat(once, t.result())
    return t.view(x, t.result())


def _transpose(t: Translation) -> str:
    return t.repeat(t.permute(t.once(t.inputs[0]), t.attribute("permutation", ())), t.result())


def _slice(t: Translation) -> str:
    starts, steps = t.attribute("start_indices", ()), t.attribute("strides", ())
    return t.cut(t.inputs[0], t.result(), starts, steps)


def _dynamic_slice(t: Translation) -> str:
    x, *starts = t.inputs
    given = (int(t.data(start, "start").reshape(())) for start in starts)
    rows = zip(given, t.shape(x), t.result(), strict=True)
    return t.cut(x, t.result(), [max(0, min(start, size - part)) for start, size, part in rows])


def _concatenate(t: Translation) -> str:
    return t.concat(t.inputs, t.attribute("dimension", 0))


def _pad(t: Translation) -> str:
    x, value = t.inputs
    if any(t.attribute("interior_padding", ())):
        raise t.unsupported("it puts elements apart")
    names = ("edge_padding_low", "edge_padding_high")
    low, high = (t.attribute(name, ()) for name in names)
    starts = [max(0, -own) for own in low]
    rows = zip(t.shape(x), starts, high, strict=True)
    kept = t.cut(x, [size - start + min(0, own) for size, start, own in rows], starts)
    number = float(t.data(value, "value").reshape(()))
    return t.frame(kept, [max(0, own) for own in low], t.result(), number)


def _reverse(t: Translation) -> str:
    [x] = t.inputs
    return t.move(x, np.flip(t.places(x), t.attribute("dimensions", ())))


def _gather(t: Translation) -> str:
    """Rows of a table, where it is that: along the first dimension, and whole."""
    x, indices = t.inputs
    rank, result = len(t.shape(x)), t.result()
    place = len(t.shape(indices))
    plain = {
        "offset_dims": tuple(range(len(result) - rank + 1, len(result))),
        "collapsed_slice_dims": (0,),
        "operand_batching_dims": (),
        "start_index_map": (0,),
        "slice_sizes": (1, *t.shape(x)[1:]),
    }
    if any(t.attribute(name, ()) != value for name, value in plain.items()):
        raise t.unsupported("it looks up what is not whole rows of its first dimension")
    if t.attribute("index_vector_dim", 0) < place - 1:
        raise t.unsupported("its indices are apart")
    rows = t.view(indices, result[: len(result) - rank + 1])
    return t.lookup(x, rows, nearest=True)


def _same(t: Translation) -> Sequence[str]:
    return t.inputs


REWRITES: Mapping[str, Rewrite] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "dynamic_slice": _dynamic_slice,
    "gather": _gather,
    "optimization_barrier": _same,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}
