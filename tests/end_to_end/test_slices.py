"""Slices: alone, and where other operations read them, which then read the input in place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import morello

from .kernels import Array, runnable, small_machines

Expected = Callable[..., Array]


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _step_of_lstm(x: Array, c: Array) -> Array:
    """The next cell state: the gates are pieces of one row."""
    i, f, g, _ = np.split(x, 4, axis=-1)
    return np.asarray(_sigmoid(f) * c + _sigmoid(i) * np.tanh(g))


CASES: dict[str, tuple[str, Expected]] = {
    "alone": (
        "input x: TYPE[37] output y: TYPE[13] y = slice_columns(x, before = 5, after = 19)",
        lambda x: x[5:18],
    ),
    "of every row": (
        "input x: TYPE[3, 21] output y: TYPE[3, 9] y = slice_columns(x, before = 0, after = 12)",
        lambda x: x[:, :9],
    ),
    "rows": (
        "input x: TYPE[11, 7] output y: TYPE[4, 7] y = slice_rows(x, before = 6, after = 1)",
        lambda x: x[6:10],
    ),
    "of one element": (
        "input x: TYPE[9] output y: TYPE[1] y = slice_columns(x, before = 8, after = 0)",
        lambda x: x[8:],
    ),
    "read element by element": (
        """input x: TYPE[64] output y: TYPE[33]
           y = relu(slice_columns(x, before = 16, after = 15))""",
        lambda x: np.maximum(x[16:49], 0),
    ),
    "of what is computed": (
        """input x: TYPE[5, 9] output y: TYPE[2, 9]
           y = slice_rows(relu(x), before = 1, after = 2)""",
        lambda x: np.maximum(x[1:3], 0),
    ),
    "of a slice": (
        """input x: TYPE[9, 19] output y: TYPE[3, 5]
           y = neg(slice_rows(slice_columns(x, before = 7, after = 7), before = 2, after = 4))""",
        lambda x: -x[2:5, 7:12],
    ),
    "two of one tensor": (
        """input x: TYPE[3, 18] output y: TYPE[3, 9]
           a = slice_columns(x, before = 0, after = 9)
           y = mul(a, slice_columns(x, before = 9, after = 0))""",
        lambda x: x[:, :9] * x[:, 9:],
    ),
    "product": (
        """input a: TYPE[5, 20] input b: TYPE[9, 7] output y: TYPE[5, 7]
           y = matmul(slice_columns(a, before = 8, after = 3), b)""",
        lambda a, b: a[:, 8:17] @ b,
    ),
}

LSTM = """
  input x: f32[1, 512] input c: f32[1, 128] output y: f32[1, 128]
  i = sigmoid(slice_columns(x, before = 0, after = 384))
  f = sigmoid(slice_columns(x, before = 128, after = 256))
  g = tanh(slice_columns(x, before = 256, after = 128))
  y = add(mul(f, c), mul(i, g))
"""


@cache
def _compiled(name: str, dtype: str, target: str, threads: int = 1) -> morello.Kernel:
    text = f"spec s() threads {threads} {{ {CASES[name][0].replace('TYPE', dtype)} }}"
    return runnable(morello.compile(text, target=target, definitions=small_machines()))


def _assert_right(kernel: morello.Kernel, expected: Expected) -> None:
    assert kernel.verify().elements > 0
    rng = np.random.default_rng(5)
    inputs = [tensor for tensor in kernel.goal.tensors if tensor.role == "input"]
    dtypes = {"f32": np.float32, "s32": np.int32}
    arrays = [rng.integers(-4, 5, t.shape).astype(dtypes[str(t.dtype)]) for t in inputs]
    found = kernel(*arrays)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, expected(*arrays), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["x86.scalar", "x86.avx2"])
@pytest.mark.parametrize("dtype", ["f32", "s32"])
@pytest.mark.parametrize("name", CASES)
def test_a_slice_is_what_numpy_says(name: str, dtype: str, target: str) -> None:
    """Verified too, where the numbers are nasty."""
    _assert_right(_compiled(name, dtype, target), CASES[name][1])


@pytest.mark.parametrize("name", ["of every row", "rows", "two of one tensor"])
def test_threads_share_a_slice(name: str) -> None:
    """Each has its part of the output, and reads the input between the same margins."""
    _assert_right(_compiled(name, "f32", "x86.avx2", 2), CASES[name][1])


def test_gates_are_slices_of_one_row() -> None:
    """The cell of an LSTM, of which one product computes all gates."""
    text = f"spec s() {{ {LSTM} }}"
    kernel = runnable(morello.compile(text, target="x86.avx2", definitions=small_machines()))
    assert kernel.plan.render().count("read_rearranged(") == 3
    _assert_right(kernel, _step_of_lstm)


@pytest.mark.parametrize("name", ["read element by element", "two of one tensor"])
def test_a_slice_is_read_in_place(name: str) -> None:
    """Nothing is copied to memory."""
    assert "read_rearranged(" in _compiled(name, "f32", "x86.avx2").plan.render()
