"""Fourier transforms in ONNX: products with matrices, which are what a transform makes of ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

import numpy as np

from morello.ir.numeric import Array
from morello.networks.images import Windows, convolved
from morello.networks.kinds import Rewrite, Translation

MOST_FACTORS = 1 << 22
"""Elements of a matrix: of so many it is 16 MiB."""


TRANSFORMS: Mapping[tuple[bool, bool], Callable[[Array, int], Array]] = {
    (False, False): np.fft.fft,
    (False, True): lambda rows, length: np.fft.rfft(rows.real, length),
    (True, False): np.fft.ifft,
    (True, True): np.fft.irfft,
}
"""Of rows, to so many numbers: whether it is an inverse, and has only one of two halves."""


def _fourier(t: Translation) -> str:
    """Along one dimension; the last one has a number, or its real and its imaginary part."""
    x = t.inputs[0]
    shape, result = t.shape(x), t.result()
    axis = int(t.attribute("axis", t.number(2, -2 if t.network.version >= AXIS_GIVEN else 1)))
    axis %= len(shape)
    size, parts = shape[axis], shape[-1]
    onesided, inverse = (bool(t.attribute(name, 0)) for name in ("onesided", "inverse"))
    wanted = size if not (inverse and onesided) else result[axis]
    matrix = _transform(t, size, parts, int(t.number(1, wanted)), inverse, onesided)
    order = [*(a for a in range(len(shape) - 1) if a != axis), axis, len(shape) - 1]
    rows = t.view(t.permute(x, order), (prod(shape) // (size * parts), size * parts))
    made = t.view(t.product(rows, t.constant(matrix)), [result[a] for a in order])
    return t.permute(made, [order.index(a) for a in range(len(shape))])


AXIS_GIVEN = 20
"""The version of ONNX from which on the dimension is an input, and the last but one if left out."""


def _transform(
    t: Translation, size: int, parts: int, length: int, inverse: bool, onesided: bool
) -> Array:
    """What each number, or part of one, adds to all numbers of the result."""
    ones = np.eye(size * parts).reshape(-1, size, parts)
    given = ones[..., 0] + (1j * ones[..., 1] if parts == 2 else 0)
    made = TRANSFORMS[inverse, onesided](given, length)
    both = [made] if inverse and onesided else [made.real, made.imag]
    matrix = np.stack(both, -1).reshape(size * parts, -1)
    if matrix.size > MOST_FACTORS:
        raise t.unsupported(f"it transforms {size} numbers, of which a matrix is too large")
    return matrix.astype(np.float32)


def _windows_transformed(t: Translation) -> str:
    """A convolution: filters are what a transform makes of ones, by the weights of a window."""
    signal, shape = t.inputs[0], t.shape(t.inputs[0])
    if len(shape) == 3 and shape[2] == 2:
        raise t.unsupported("its signal has an imaginary part")
    step, window = int(t.number(1, 1)), t.input(2)
    weights = t.data(window, "window").reshape(-1) if window else np.ones(int(t.number(3, 0)))
    size = len(weights)
    matrix = _transform(t, size, 1, size, False, bool(t.attribute("onesided", 1)))
    filters = (matrix * weights[:, None]).T.reshape(-1, 1, size).astype(np.float32)
    windows = Windows((size,), (step,), (1,), (0,), (0,))
    count = windows.counts(shape[1:2])[0]
    made = convolved(t, t.view(signal, (shape[0], 1, shape[1])), filters, windows, 1)
    rows = t.permute(t.view(made, (shape[0], len(filters), count)), (0, 2, 1))
    return t.view(rows, (shape[0], count, len(filters) // 2, 2))


REWRITES: Mapping[str, Rewrite] = {"DFT": _fourier, "STFT": _windows_transformed}
