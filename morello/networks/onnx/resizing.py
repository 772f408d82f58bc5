"""Images in another size, in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import floor, prod

import numpy as np

from morello.ir.numeric import Array
from morello.networks.kinds import Rewrite, Translation

_ROUNDED: Mapping[str, Callable[[Array], Array]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
}


def _resize(t: Translation) -> str:
    x = t.inputs[0]
    shape, result = t.shape(x), t.result()
    places = [
        None if size == wanted and scale == 1 else _places(t, size, wanted, scale)
        for size, wanted, scale in zip(shape, result, _scales(t), strict=True)
    ]
    mode = t.attribute("mode", "nearest")
    if t.attribute("antialias", 0):
        raise t.unsupported("it smooths what it makes smaller")
    if mode == "nearest":
        rounded = _ROUNDED[t.attribute("nearest_mode", _default_rounding(t))]
        return _nearest(t, x, [None if own is None else rounded(own) for own in places])
    weights = _linear if mode == "linear" else _cubic
    for axis, own in enumerate(places):
        if own is not None:
            x = _along(t, x, axis, weights(t, own, shape[axis]))
    return x


def _default_rounding(t: Translation) -> str:
    return "floor" if t.operator == "Upsample" else "round_prefer_floor"


def _scales(t: Translation) -> list[float]:
    """How many times as large each dimension is, as the file says it."""
    shape, result = t.shape(t.inputs[0]), t.result()
    scales = [wanted / size for size, wanted in zip(shape, result, strict=True)]
    given = t.input(1 if t.operator == "Upsample" else 2)
    told = t.attribute("scales", t.data(given, "factors").reshape(-1) if given else ())
    axes = t.attribute("axes", range(len(shape)))
    for axis, scale in zip(axes, told, strict=False):
        scales[axis] = float(scale)
    return scales


def _places(t: Translation, size: int, wanted: int, scale: float) -> Array:
    """Where each element of the result is, counted in elements of a dimension of this size.

    In f32, as runtimes do: which of two elements at one distance is the nearest depends on it.
    """
    own, scale = np.arange(wanted, dtype=np.float32), float(np.float32(scale))
    default = "asymmetric" if t.operator == "Upsample" else "half_pixel"
    match t.attribute("coordinate_transformation_mode", default):
        case "half_pixel":
            return (own + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            offset = size / 2 * (1 - wanted / (scale * size))
            return offset + (own + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (own + 0.5) / scale - 0.5 if wanted > 1 else own
        case "align_corners":
            return own * (size - 1) / max(1, wanted - 1)
        case "asymmetric":
            return own / scale
        case other:
            raise t.unsupported(f"places are told by '{other}'")


def _nearest(t: Translation, x: str, places: list[Array | None]) -> str:
    """The nearest elements: where each is repeated as often as any other, they are read so."""
    shape, result = t.shape(x), t.result()
    every = [
        np.arange(size) if own is None else np.clip(own, 0, size - 1).astype(np.int64)
        for size, own in zip(shape, places, strict=True)
    ]
    times = [wanted // size for wanted, size in zip(result, shape, strict=True)]
    plain = [np.repeat(np.arange(n), k) for n, k in zip(shape, times, strict=True)]
    if not all(map(np.array_equal, every, plain)):
        return t.move(x, t.places(x)[np.ix_(*every)])
    # Each dimension is followed by one along which the elements are repeated.
    once = [size for small in shape for size in (small, 1)]
    often = [size for pair in zip(shape, times, strict=True) for size in pair]
    return t.repeat(t.view(x, once), often)


def _linear(_: Translation, places: Array, size: int) -> Array:
    """A row of weights for each element of the result: two neighbours share it."""
    inside = np.clip(places, 0, size - 1)
    low = np.floor(inside).astype(np.int64)
    weights = np.zeros((len(places), size))
    rows = np.arange(len(places))
    weights[rows, low] += 1 - (inside - low)
    weights[rows, np.minimum(low + 1, size - 1)] += inside - low
    return weights


def _cubic(t: Translation, places: Array, size: int) -> Array:
    """The same with four neighbours (Keys, 1981, with the parameter that the file says)."""
    a, outside = float(t.attribute("cubic_coeff_a", -0.75)), t.attribute("exclude_outside", 0)
    weights = np.zeros((len(places), size))
    for row, place in enumerate(places):
        first = floor(place) - 1
        for own in range(first, first + 4):
            x = abs(place - own)
            near = (a + 2) * x**3 - (a + 3) * x**2 + 1
            weight = near if x <= 1 else a * (x**3 - 5 * x**2 + 8 * x - 4)
            if 0 <= own < size or not outside:
                weights[row, min(max(own, 0), size - 1)] += weight
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _along(t: Translation, x: str, axis: int, weights: Array) -> str:
    """What a matrix makes of one dimension."""
    shape, matrix = t.shape(x), t.constant(weights.astype(np.float32))
    outer, size, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
    if inner == 1:
        made = t.product(t.view(x, (outer, size)), matrix, swap_b=True)
    elif outer == 1:
        made = t.product(matrix, t.view(x, (size, inner)))
    else:
        made = t.product(matrix, t.view(x, (outer, size, inner)))
    return t.view(made, (*shape[:axis], len(weights), *shape[axis + 1 :]))


REWRITES: Mapping[str, Rewrite] = {"Resize": _resize, "Upsample": _resize}
