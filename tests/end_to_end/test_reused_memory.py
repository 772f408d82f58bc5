"""Intermediate tensors that are computed where the output will be."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from tests.end_to_end.kernels import runnable

SPEC = """spec ratio(B = 5, N = 40) {
  input x: f32[B, N]
  output y: f32[B]
  m = row_mean(x)
  y = div(sqrt(row_variance(x, m)), m)
}
"""


@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("rows", [1, 5, 17])
def test_a_tensor_is_kept_until_its_last_reader(target: str, rows: int) -> None:
    """The mean is read after the variance is there: they do not share the output's memory."""
    kernel = runnable(morello.compile(SPEC, target=target, defines={"B": rows}))
    x = np.random.default_rng(rows).uniform(1, 2, (rows, 40)).astype(np.float32)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(kernel(x), exact.std(axis=1) / exact.mean(axis=1), rtol=1e-4)
