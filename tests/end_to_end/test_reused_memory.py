"""Intermediate tensors that are computed where the output will be."""

from __future__ import annotations

import numpy as np
import pytest

import morello
from tests.end_to_end.kernels import small_machines, to_run

SPEC = """spec ratio(B = 5, N = 40) {
  input x: f32[B, N]
  output y: f32[B]
  m = row_mean(x)
  y = div(sqrt(row_variance(x, m)), m)
}
"""


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
@pytest.mark.parametrize("rows", [1, 5, 17])
def test_a_tensor_is_kept_until_its_last_reader(target: str, rows: int) -> None:
    """The mean is read after the variance is there: they do not share the output's memory."""
    kernel = to_run(
        morello.compile, SPEC, target=target, definitions=small_machines(), defines={"B": rows}
    )
    x = np.random.default_rng(rows).uniform(1, 2, (rows, 40)).astype(np.float32)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(kernel(x), exact.std(axis=1) / exact.mean(axis=1), rtol=1e-4)


@pytest.mark.parametrize("target", ["x86.avx2", "x86.scalar"])
def test_one_reader_may_read_it_twice(target: str) -> None:
    """Both operands are what was computed where the output will be."""
    text = """spec twice() {
      input x: f32[5, 8]
      output y: f32[5]
      m = row_sum(x)
      y = add(m, m)
    }"""
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    x = np.arange(40, dtype=np.float32).reshape(5, 8)
    np.testing.assert_array_equal(kernel(x), 2 * x.sum(axis=1))
