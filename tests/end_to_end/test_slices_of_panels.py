"""Parts of what lies in panels: slices, diagonals and single columns, as numpy has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello

from .kernels import Array, small_machines, to_run

CASES: dict[str, tuple[str, Callable[..., Array]]] = {
    "a diagonal": (
        "input x: f32[8, 9] panels 8 output y: f32[8] y[i] = x[i, i + 1]",
        lambda x: np.diagonal(x, 1),
    ),
    "two columns": (
        "input x: f32[5, 9] panels 8 output y: f32[5] y[i] = max(x[i, 2], x[i, 4])",
        lambda x: np.maximum(x[:, 2], x[:, 4]),
    ),
    "two elements": (
        "input x: f32[9, 3] panels 2 input w: f32[5] output y: f32[5] "
        "y[i] = x[8, 2] * w[i] + x[0, 0]",
        lambda x, w: x[8, 2] * w + x[0, 0],
    ),
    "columns of panels of several rows": (
        "input x: f32[9, 5] layout (1, 0) panels (4, 2) output y: f32[7] "
        "y[i] = x[i + 2, 1] - x[i + 1, 4]",
        lambda x: x[2:, 1] - x[1:8, 4],
    ),
    "a sum of products of rows that overlap": (
        "input x: f32[8, 20] panels 8 output y: f32[8] y[i] += x[i, k + 3] * x[i, k + 0]",
        lambda x: (x[:, 3:] * x[:, :-3]).sum(axis=1),
    ),
    "columns of an output": (
        "input x: f32[9, 5] output z: f32[9, 5] panels 4 output y: f32[9] "
        "z[i, j] = max(x[i, j], 0) y[i] = z[i, 4] + z[i, 1]",
        lambda x: np.maximum(x, 0)[:, [1, 4]].sum(axis=1),
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2", "x86.zen5"])
@pytest.mark.parametrize("case", CASES)
def test_they_are_what_numpy_says(case: str, target: str) -> None:
    body, expected = CASES[case]
    text = f"spec s() {{ {body} }}"
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    kernel.verify()
    random = np.random.default_rng(7)
    given = kernel.signature.inputs
    inputs = [random.standard_normal(own.shape).astype(np.float32) for own in given]
    found = kernel(*(own.pack(x) for own, x in zip(given, inputs, strict=True)))
    result = found[-1] if isinstance(found, tuple) else found
    right = expected(*(x.astype(np.float64) for x in inputs))
    np.testing.assert_allclose(result, right, rtol=1e-5, atol=1e-5)
