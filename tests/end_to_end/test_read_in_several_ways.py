"""Tensors that one fused computation reads along several dimensions, with the right values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import morello
from morello.definitions import Definitions, load_definitions
from morello.language.source import Source
from morello.records import replace
from tests.end_to_end.kernels import small_machines, to_run

DECLARED = """
op causal(S: T[i, j], P: U[i], Q: U[j]) -> Y: T[i, j]
  "Scores of what comes later are replaced."
{ Y[i, j] = S[i, j] if Q[j] <= P[i] else -1000 }
"""

CASES: dict[str, tuple[str, str, Callable[..., object]]] = {
    "squared distances": (
        "input x: T[M, N] output y: T[M, M] local p: T[M, M] local n: T[M]"
        " n = row_square_sum(x) p = matmul_nt(x, x)"
        " y = add_to_rows(add_bias(scale(p, factor = -2), n), n)",
        "MN",
        lambda x: ((x[:, None] - x[None]) ** 2).sum(-1),
    ),
    "scaled on both sides": (
        "input a: T[M, M] input d: T[M] output y: T[M, M] y = scale_rows(scale_columns(a, d), d)",
        "MM M",
        lambda a, d: d[:, None] * a * d,
    ),
    "three ways": (
        "input a: T[M, M] input d: T[M] output y: T[M, M]"
        " y = add_bias(add_to_rows(add_bias(a, d), d), d)",
        "MM M",
        lambda a, d: a + 2 * d + d[:, None],
    ),
    "a result of elementwise nodes": (
        "input a: T[M, M] input d: T[M] output y: T[M, M]"
        " e = relu(d) y = add_to_rows(add_bias(a, e), e)",
        "MM M",
        lambda a, d: a + np.maximum(d, 0) + np.maximum(d, 0)[:, None],
    ),
    "a result that is read in two orders": (
        "input a: T[M, M] output y: T[M, M] r = relu(a) y = sub(r, transpose(r))",
        "MM",
        lambda a: np.maximum(a, 0) - np.maximum(a, 0).T,
    ),
    "by a sum, too": (
        "input x: T[M, M] output y: T[M, M] local p: T[M, M]"
        " p = matmul(x, x) y = add_to_rows(add(p, x), row_max(x))",
        "MM",
        lambda x: x @ x + x + x.max(1, keepdims=True),
    ),
    "positions of a causal mask": (
        "input q: T[M, N] input k: T[M, N] input p: T[M] output y: T[M, M] local s: T[M, M]"
        " s = matmul_nt(q, k) y = relu(causal(s, p, p))",
        "MN MN M",
        lambda q, k, p: np.maximum(np.where(p <= p[:, None], q @ k.T, -1000), 0),
    ),
}


@pytest.fixture(scope="module")
def own() -> Definitions:
    """What is installed on small machines, and the operator of this file."""
    found = load_definitions([Source("own.mrules", DECLARED)])
    return replace(found, targets=small_machines().targets)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("target", "dtype", "rows", "columns", "threads"),
    [
        ("x86.avx2", "f32", 9, 5, 1),
        ("x86.scalar", "s32", 8, 3, 1),
        ("x86.scalar", "f32", 1, 3, 2),
        ("x86.avx2", "f32", 17, 8, 2),
    ],
)
@pytest.mark.parametrize("case", CASES)
def test_each_way_reads_its_own_elements(
    own: Definitions, case: str, target: str, dtype: str, rows: int, columns: int, threads: int
) -> None:
    """What is computed is what numpy computes of the same small whole numbers."""
    body, shapes, expected = CASES[case]
    for name, value in (("T[", f"{dtype}["), ("M", str(rows)), ("N", str(columns))):
        body = body.replace(name, value)
    kernel = to_run(
        morello.compile, f"spec s() threads {threads} {{ {body} }}", target=target, definitions=own
    )
    random = np.random.default_rng(0)
    sizes = {"M": rows, "N": columns}
    wholes = [random.integers(-4, 5, [sizes[d] for d in shape]) for shape in shapes.split()]
    arguments = [whole.astype(np.float32 if dtype == "f32" else np.int32) for whole in wholes]
    np.testing.assert_array_equal(expected(*wholes), kernel(*arguments))
