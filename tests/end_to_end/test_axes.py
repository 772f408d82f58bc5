"""Dimensions in another order, and statistics along other ones than the last, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello

from .kernels import Array, small_machines, to_run

Shape = tuple[int, ...]


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(axis=-2, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-2, keepdims=True))


CASES: dict[str, tuple[Shape, Callable[[Array], Array]]] = {
    "transpose": ((19, 37), lambda x: x.T),
    "channels_last": ((2, 5, 3, 4), lambda x: x.transpose(0, 2, 3, 1)),
    "channels_first": ((2, 3, 4, 17), lambda x: x.transpose(0, 3, 1, 2)),
    "second_axis_sum": ((3, 5, 17), lambda x: x.sum(axis=1)),
    "second_axis_max": ((2, 4, 3, 5), lambda x: x.max(axis=1)),
    "second_axis_min": ((3, 7), lambda x: x.min(axis=1)),
    "second_axis_mean": ((3, 5, 17), lambda x: x.mean(axis=1)),
    "image_mean": ((2, 3, 4, 17), lambda x: x.mean(axis=(1, 2))),
    "column_softmax": ((9, 18), _softmax),
    "second_axis_softmax": ((2, 5, 17), _softmax),
    "split_rows": ((3, 35), lambda x: x.reshape(3, 5, 7)),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx512"])
@pytest.mark.parametrize("name", CASES)
def test_they_are_what_numpy_says(name: str, target: str) -> None:
    """Verified too, where the numbers are nasty."""
    shape, expected = CASES[name]
    x = np.random.default_rng(3).integers(-8, 9, shape).astype(np.float32)
    result = expected(x.astype(np.float64))
    text = f"""spec s() {{
      input  x: f32{list(shape)}
      output y: f32{list(result.shape)}
      y = {name}(x{", width = 7" if name == "split_rows" else ""})
    }}"""
    kernel = to_run(morello.compile, text, target=target, definitions=small_machines())
    assert kernel.verify().elements > 0
    np.testing.assert_allclose(kernel(x), result, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["x86.avx2", "x86.avx512"])
def test_columns_become_rows_in_registers(target: str) -> None:
    text = "spec s(M, N) { input x: f32[M, N] output y: f32[N, M] y = transpose(x) }"
    kernel = to_run(morello.compile, text, defines={"M": 64, "N": 48}, target=target)
    assert "rows_of_columns_f32" in kernel.plan.render()
    x = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
    np.testing.assert_array_equal(kernel(x), x.T)
