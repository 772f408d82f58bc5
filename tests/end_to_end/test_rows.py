"""Reductions of rows and columns, and what is broadcast to them, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import morello

from .kernels import Array, runnable

TARGETS = ("x86.scalar", "x86.avx2", "x86.avx512")

STATISTIC = "input x: {T}[M, N] output y: {T}[M] y = {op}(x)"
PAIRED = "input x: {T}[M, N] input z: {T}[M, N] output y: {T}[M] y = {op}(x, z)"
COLUMNS = "input x: {T}[M, N] output y: {T}[N] y = {op}(x)"
WITH_COLUMNS = "input x: {T}[M, N] input b: {T}[N] output y: {T}[M, N] y = {op}(x, b)"
WITH_ROWS = "input x: {T}[M, N] input s: {T}[M] output y: {T}[M, N] y = {op}(x, s)"
VARIANCE = "input x: {T}[M, N] input m: {T}[M] output y: {T}[M] y = {op}(x, m)"

Expected = Callable[..., Array]

OPERATORS: dict[str, tuple[str, Expected]] = {
    "row_sum": (STATISTIC, lambda x: x.sum(axis=1)),
    "row_max": (STATISTIC, lambda x: x.max(axis=1)),
    "row_min": (STATISTIC, lambda x: x.min(axis=1)),
    "row_mean": (STATISTIC, lambda x: x.mean(axis=1)),
    "row_mean_square": (STATISTIC, lambda x: (x * x).mean(axis=1)),
    "row_square_sum": (STATISTIC, lambda x: (x * x).sum(axis=1)),
    "row_variance": (VARIANCE, lambda x, m: ((x - m[:, None]) ** 2).mean(axis=1)),
    "row_dot": (PAIRED, lambda x, z: (x * z).sum(axis=1)),
    "column_sum": (COLUMNS, lambda x: x.sum(axis=0)),
    "column_max": (COLUMNS, lambda x: x.max(axis=0)),
    "column_min": (COLUMNS, lambda x: x.min(axis=0)),
    "column_mean": (COLUMNS, lambda x: x.mean(axis=0)),
    "add_bias": (WITH_COLUMNS, lambda x, b: x + b),
    "scale_columns": (WITH_COLUMNS, lambda x, b: x * b),
    "add_to_rows": (WITH_ROWS, lambda x, s: x + s[:, None]),
    "subtract_from_rows": (WITH_ROWS, lambda x, s: x - s[:, None]),
    "scale_rows": (WITH_ROWS, lambda x, s: x * s[:, None]),
    "divide_rows": (WITH_ROWS, lambda x, s: x / s[:, None]),
}

OF_FLOATS = {"row_mean", "row_mean_square", "row_variance", "column_mean", "divide_rows"}


@cache
def _compiled(
    name: str, dtype: str, sizes: tuple[int, int], target: str = "x86.avx512"
) -> morello.Kernel:
    text = f"spec s(M, N) {{ {OPERATORS[name][0].format(T=dtype, op=name)} }}"
    return morello.compile(text, defines=dict(zip("MN", sizes, strict=True)), target=target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OPERATORS)
def test_they_are_what_numpy_says(name: str, target: str) -> None:
    """On small integers, of which sums and products are exact, and quotients nearly."""
    kernel = runnable(_compiled(name, "f32", (5, 37), target))
    rng = np.random.default_rng(1)
    inputs = [rng.integers(1, 9, a.shape).astype(np.float32) for a in kernel.signature.inputs]
    expected = OPERATORS[name][1](*(a.astype(np.float64) for a in inputs))
    np.testing.assert_allclose(kernel(*inputs), expected, rtol=1e-6)


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - OF_FLOATS))
def test_of_integers(name: str) -> None:
    """They wrap around."""
    kernel = runnable(_compiled(name, "s32", (3, 70), "x86.avx2"))
    rng = np.random.default_rng(2)
    inputs = [
        rng.integers(-(2**31), 2**31, a.shape).astype(np.int32) for a in kernel.signature.inputs
    ]
    with np.errstate(over="ignore"):
        expected = OPERATORS[name][1](*inputs).astype(np.int32)
    np.testing.assert_array_equal(kernel(*inputs), expected)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("row_max", (1, 1)),
        ("row_sum", (2, 16)),
        ("row_dot", (3, 1009)),
        ("row_variance", (2, 5000)),
        ("column_sum", (67, 1)),
        ("column_mean", (129, 65)),
        ("add_bias", (3, 4099)),
        ("divide_rows", (7, 130)),
    ],
)
def test_any_size(name: str, sizes: tuple[int, int]) -> None:
    """Rows of one element, of loops with a tail, and longer than any tile."""
    for target in ("x86.avx2", "x86.avx512"):
        report = runnable(_compiled(name, "f32", sizes, target)).verify()
        assert report.elements > 0


def test_a_mean_is_that_of_the_whole() -> None:
    """Also where a program adds up parts: their sizes are none of its business."""
    kernel = runnable(_compiled("row_mean", "f32", (2, 5000), "x86.scalar"))
    assert "split_reduction" in kernel.plan.render()
    x = np.arange(10000, dtype=np.float32).reshape(2, 5000)
    np.testing.assert_allclose(kernel(x), [2499.5, 7499.5], rtol=1e-5)


def test_one_number_of_all() -> None:
    """A row alone has no dimension left."""
    text = "spec s(N) { input x: f32[N] output y: f32[] y = row_sum(x) }"
    kernel = runnable(morello.compile(text, defines={"N": 1001}, target="x86.avx512"))
    assert kernel(np.ones(1001, np.float32)) == 1001
    assert kernel.verify().elements == len(kernel.verify().kinds)


@pytest.mark.parametrize("name", ["row_max", "row_variance", "add_bias", "divide_rows"])
def test_a_row_is_one_loop(name: str) -> None:
    """Not written out, however long it is: kernels read memory, and write to it."""
    kernel = _compiled(name, "f32", (8, 4096))
    assert "unrolled" not in kernel.source
    assert len(kernel.source.splitlines()) < 120


def test_columns_are_added_up_in_vectors() -> None:
    """A row of sums, to which row by row is added."""
    kernel = _compiled("column_sum", "f32", (64, 1024))
    assert "vector_f32_x16" in kernel.plan.render()
    assert "element" not in kernel.plan.render()
