"""A size that calls bring: one function for all of its values, and which specs can have one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import morello
from morello.cli.main import main
from morello.codegen.blocks import candidates, chosen_sizes, loss
from morello.ir.numeric import Array
from morello.runtime.program import built_program
from tests.end_to_end.kernels import small_machines, to_run

LAYER = """spec layer(M <= 21, K = 20, N = 24) {
  input  x: f32[M, K]
  weight w: f32[K, N]
  input  b: f32[N]
  output y: f32[M, N]
  y = relu(add_bias(matmul(x, w), b))
}"""


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


SPECS: dict[str, tuple[str, Callable[..., tuple[Array, ...]]]] = {
    "a layer": (LAYER, lambda x, w, b: (np.maximum(x @ w + b, 0),)),
    "two layers that a weight of the caller's layout has a part in": (
        """spec f(M <= 9, K = 16, N = 33, O = 8) {
          input  x: f32[M, K]
          weight w: f32[N, K] layout (1, 0)
          weight v: f32[N, O]
          output y: f32[M, O]
          h[m, n] += x[m, k] * w[n, k]
          g[m, n] = h[m, n] if h[m, n] > 0 else 0
          y[m, o] += g[m, n] * v[n, o]
        }""",
        lambda x, w, v: (np.maximum(x @ w.T, 0) @ v,),
    ),
    "rows of larger arrays, and several outputs": (
        """spec f(M <= 13, N = 40) {
          input  x: f32[M, N] stride (3 * N, 1)
          output y: f32[M, N] stride (N + 1, 1)
          output most: f32[M]
          y = softmax(x)
          most = row_max(x)
        }""",
        lambda x: (_softmax(x), x.max(-1)),
    ),
    "a weight that is read in parts": (
        """spec f(M <= 8, K = 12, N = 10) {
          input  x: f32[M, K]
          weight w: f32[2 * N, K]
          local  g: f32[M, N]
          local  h: f32[M, N]
          output y: f32[M, N]
          g[m, n] += x[m, k] * w[n + 0, k]
          h[m, n] += x[m, k] * w[n + N, k]
          y[m, n] = g[m, n] * h[m, n]
        }""",
        lambda x, w: ((x @ w[:10].T) * (x @ w[10:].T),),
    ),
    "images": (
        """spec f(B <= 3, C = 2, H = 6, W = 7, O = 3) {
          input  x: f32[B, C, H, W]
          weight w: f32[O, C, 3, 3]
          local  h: f32[B, O, H - 2, W - 2]
          output y: f32[B, O, H - 2, W - 2]
          h = conv2d(x, w, stride = 1, dilation = 1)
          y = relu(h)
        }""",
        lambda x, w: (
            np.maximum(
                sum(
                    np.einsum("bchw,oc->bohw", x[:, :, r : r + 4, s : s + 5], w[:, :, r, s])
                    for r in range(3)
                    for s in range(3)
                ),
                0,
            ),
        ),
    ),
    "rows that are looked up, in parts": (
        """spec f(T <= 7, V = 11, D = 8) {
          input  i: s32[T]
          input  e: f32[V, D]
          output y: f32[T, 2 * D]
          y[t, d] = e[i[t], d]
          y[t, d + D] = 2 * e[i[t], d]
        }""",
        lambda i, e: (np.hstack([e[i % 11], 2 * e[i % 11]]),),
    ),
}


@pytest.mark.parametrize(
    ("case", "target"), [("a layer", "x86.scalar"), *((case, "x86.avx2") for case in SPECS)]
)
def test_every_size_is_right(case: str, target: str) -> None:
    """From 1 to the limit, from one library; weights are packed once."""
    text, expected = SPECS[case]
    to_run(morello.compile, LAYER, target=target, defines={"M": 1})  # or it is skipped
    kernel = morello.compile_any_size(text, target=target, definitions=small_machines())
    random = np.random.default_rng(3)
    limit = kernel.at(kernel.size.limit).signature
    assert 1 in kernel.kernels
    given = [
        random.integers(0, 11, a.shape).astype(np.int32)
        if a.dtype.name == "s32"
        else random.random(a.shape, np.float32) - np.float32(0.5)
        for a in limit.inputs
    ]
    weights = {a.name: kernel.pack(a.name, x) for a, x in zip(limit.inputs, given, strict=True)}
    axes = {row.name: row.axis for row in kernel.size.rows}
    for size in range(1, kernel.size.limit + 1):
        signature = kernel.at(size).signature
        inputs = [
            x[:size] if a.name in axes else x for a, x in zip(limit.inputs, given, strict=True)
        ]
        passed = [
            weights[a.name] if a.role == "weight" else a.pack(x)
            for a, x in zip(signature.inputs, inputs, strict=True)
        ]
        found = kernel(*passed)
        found = found if isinstance(found, tuple) else (found,)
        for result, right in zip(found, expected(*inputs), strict=True):
            np.testing.assert_allclose(result, right, rtol=2e-5, atol=1e-6)
    assert sorted(kernel.verify()) == sorted(kernel.verification)


def test_nothing_beyond_the_rows_is_touched() -> None:
    """Under sanitizers, in a program whose arguments are as large as the size says."""
    kernel = morello.compile_any_size(LAYER, target="x86.avx2")
    for size in (1, 5, 20):
        at = kernel.at(size)
        inputs = [np.ones(a.shape, np.float32) for a in at.signature.inputs]
        with built_program(
            kernel.c_source, at.signature, sanitize=True, both_entries=True
        ) as program:
            [found] = program.results(*inputs)
        np.testing.assert_array_equal(found, np.full((size, 24), 21, np.float32))


def test_a_kernel_tells_the_size_by_its_arrays() -> None:
    kernel = morello.compile_any_size(LAYER, target="x86.scalar")
    x, w, b = (np.ones(a.shape, np.float32) for a in kernel.signature.inputs)
    out = np.empty((4, 24), np.float32)
    assert kernel(x[:4], w, b=b, out=out) is out
    call = kernel.bind(x[:7], w, b)
    assert (call() == 21).all()
    assert call().shape == (7, 24)
    assert kernel.at(3).time(repeats=1, min_seconds=1e-4).median > 0
    with pytest.raises(morello.UsageError, match="M is 22 in a call of 'layer'") as caught:
        kernel(np.ones((22, 20), np.float32), w, b)
    assert caught.value.help == "it is from 1 to 21: M <= 21"
    with pytest.raises(morello.UsageError, match=r"'y' has shape \(4, 24\); expected \(5, 24\)"):
        kernel(x[:5], w, b, out=out)
    with pytest.raises(morello.UsageError, match=r"expected \(5, 20\)"):
        kernel(x[:5, :19], w, b)
    with pytest.raises(morello.UsageError, match="M is 0"):
        kernel.at(0)


def test_weights_that_become_something_else_are_taken_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("morello.any_size._as_packed", lambda _: None)
    kernel = morello.compile_any_size(LAYER, target="x86.scalar")
    assert [a.role for a in kernel.signature.inputs] == ["input"] * 3
    assert kernel.c_source.packings == ()
    kernel.verify()


def test_a_size_of_calls_has_to_be_fixed_elsewhere() -> None:
    with pytest.raises(morello.UsageError, match="calls of 'layer' bring 'M'") as caught:
        morello.compile(LAYER, target="x86.scalar")
    assert caught.value.help is not None
    assert "-D M=21" in caught.value.help
    assert morello.compile(LAYER, target="x86.scalar", defines={"M": 4}).signature.size is None
    with pytest.raises(morello.DiagnosticsError, match="parameter 'M' is 22; it is at most 21"):
        morello.compile(LAYER, target="x86.scalar", defines={"M": 22})
    with pytest.raises(morello.UsageError, match="bring no size"):
        morello.compile_any_size(LAYER, target="x86.scalar", defines={"M": 4})


def test_the_command_writes_one_function(tmp_path: Path) -> None:
    file = tmp_path / "layer.mspec"
    file.write_text(LAYER)
    ran = CliRunner().invoke(
        main, ["compile", str(file), "-t", "x86.scalar", "-o", f"{tmp_path}/", "--verify", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    assert told["size"] == {"name": "M", "limit": 21}
    assert told["blocks"][-1]["size"] == 1
    assert told["verified"][-1] == 21
    assert "void layer(size_t M,\n" in (tmp_path / "layer.h").read_text()


def test_few_sizes_lose_little() -> None:
    """Blocks of six are the best of a row; what a call costs once makes larger ones better."""
    costs = {n: 50 + 10 * -(-n // 6) * 6 for n in candidates(96)}
    chosen = chosen_sizes(costs, 96)
    assert chosen[-1] == 1
    assert 6 in chosen
    assert chosen[0] > 6
    assert loss(chosen, costs, 96) < 0.2 < loss((1,), costs, 96)
    assert loss(sorted(costs), costs, 96) == pytest.approx(0, abs=0.05)
    assert chosen_sizes({1: 1.0}, 1) == (1,)
    assert candidates(100) == [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 64, 100]
