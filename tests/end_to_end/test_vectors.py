"""Matrices times vectors, which are products of one row."""

from __future__ import annotations

import numpy as np
import pytest

import morello

from .kernels import to_run

RULE = "vector_as_row"

SPECS = {
    "rows": ("f32[K]", "weight w: f32[N, K]", "f32[N]", "y[n] += x[k] * w[n, k]"),
    "columns": ("f32[K]", "input w: f32[K, N]", "f32[N]", "y[n] += x[k] * w[k, n]"),
    "turned": ("f32[K]", "input w: f32[N, K] layout (1, 0)", "f32[N]", "y[n] += w[n, k] * x[k]"),
    "batch": ("f32[3, K]", "input w: f32[3, N, K]", "f32[3, N]", "y[b, n] += x[b, k] * w[b, n, k]"),
    "by name": ("f32[K]", "weight w: f32[N, K]", "f32[N]", "y = matvec(w, x)"),
    "shared": ("f32[2, K]", "weight w: f32[N, K]", "f32[2, N]", "y[b, n] += x[b, k] * w[n, k]"),
    "bf16": ("bf16[K]", "weight w: bf16[N, K]", "f32[N]", "y[n] += x[k] * w[n, k]"),
    "bytes": ("u8[K]", "weight w: s8[N, K]", "s32[N]", "y[n] += x[k] * w[n, k]"),
    "integers": ("s32[K]", "input w: s32[N, K]", "s32[N]", "y[n] += x[k] * w[n, k]"),
    "graph": ("f32[K]", "weight w: f32[N, K]", "f32[N]", "y = relu(matvec(w, x))"),
}

SIZES = [(97, 33), (1, 17), (16, 1), (1, 1), (64, 128), (130, 1024)]


def _spec(name: str) -> str:
    x, w, y, statement = SPECS[name]
    lines = ("spec vectors(N, K) {", f"input x: {x}", w, f"output y: {y}", statement)
    return "\n  ".join(lines) + "\n}"


@pytest.mark.sample(16)
@pytest.mark.parametrize("target", ["c.scalar", "x86.avx2", "x86.avx512"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", SPECS)
def test_they_equal_the_reference(name: str, sizes: tuple[int, ...], target: str) -> None:
    defines = dict(zip("NK", sizes, strict=True))
    kernel = to_run(morello.compile, _spec(name), defines=defines, target=target)
    assert kernel.verify().elements > 0


@pytest.mark.parametrize("name", ["rows", "columns", "batch", "bytes", "graph"])
def test_kernels_of_products_compute_them(name: str) -> None:
    kernel = morello.compile(_spec(name), defines={"N": 256, "K": 64}, target="x86.avx512")
    assert RULE in kernel.plan.render()


def test_it_costs_what_a_product_of_one_row_costs() -> None:
    text = "spec row(N, K) { input x: f32[1, K] weight w: f32[N, K] output y: f32[1, N] "
    row = text + "y = matmul_nt(x, w) }"
    defines = {"N": 256, "K": 64}
    vector, product = (
        morello.compile(each, defines=defines, target="x86.avx512") for each in (_spec("rows"), row)
    )
    assert vector.cost == product.cost


def test_numbers_are_those_of_numpy() -> None:
    rng = np.random.default_rng(7)
    x, w = rng.integers(0, 255, 130, np.uint8), rng.integers(-128, 127, (31, 130), np.int8)
    kernel = to_run(morello.compile, _spec("bytes"), defines={"N": 31, "K": 130}, target="x86.avx2")
    np.testing.assert_array_equal(kernel(x, w), w.astype(np.int32) @ x.astype(np.int32))
