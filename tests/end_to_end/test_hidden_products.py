"""Statements that scale, mask or add up products compute what numpy does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello

from .kernels import Array, small_machines, to_run

CASES: dict[str, tuple[str, Callable[..., Array]]] = {
    "scaled": (
        "input x: f32[5, 19] input w: f32[9, 19] output y: f32[5, 9] "
        "y[m, n] += 0.5 * x[m, k] * w[n, k]",
        lambda x, w: 0.5 * x @ w.T,
    ),
    "scaled after, and negative": (
        "input x: f32[5, 19] input w: f32[9, 19] input s: f32[9] output y: f32[5, 9] "
        "y[m, n] += -(x[m, k] * w[n, k]) * s[n] / 8",
        lambda x, w, s: -x @ w.T * s / 8,
    ),
    "masked by elements": (
        "input x: f32[5, 19] input mask: f32[5, 19] input w: f32[9, 19] output y: f32[5, 9] "
        "y[m, n] += (x[m, k] * mask[m, k]) * w[n, k]",
        lambda x, mask, w: (x * mask) @ w.T,
    ),
    "masked by positions": (
        "input x: f32[9, 17] input w: f32[17, 6] output y: f32[9, 6] "
        "y[m, n] += (x[m, k] if k <= m else 0) * w[k, n]",
        lambda x, w: np.tril(x) @ w,
    ),
    "both factors computed": (
        "input x: f32[9, 17] input b: f32[17] input w: f32[17, 6] output y: f32[9, 6] "
        "y[m, n] += (x[m, k] + b[k]) * max(w[k, n], 0)",
        lambda x, b, w: (x + b) @ np.maximum(w, 0),
    ),
    "three factors": (
        "input a: f32[5, 14] input b: f32[14] input c: f32[14, 3] output y: f32[5, 3] "
        "y[i, k] += a[i, j] * b[j] * c[j, k]",
        lambda a, b, c: (a * b) @ c,
    ),
    "a vector": (
        "input x: f32[9, 17] input b: f32[17] output y: f32[9] y[m] += x[m, k] * (b[k] - 1) * 3",
        lambda x, b: 3 * x @ (b - 1),
    ),
    "a sum of products": (
        "input x: f32[5, 7] input w: f32[7, 9] input u: f32[5, 7] input v: f32[7] "
        "output y: f32[5, 9] y[m, n] += x[m, k] * w[k, n] - 2 * u[m, k] * v[k]",
        lambda x, w, u, v: x @ w - 2 * (u @ v)[:, None],
    ),
    "windows of what is computed": (
        "input x: f32[9, 8, 3] input w: f32[3, 2, 3, 4] output y: f32[4, 4, 4] "
        "y[h, v, o] += (x[2 * h + r, 2 * v + s, c] - 1) * w[r, s, c, o]",
        lambda x, w: sum(
            ((x[r : r + 7 : 2, s : s + 7 : 2] - 1) @ w[r, s] for r in range(3) for s in range(2)),
            start=np.zeros((4, 4, 4)),
        ),
    ),
    "windows of two, one of them further on": (
        "input x: f32[1, 12, 3] input z: f32[12] input w: f32[3, 3, 4] output y: f32[1, 8, 4] "
        "y[n, v, o] += x[n, v + s, c] * z[v + s + 2] * w[s, c, o]",
        lambda x, z, w: sum(
            ((x[:, s : s + 8] * z[s + 2 : s + 10, None]) @ w[s] for s in range(3)),
            start=np.zeros((1, 8, 4)),
        ),
    ),
    "every second column, and part of a result": (
        "input x: f32[5, 14] input w: f32[7, 3] output y: f32[5, 4] "
        "y[m, n] += 2 * x[m, 2 * k + 1] * w[k, n] y[m, 3] = x[m, 0]",
        lambda x, w: np.hstack([2 * x[:, 1::2] @ w, x[:, :1]]),
    ),
    "a result in rows": (
        "input p: f32[2, 5, 7] input v: f32[2, 7, 4] output o: f32[5, 8] "
        "o[s, h * 4 + d] += 0.25 * p[h, s, t] * v[h, t, d]",
        lambda p, v: np.moveaxis(p @ v / 4, 0, 1).reshape(5, 8),
    ),
    "a result that nothing declares": (
        "input x: f32[5, 7] input w: f32[7, 9] output y y[m, n] += x[m, k] * w[k, n] / (k + 1)",
        lambda x, w: x / np.arange(1, 8) @ w,
    ),
    "integers that wrap around": (
        "input x: s32[5, 19] input w: s32[19, 9] output y: s32[5, 9] "
        "y[m, n] += 1234567 * x[m, k] * -w[k, n] * (k - 3)",
        lambda x, w: -1234567 * (x * (np.arange(19) - 3)) @ w,
    ),
    "bytes": (
        "input x: u8[5, 19] input w: s8[19, 9] output y: s32[5, 9] "
        "y[m, n] += (x[m, k] - 128) * w[k, n]",
        lambda x, w: (x - 128) @ w,
    ),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2", "x86.zen5"])
@pytest.mark.parametrize("case", CASES)
def test_they_are_what_numpy_says(case: str, target: str) -> None:
    body, expected = CASES[case]
    text = f"spec s() {{ {body} }}"
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    kernel.verify()
    random = np.random.default_rng(7)
    inputs = list[Array]()
    for given in kernel.signature.inputs:
        if given.dtype.floating:
            inputs.append(random.standard_normal(given.shape).astype(np.float32))
        else:
            limits = np.iinfo(given.dtype.numpy)
            values = random.integers(limits.min, limits.max, given.shape, endpoint=True)
            inputs.append(values.astype(given.dtype.numpy))
    found = kernel(*inputs)
    if found.dtype == np.int32:
        right = expected(*(x.astype(np.int64) for x in inputs)).astype(np.int32)
        np.testing.assert_array_equal(found, right)
    else:
        right = expected(*(x.astype(np.float64) for x in inputs))
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)
