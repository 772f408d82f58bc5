"""Arguments whose rows have gaps between them: parts of larger arrays, where these lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello
from morello.ir.numeric import Array
from morello.runtime.program import built_program
from morello.runtime.signature import check_gaps, view_of
from tests.end_to_end.kernels import to_run

TARGETS = ("x86.scalar", "x86.avx2", "x86.avx512")


def _softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)  # type: ignore[no-any-return]


CASES: dict[str, tuple[str, Callable[..., Array]]] = {
    "scores of packed queries and keys": (
        """spec f(S = 37, D = 29) {
          input q: f32[S, D] stride (3 * D, 1)
          input k: f32[S, D] stride (3 * D, 1)
          output y: f32[S, S] stride (S + 5, 1)
          y[s, t] += q[s, d] * k[t, d]
        }""",
        lambda q, k: q @ k.T,
    ),
    "a weight": (
        """spec f(M = 9, K = 17, N = 33) {
          input x: f32[M, K] stride (1, M + 3)
          weight w: f32[K, N] stride (N + 1, 1)
          input b: f32[N]
          output y: f32[M, N] stride (1, M)
          y = relu(add_bias(matmul(x, w), b))
        }""",
        lambda x, w, b: np.maximum(x @ w + b, 0),
    ),
    "one column": (
        """spec f(M = 21) {
          input x: f32[M, 1] stride (4, 1)
          input z: f32[1, M] stride (3, 1)
          output y: f32[M, 1] stride (7, 1)
          y[i, j] = 2 * x[i, j] + z[j, i]
        }""",
        lambda x, z: 2 * x + z.T,
    ),
    "rows of a softmax": (
        """spec f(M = 5, N = 70) {
          input x: f32[M, N] stride (N + 2, 1)
          output y: f32[M, N] stride (2 * N, 1)
          output most: f32[M]
          y = softmax(x)
          most = row_max(x)
        }""",
        _softmax,
    ),
    "images that rows run through": (
        """spec f(B = 2, C = 3, H = 5, W = 8) {
          input x: f32[B, C, H, W] stride (C * H * W + 7, H * W, W, 1)
          input s: f32[C]
          output y: f32[B, C, H, W] stride (C * H * W + 1, H * W, W, 1)
          y[b, c, h, w] = x[b, c, h, w] * s[c]
        }""",
        lambda x, s: x * s[:, None, None],
    ),
    "parts of strided ones": (
        """spec f(M = 6, N = 11) {
          input x: f32[M, 2 * N] stride (2 * N + 3, 1)
          input b: f32[N]
          output y: f32[M, 2 * N] stride (3 * N, 1)
          y[m, n] = x[m, n + N] + b[n]
          y[m, n + N] = x[m, n + 0] * x[m, n + N] + b[n]
        }""",
        lambda x, b: np.hstack([x[:, 11:], x[:, :11] * x[:, 11:]]) + np.tile(b, 2),
    ),
    "a batch with threads": (
        """spec f(B = 3, M = 20, K = 16, N = 24) threads 2 {
          input x: f32[B, M, K] stride (K, B * K, 1)
          input w: f32[B, K, N] stride (K * N + 9, N, 1)
          output y: f32[B, M, N] stride (N, B * N, 1)
          y = matmul(x, w)
        }""",
        lambda x, w: x @ w,
    ),
    "more than the caches hold": (
        """spec f(M = 3000, N = 1030) {
          input x: f32[M, N] stride (N + 10, 1)
          output y: f32[M, N] stride (N + 2, 1)
          y[i, j] = x[i, j] + 1
        }""",
        lambda x: x + 1,
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_results_are_right_and_gaps_are_left_alone(case: str, target: str) -> None:
    text, expected = CASES[case]
    kernel = to_run(morello.compile, text, target=target)
    kernel.verify()
    random = np.random.default_rng(7)
    given = [random.random(a.shape, np.float32) - 0.5 for a in kernel.signature.inputs]
    inputs = [a.pack(x) for a, x in zip(kernel.signature.inputs, given, strict=True)]
    memory = [np.full(a.bytes, 0x5A, np.uint8) for a in kernel.signature.outputs]
    out = tuple(map(view_of, kernel.signature.outputs, memory))
    kernel(*inputs, out=out)
    np.testing.assert_allclose(out[0], expected(*given), rtol=2e-5, atol=2e-6)
    for argument, own in zip(kernel.signature.outputs, memory, strict=True):
        check_gaps(argument, own, 0x5A)


@pytest.mark.parametrize("case", [name for name in CASES if "caches" not in name])
def test_nothing_beyond_the_last_row_is_touched(case: str) -> None:
    """Behind it no gap has to be."""
    text, expected = CASES[case]
    kernel = morello.compile(text, target="x86.avx2")
    given = [np.ones(a.shape, np.float32) for a in kernel.signature.inputs]
    with built_program(kernel.c_source, kernel.signature, sanitize=True) as program:
        inputs = [a.pack(x) for a, x in zip(kernel.signature.inputs, given, strict=True)]
        found = program.results(*inputs)
    np.testing.assert_allclose(found[0], expected(*given), rtol=2e-5)


def test_a_packed_array_is_read_and_written_in_its_parts() -> None:
    """Inputs and the output are columns of one array, which overlap in no element."""
    text = """spec f(S = 6, D = 16) {
      input q: f32[S, D] stride (3 * D, 1)
      input k: f32[S, D] stride (3 * D, 1)
      output v: f32[S, D] stride (3 * D, 1)
      v[s, d] = q[s, d] * k[s, d]
    }"""
    kernel = morello.compile(text, target="x86.avx2")
    packed = np.arange(6 * 48, dtype=np.float32).reshape(6, 48)
    q, k, _ = np.split(packed.copy(), 3, axis=1)
    own = [packed[:, i : i + 16] for i in (0, 16, 32)]
    assert kernel(own[0], own[1], out=own[2]) is own[2]
    np.testing.assert_array_equal(packed, np.hstack([q, k, q * k]))
    with pytest.raises(morello.UsageError, match="shares memory"):
        kernel(own[0], own[1], out=packed[:, 8:24])
    with pytest.raises(morello.UsageError, match=r"expected \(192, 4\)") as caught:
        kernel(q.copy(), own[1])
    assert caught.value.help == "pass kernel.pack('q', q)"
    np.testing.assert_array_equal(kernel(kernel.pack("q", q), own[1]), q * k)


def test_a_kernel_that_writes_between_rows_is_found() -> None:
    text = """spec f(M = 4, N = 8) {
      input x: f32[M, N]
      output y: f32[M, N] stride (N + 2, 1)
      y[i, j] = x[i, j]
    }"""
    kernel = morello.compile(text, target="x86.scalar")
    [argument] = kernel.signature.outputs
    memory = np.full(argument.bytes, 0x5A, np.uint8)
    view_of(argument, memory)[...] = 0
    check_gaps(argument, memory, 0x5A)
    memory[8 * 4] = 0
    with pytest.raises(morello.MorelloError, match="between those of 'y'"):
        check_gaps(argument, memory, 0x5A)
