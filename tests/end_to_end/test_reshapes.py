"""Rows that are split and merged, alone and where other operations read or compute them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import morello
from morello.checking.specs import check_spec
from morello.definitions import Definitions
from morello.language.diagnostics import Collector
from morello.language.parse import parse_spec
from morello.language.source import Source

from .kernels import Array, small_machines, to_run

Expected = Callable[..., Array]


def _merged_heads(x: Array) -> Array:
    *batch, h, s, d = x.shape
    return np.asarray(np.moveaxis(x, -3, -2).reshape(*batch, s, h * d))


def _split_heads(x: Array, d: int) -> Array:
    *batch, s, c = x.shape
    return np.asarray(np.moveaxis(x.reshape(*batch, s, c // d, d), -2, -3))


CASES: dict[str, tuple[str, Expected]] = {
    "merge_rows": (
        "input x: f32[3, 5, 7] output y: f32[3, 35] y = merge_rows(x, width = 7)",
        lambda x: x.reshape(3, 35),
    ),
    "merge_heads": (
        "input x: f32[2, 3, 5, 9] output y y = merge_heads(x, width = 9)",
        _merged_heads,
    ),
    "split_heads": (
        "input x: f32[4, 15] output y y = split_heads(x, width = 5)",
        lambda x: _split_heads(x, 5),
    ),
    "of width 1": (
        "input x: f32[4, 5, 1] output y y = merge_rows(x, width = 1)",
        lambda x: x.reshape(4, 5),
    ),
    "of one row": (
        "input x: f32[4, 1, 5] output y y = merge_rows(x, width = 5)",
        lambda x: x.reshape(4, 5),
    ),
    "reshaped": (
        "input x: f32[2, 6, 4] output y y = split_rows(merge_rows(x, width = 4), width = 3)",
        lambda x: x.reshape(2, 8, 3),
    ),
    "flattened": (
        """input x: f32[5, 3, 2, 4] input w: f32[24, 6] output y: f32[5, 6]
           y = relu(matmul(merge_rows(merge_rows(x, width = 4), width = 8), w))""",
        lambda x, w: np.maximum(x.reshape(5, 24) @ w, 0),
    ),
    "heads of a product": (
        """input x: f32[5, 8] input w: f32[8, 12] output y: f32[3, 5, 4]
           y = split_heads(matmul(x, w), width = 4)""",
        lambda x, w: _split_heads(x @ w, 4),
    ),
    "product of heads": (
        """input x: f32[3, 5, 4] input w: f32[12, 7] output y: f32[5, 7]
           y = matmul(merge_heads(neg(x), width = 4), w)""",
        lambda x, w: _merged_heads(-x) @ w,
    ),
    "added to other rows": (
        """input x: f32[3, 5, 4] input a: f32[5, 6] input b: f32[6, 12] output y: f32[5, 12]
           y = add(merge_heads(x, width = 4), matmul(a, b))""",
        lambda x, a, b: _merged_heads(x) + a @ b,
    ),
    "merged and read as it was": (
        """input x: f32[3, 4] output y: f32[12] output z: f32[3]
           t = neg(x) y = exp(merge_rows(t, width = 4)) z = row_sum(t)""",
        lambda x: np.exp(-x).reshape(12),
    ),
    "transposed product": (
        """input a: f32[9, 5] input b: f32[5, 16] output y: f32[16, 9]
           y = transpose(matmul(a, b))""",
        lambda a, b: (a @ b).T,
    ),
    "sums of a transpose": (
        "input x: f32[16, 3, 5, 3] output y: f32[3, 3, 5] y = column_sum(transpose(x))",
        lambda x: x.swapaxes(-1, -2).sum(axis=0),
    ),
    "product of a transpose": (
        """input a: f32[5, 9] input b: f32[5, 17] output y: f32[9, 17]
           y = matmul(transpose(a), b)""",
        lambda a, b: a.T @ b,
    ),
}


VECTORS = ("x86.avx2", "x86.avx512")
ON_VECTORS = [(name, VECTORS[number % len(VECTORS)]) for number, name in enumerate(CASES)]


@cache
def _compiled(name: str, target: str) -> morello.Kernel:
    text = f"spec s() {{ {CASES[name][0]} }}"
    return to_run(morello.compile, text, target=target, definitions=small_machines())


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "target"), [*((n, "x86.scalar") for n in CASES), *ON_VECTORS])
def test_they_are_what_numpy_says(name: str, target: str) -> None:
    """Verified too, where the numbers are nasty."""
    kernel = _compiled(name, target)
    assert kernel.verify().elements > 0
    rng = np.random.default_rng(5)
    shapes = [tensor.shape for tensor in kernel.goal.tensors if tensor.role == "input"]
    arrays = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    found = kernel(*arrays)
    first = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(first, CASES[name][1](*arrays), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["flattened", "transposed product", "product of a transpose"])
def test_nothing_is_copied_that_can_be_seen(name: str) -> None:
    """What lies in one piece is one row; a transpose is another order."""
    kernel = _compiled(name, "x86.avx2")
    seen = any(t.role == "view" for t in kernel.goal.computations[0].inputs)
    assert seen or "_rearranged(" in kernel.plan.render()


HEADS = """spec heads(S, E, D) {
  input  x: f32[S, E]
  weight wq: f32[E, E]
  weight wk: f32[E, E]
  weight wv: f32[E, E]
  weight wo: f32[E, E]
  output y: f32[S, E]
  q = split_heads(matmul(x, wq), width = D)
  k = split_heads(matmul(x, wk), width = D)
  v = split_heads(matmul(x, wv), width = D)
  o = matmul(softmax(scale(matmul_nt(q, k), factor = 1 / sqrt(D))), v)
  y = matmul(merge_heads(o, width = D), wo)
}"""


def test_attention_in_several_heads_is_cut(definitions: Definitions) -> None:
    """Into the projections, attention, and what puts its heads together."""
    sizes, file = {"S": 5, "E": 12, "D": 4}, parse_spec(Source("heads.mspec", HEADS))
    goal = check_spec(file, None, sizes, definitions.operators, Collector())
    assert len(goal.computations) == 5


@pytest.mark.slow
def test_heads_are_put_together() -> None:
    """The same without the projections: rows of heads are merged where they are computed."""
    text = """spec s() {
      input  q: f32[3, 5, 4]
      input  v: f32[3, 5, 4]
      weight w: f32[12, 7]
      output y: f32[5, 7]
      y = matmul(merge_heads(matmul(softmax(matmul_nt(q, v)), v), width = 4), w)
    }"""
    kernel = to_run(morello.compile, text, target="x86.scalar", definitions=small_machines())
    kernel.verify()
    rng = np.random.default_rng(7)
    shapes = ((3, 5, 4), (3, 5, 4), (12, 7))
    q, v, w = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    scores = np.exp(q.astype(np.float64) @ v.swapaxes(-1, -2))
    expected = _merged_heads((scores / scores.sum(axis=-1, keepdims=True)) @ v) @ w
    np.testing.assert_allclose(kernel(q, v, w), expected, rtol=1e-4, atol=1e-5)
